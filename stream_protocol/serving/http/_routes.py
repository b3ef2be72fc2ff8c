"""The chat endpoint as Starlette routes, for any Starlette or FastAPI app."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from stream_protocol.serving._chat_list import MAX_PAGE_SIZE, PAGE_SIZE
from stream_protocol.serving._service import ChatService
from stream_protocol.serving.adk_runner import Target
from stream_protocol.serving.http._artifact_response import artifact_base, artifact_response
from stream_protocol.serving.http._hooks import Identify, Prepare, identify_user, local_user, prepare_run
from stream_protocol.serving.http._plain_text_errors import plain_text_errors
from stream_protocol.serving.http._stream_response import KEEP_ALIVE, UIMessageStreamResponse
from stream_protocol.wire import ChatRequestError, parse_chat_request

MAX_BODY_BYTES: Final = 32 * 1024 * 1024
"""The most bytes in a request body. Generous: the client sends its whole history again, attached files included."""


def chat_routes(
    target: Target | ChatService,
    *,
    path: str = "/api/chat",
    identify: Identify = local_user,
    prepare: Prepare | None = None,
    max_body_bytes: int = MAX_BODY_BYTES,
    keep_alive: float | None = KEEP_ALIVE,
) -> list[BaseRoute]:
    """The routes of the chat endpoint: ``POST {path}``, to which ``useChat`` posts; ``GET`` and ``DELETE {path}/{id}``;
    ``GET {path}/{id}/stream``; ``POST {path}/{id}/stop``; ``GET {path}/{id}/artifacts/{name}``; ``GET {path}s``, the
    list of chats; and ``GET /healthz``.

    ``target``: an agent, an ``App`` or a ``Runner``, served with the defaults of ``ChatService``; or a ``ChatService``
    with other options. Call its ``aclose`` in the app's lifespan.
    ``identify``: says whose chats a request may see. By default all chats belong to one local user. The user's id is
    never taken from the body of the request.
    ``prepare``: says how a request is run: its agent, run config, state and secrets. Without it only the user's words
    reach the agent.
    ``max_body_bytes``: a larger request is refused (413).
    ``keep_alive``: seconds of silence in a stream before a comment is sent; ``None`` for never.

    A refused request gets a 4xx and one short plain sentence, which the page shows. A failure after the stream has
    begun is one masked ``error`` chunk in the stream.
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
    """The endpoint functions of the routes, with the options of ``chat_routes``."""

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
        user_id = await identify_user(self._identify, request)
        _require_json(request)
        chat_request = parse_chat_request(await _read_body(request, self._max_body_bytes))
        overrides = await prepare_run(self._prepare, request, chat_request)
        if overrides.artifact_base is None:
            overrides = replace(overrides, artifact_base=artifact_base(request, request.url.path))
        return self._stream(await self._service.respond(chat_request, user_id=user_id, overrides=overrides))

    async def resume(self, request: Request) -> Response:
        events = await self._service.resume(_chat_id(request), user_id=await identify_user(self._identify, request))
        return Response(status_code=204) if events is None else self._stream(events)

    async def history(self, request: Request) -> Response:
        user_id = await identify_user(self._identify, request)
        base = artifact_base(request, request.url.path.rpartition("/")[0])
        messages = await self._service.history(_chat_id(request), user_id=user_id, artifact_base=base)
        if messages is None:
            raise ChatRequestError("There is no such chat.", status=404)
        return Response(json.dumps({"messages": messages}), media_type="application/json")

    async def artifact(self, request: Request) -> Response:
        user_id = await identify_user(self._identify, request)
        name, version = request.path_params["name"], _parse_version(request.query_params.get("version"))
        part = await self._service.artifact(_chat_id(request), name, version, user_id=user_id)
        return artifact_response(part, name)

    async def list(self, request: Request) -> Response:
        user_id = await identify_user(self._identify, request)
        limit, cursor = _parse_limit(request.query_params.get("limit")), request.query_params.get("cursor")
        page = await self._service.chats(user_id=user_id, limit=limit, cursor=cursor)
        return JSONResponse({"chats": page.chats, "nextCursor": page.next_cursor})

    async def stop(self, request: Request) -> Response:
        await self._service.stop(_chat_id(request), user_id=await identify_user(self._identify, request))
        return Response(status_code=202)

    async def delete(self, request: Request) -> Response:
        await self._service.delete(_chat_id(request), user_id=await identify_user(self._identify, request))
        return Response(status_code=204)

    def _stream(self, events: AsyncIterator[bytes]) -> Response:
        return UIMessageStreamResponse(events, keep_alive=self._keep_alive)


def _chat_id(request: Request) -> str:
    chat_id: str = request.path_params["chat_id"]
    return chat_id


async def _healthz(_request: Request) -> Response:
    return JSONResponse({"status": "ok"})


def _require_json(request: Request) -> None:
    """Refuses other media types: only for JSON does a browser ask the server (CORS) before it posts across origins."""
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


def _parse_version(text: str | None) -> int | None:
    """The query parameter ``version``. Raises ``ChatRequestError`` (404) for a value that no version has."""
    if text is None:
        return None
    if text.isascii() and text.isdigit() and len(text) < 10:
        return int(text)
    raise ChatRequestError("There is no such artifact.", status=404)


def _parse_limit(text: str | None) -> int:
    """The query parameter ``limit``. Raises ``ChatRequestError`` unless it is a number from 1 to ``MAX_PAGE_SIZE``."""
    if text is None:
        return PAGE_SIZE
    if text.isascii() and text.isdigit() and len(text) < 5 and 1 <= int(text) <= MAX_PAGE_SIZE:
        return int(text)
    raise ChatRequestError(f"The limit must be a number from 1 to {MAX_PAGE_SIZE}.")
