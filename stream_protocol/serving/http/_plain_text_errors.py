"""What a route says when it has nothing better: one short plain sentence, which the page shows as it is."""

import logging
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import TypeAlias

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response

from stream_protocol.convert import DEFAULT_ERROR_TEXT
from stream_protocol.wire import ChatRequestError

logger = logging.getLogger(__name__)

Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]


def plain_text_errors(endpoint: Endpoint) -> Endpoint:
    """The endpoint, whose refusals are plain text with their status and whose failures are a masked 500.

    An ``HTTPException``, which only the app's own hooks raise, is left to the app.
    """

    @wraps(endpoint)
    async def answer(request: Request) -> Response:
        try:
            return await endpoint(request)
        except ChatRequestError as refusal:
            return PlainTextResponse(str(refusal), refusal.status)
        except HTTPException:
            raise
        except ClientDisconnect:
            return Response(status_code=400)  # nobody is there to read it
        except Exception:  # answered here, inside CORS: a page can read this, not what an outer middleware says
            logger.exception("A chat request failed.")
            return PlainTextResponse(DEFAULT_ERROR_TEXT, 500)

    return answer
