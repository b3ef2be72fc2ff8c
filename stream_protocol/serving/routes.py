"""The chat endpoint as Starlette routes, for any Starlette or FastAPI app."""

import inspect
import json
import logging
from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from stream_protocol.convert.finish import DEFAULT_ERROR_TEXT
from stream_protocol.serving.response import KEEP_ALIVE, UIMessageStreamResponse
from stream_protocol.serving.service import ChatService
from stream_protocol.serving.target import Target
from stream_protocol.wire.errors import ChatRequestError
from stream_protocol.wire.messages import parse_chat_request

logger = logging.getLogger(__name__)

MAX_BODY_BYTES: Final = 32 * 1024 * 1024
"""Bytes of a request body. Generous, since the client sends its whole history again, attached files included."""

LOCAL_USER: Final = "local"

Identify: TypeAlias = Callable[[Request], str | Awaitable[str]]
"""Request -> the user's id. Raise ``starlette.exceptions.HTTPException(401)`` for a request that is nobody's."""


def local_user(_request: Request) -> str:
    """The one user of a server that has only one."""
    return LOCAL_USER


def chat_routes(
    target: Target | ChatService,
    *,
    path: str = "/api/chat",
    identify: Identify = local_user,
    max_body_bytes: int = MAX_BODY_BYTES,
    keep_alive: float | None = KEEP_ALIVE,
) -> list[BaseRoute]:
    """Routes for ``POST /api/chat``, what ``useChat`` posts to, ``GET /api/chat/{id}``, the chat's messages as
    ``{"messages": […]}`` (404 for a chat that is not there or not this user's), and ``GET /healthz``.

    ``target``: an agent, an ``App`` or a ``Runner``, served with the defaults of ``ChatService``; or a ``ChatService``
    with other options, whose ``aclose`` belongs into the app's lifespan.
    ``identify`` says whose chats a request may see; by default all belong to one local user. The body is never asked.
    ``keep_alive``: seconds of silence in a stream before a comment goes out; ``None`` for never.

    A refused request gets a 4xx and one short plain sentence, which the page shows; a failure after the stream began is
    the stream's one masked ``error`` chunk.
    """
    service = target if isinstance(target, ChatService) else ChatService(target)

    async def post_chat(request: Request) -> Response:
        user_id = await _user_id(identify, request)
        try:
            _require_json(request)
            body = await _read_body(request, max_body_bytes)
            events = await service.respond(parse_chat_request(body), user_id=user_id)
        except ChatRequestError as refusal:
            return PlainTextResponse(str(refusal), refusal.status)
        except ClientDisconnect:
            return Response(status_code=400)  # nobody is there to read it
        except Exception:  # answered here, inside CORS: a page can read this, not what an outer middleware says
            logger.exception("A chat request failed.")
            return PlainTextResponse(DEFAULT_ERROR_TEXT, 500)
        return UIMessageStreamResponse(events, keep_alive=keep_alive)

    async def get_chat(request: Request) -> Response:
        user_id = await _user_id(identify, request)
        messages = await service.history(request.path_params["chat_id"], user_id=user_id)
        if messages is None:
            return PlainTextResponse("There is no such chat.", 404)
        return Response(json.dumps({"messages": messages}), media_type="application/json")

    return [
        Route(path, post_chat, methods=["POST"], name="chat"),
        Route(f"{path}/{{chat_id}}", get_chat, methods=["GET"], name="chat_history"),
        Route("/healthz", _healthz, methods=["GET"], name="healthz"),
    ]


async def _healthz(_request: Request) -> Response:
    return JSONResponse({"status": "ok"})


async def _user_id(identify: Identify, request: Request) -> str:
    user_id = identify(request)
    return await user_id if inspect.isawaitable(user_id) else user_id


def _require_json(request: Request) -> None:
    """A page of another origin can post a form or plain text without asking; JSON makes its browser ask first."""
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json" and not media_type.endswith("+json"):
        raise ChatRequestError("The request body must be application/json.", status=415)


async def _read_body(request: Request, limit: int) -> bytes:
    declared = request.headers.get("content-length", "")
    body = bytearray()
    if not (declared.isascii() and declared.isdigit() and int(declared) > limit):
        async for chunk in request.stream():
            body += chunk
            if len(body) > limit:
                break
        else:
            return bytes(body)
    raise ChatRequestError(f"The request body is larger than {limit} bytes.", status=413)
