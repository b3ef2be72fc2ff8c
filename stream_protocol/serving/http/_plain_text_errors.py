"""Turns exceptions of an endpoint into responses: plain text, which ``useChat`` shows, or JSON."""

import logging
from collections.abc import Awaitable, Callable, Mapping
from functools import wraps
from typing import ParamSpec

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, PlainTextResponse, Response

from stream_protocol.serving.errors import log_error
from stream_protocol.serving.http._response_headers import API_HEADERS, add_headers
from stream_protocol.serving.telemetry import count_refusal
from stream_protocol.stream import DEFAULT_ERROR_TEXT
from stream_protocol.wire import ChatRequestError, argument_error, check_callable

logger = logging.getLogger(__name__)

P = ParamSpec("P")


def _mask(_error: BaseException) -> str:
    return DEFAULT_ERROR_TEXT


def plain_text_errors(
    endpoint: Callable[P, Awaitable[Response]], error_text: Callable[[BaseException], str] = _mask
) -> Callable[P, Awaitable[Response]]:
    """Wrap an endpoint, so that its exceptions become responses in plain text.

    A ``ChatRequestError`` becomes a response with the text and the status of the error. Another exception becomes a 500
    with the text that ``error_text`` returns. The default ``error_text`` does not show the exception. An
    ``HTTPException`` is not caught. It comes from a hook of the app, and the app's framework handles it.

    All responses of the endpoint get security headers. These headers forbid browsers to show the response in a frame,
    and to guess another media type.
    """
    return _with_error_responses(endpoint, error_text, PlainTextResponse)


def json_errors(
    endpoint: Callable[P, Awaitable[Response]], error_text: Callable[[BaseException], str] = _mask
) -> Callable[P, Awaitable[Response]]:
    """Wrap an endpoint that returns JSON, like ``plain_text_errors``. The body of an error response is ``{"error":
    …}``.
    """
    return _with_error_responses(endpoint, error_text, _json_error)


def _json_error(text: str, status: int, headers: Mapping[str, str] | None = None) -> Response:
    return JSONResponse({"error": text}, status, headers)


def _with_error_responses(
    endpoint: Callable[P, Awaitable[Response]],
    error_text: Callable[[BaseException], str],
    error_response: Callable[..., Response],
) -> Callable[P, Awaitable[Response]]:
    check_callable("error_text", error_text, ("error",), plain=True)
    if not callable(endpoint):
        raise argument_error("endpoint", "an async function", endpoint)

    async def respond(*args: P.args, **kwargs: P.kwargs) -> Response:
        try:
            return await endpoint(*args, **kwargs)
        except ChatRequestError as refusal:
            count_refusal(refusal.reason)
            return error_response(str(refusal), refusal.status, refusal.headers)
        except HTTPException:
            raise
        except ClientDisconnect:
            return Response(status_code=400)  # the client is gone, and reads no response
        except Exception as error:  # noqa: BLE001 - pages cannot read a 500 of Starlette, which lacks CORS headers
            log_error(logger, error)
            return error_response(error_text(error), 500)

    @wraps(endpoint)
    async def respond_with_headers(*args: P.args, **kwargs: P.kwargs) -> Response:
        response = await respond(*args, **kwargs)
        add_headers(response.headers, API_HEADERS)
        return response

    return respond_with_headers
