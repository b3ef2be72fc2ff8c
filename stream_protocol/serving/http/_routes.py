"""The chat endpoint as Starlette routes, for any Starlette or FastAPI app."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from stream_protocol.serving._artifacts import artifact_base, artifact_response, parse_version
from stream_protocol.serving._chat_list import parse_limit
from stream_protocol.serving._overrides import Prepare, prepared
from stream_protocol.serving._service import ChatService
from stream_protocol.serving.adk_runner import Target
from stream_protocol.serving.http._hooks import Identify, identified, local_user
from stream_protocol.serving.http._plain_text_errors import plain_text_errors
from stream_protocol.serving.http._stream_response import KEEP_ALIVE, UIMessageStreamResponse
from stream_protocol.wire import ChatRequestError, parse_chat_request

MAX_BODY_BYTES: Final = 32 * 1024 * 1024
"""Bytes of a request body. Generous, since the client sends its whole history again, attached files included."""


def chat_routes(
    target: Target | ChatService,
    *,
    path: str = "/api/chat",
    identify: Identify = local_user,
    prepare: Prepare | None = None,
    max_body_bytes: int = MAX_BODY_BYTES,
    keep_alive: float | None = KEEP_ALIVE,
) -> list[BaseRoute]:
    """Routes for ``POST /api/chat``, what ``useChat`` posts to, what belongs to a chat, and ``GET /healthz``.

    ``target``: an agent, an ``App`` or a ``Runner``, served with the defaults of ``ChatService``; or a ``ChatService``
    with other options, whose ``aclose`` belongs into the app's lifespan.
    ``identify`` says whose chats a request may see; by default all belong to one local user. The body is never asked.
    ``prepare`` says how a request is run: its agent, run config, state and secrets. Without it nothing but the user's
    words reaches the agent.
    ``keep_alive``: seconds of silence in a stream before a comment goes out; ``None`` for never.

    A refused request gets a 4xx and one short plain sentence, which the page shows; a failure after the stream began is
    the stream's one masked ``error`` chunk.
    """
    service = target if isinstance(target, ChatService) else ChatService(target)
    chat = _Endpoints(service, identify, prepare, max_body_bytes=max_body_bytes, keep_alive=keep_alive)
    return [
        Route(path, plain_text_errors(chat.post), methods=["POST"], name="chat"),
        Route(path + "/{chat_id}", plain_text_errors(chat.history), methods=["GET"], name="chat_history"),
        Route(path + "s", plain_text_errors(chat.list), methods=["GET"], name="chats"),
        Route(path + "/{chat_id}/stream", plain_text_errors(chat.resume), methods=["GET"], name="resume_chat"),
        Route(path + "/{chat_id}/stop", plain_text_errors(chat.stop), methods=["POST"], name="stop_chat"),
        Route(path + "/{chat_id}", plain_text_errors(chat.delete), methods=["DELETE"], name="delete_chat"),
        Route(
            path + "/{chat_id}/artifacts/{name:path}",
            plain_text_errors(chat.artifact),
            methods=["GET"],
            name="artifact",
        ),
        Route("/healthz", _healthz, methods=["GET"], name="healthz"),
    ]


class _Endpoints:
    """What each route answers, with the options of ``chat_routes``."""

    def __init__(
        self,
        service: ChatService,
        identify: Identify,
        prepare: Prepare | None,
        *,
        max_body_bytes: int,
        keep_alive: float | None,
    ) -> None:
        self._service = service
        self._identify = identify
        self._prepare = prepare
        self._max_body_bytes = max_body_bytes
        self._keep_alive = keep_alive

    async def post(self, request: Request) -> Response:
        user_id = await identified(self._identify, request)
        _require_json(request)
        chat_request = parse_chat_request(await _read_body(request, self._max_body_bytes))
        how = await prepared(self._prepare, request, chat_request)
        if how.artifact_base is None:
            how = replace(how, artifact_base=artifact_base(request, request.url.path))
        return self._stream(await self._service.respond(chat_request, user_id=user_id, prepared=how))

    async def resume(self, request: Request) -> Response:
        events = await self._service.resume(_chat_id(request), user_id=await identified(self._identify, request))
        return Response(status_code=204) if events is None else self._stream(events)

    async def history(self, request: Request) -> Response:
        user_id = await identified(self._identify, request)
        base = artifact_base(request, request.url.path.rpartition("/")[0])
        messages = await self._service.history(_chat_id(request), user_id=user_id, artifact_base=base)
        if messages is None:
            raise ChatRequestError("There is no such chat.", status=404)
        return Response(json.dumps({"messages": messages}), media_type="application/json")

    async def artifact(self, request: Request) -> Response:
        user_id = await identified(self._identify, request)
        name, version = request.path_params["name"], parse_version(request.query_params.get("version"))
        part = await self._service.artifact(_chat_id(request), name, version, user_id=user_id)
        return artifact_response(part, name)

    async def list(self, request: Request) -> Response:
        user_id = await identified(self._identify, request)
        limit, cursor = parse_limit(request.query_params.get("limit")), request.query_params.get("cursor")
        page = await self._service.chats(user_id=user_id, limit=limit, cursor=cursor)
        return JSONResponse({"chats": page.chats, "nextCursor": page.next_cursor})

    async def stop(self, request: Request) -> Response:
        await self._service.stop(_chat_id(request), user_id=await identified(self._identify, request))
        return Response(status_code=202)

    async def delete(self, request: Request) -> Response:
        await self._service.delete(_chat_id(request), user_id=await identified(self._identify, request))
        return Response(status_code=204)

    def _stream(self, events: AsyncIterator[bytes]) -> Response:
        return UIMessageStreamResponse(events, keep_alive=self._keep_alive)


def _chat_id(request: Request) -> str:
    chat_id: str = request.path_params["chat_id"]
    return chat_id


async def _healthz(_request: Request) -> Response:
    return JSONResponse({"status": "ok"})


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
