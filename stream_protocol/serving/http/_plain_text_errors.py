"""Turns refusals and failures of an endpoint into plain text. ``useChat`` shows the text of an error response."""

import logging
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import ParamSpec

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import PlainTextResponse, Response

from stream_protocol.convert import DEFAULT_ERROR_TEXT
from stream_protocol.wire import ChatRequestError

logger = logging.getLogger(__name__)

P = ParamSpec("P")


def plain_text_errors(endpoint: Callable[P, Awaitable[Response]]) -> Callable[P, Awaitable[Response]]:
    """Answers a ``ChatRequestError`` of the endpoint with its text and status, any other failure with a masked 500.

    An ``HTTPException`` is left to the app: only the app's own hooks raise it.
    """

    @wraps(endpoint)
    async def answer(*args: P.args, **kwargs: P.kwargs) -> Response:
        try:
            return await endpoint(*args, **kwargs)
        except ChatRequestError as refusal:
            headers = {} if refusal.retry_after is None else {"Retry-After": str(refusal.retry_after)}
            return PlainTextResponse(str(refusal), refusal.status, headers)
        except HTTPException:
            raise
        except ClientDisconnect:
            return Response(status_code=400)  # nobody reads it
        except Exception:  # answered here, inside CORS, where a page of another origin can read it
            logger.exception("A chat request failed.")
            return PlainTextResponse(DEFAULT_ERROR_TEXT, 500)

    return answer
