"""The chat endpoint as Starlette routes, for any Starlette or FastAPI app."""

import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from stream_protocol._origins import check_origins
from stream_protocol.serving._overrides import NO_OVERRIDES
from stream_protocol.serving._service import ChatService
from stream_protocol.serving.adk_runner import Target
from stream_protocol.serving.http._cross_origin import cross_origin_routes
from stream_protocol.serving.http._endpoints import ChatEndpoints
from stream_protocol.serving.http._hooks import Identify, Prepare, identify_user, local_user
from stream_protocol.serving.http._plain_text_errors import json_errors, plain_text_errors
from stream_protocol.serving.http._request_body import MAX_BODY_BYTES, MAX_BYTES_IN_FLIGHT, dropping_body_if_refused
from stream_protocol.serving.http._stream_response import KEEP_ALIVE
from stream_protocol.serving.telemetry import ObservedRoute
from stream_protocol.wire import check_callable, check_pattern

JSON_ROUTES: Final = frozenset({"chat_history", "chats", "update_chat"})
"""The names of the routes whose errors are JSON, as all that they answer."""

_PATH: Final = re.compile(r"(?:/[^/\\\s?#%]+)+")


def check_route_path(name: str, path: object) -> None:
    """Raises ``InvalidArgumentError`` unless this can be the path of the chat endpoint."""
    check_pattern(name, path, _PATH, 'a path with a slash first and none last, such as "/api/chat"')


def chat_routes(
    target: Target | ChatService,
    *,
    path: str = "/api/chat",
    identify: Identify = local_user,
    prepare: Prepare | None = None,
    max_body_bytes: int = MAX_BODY_BYTES,
    max_bytes_in_flight: int = MAX_BYTES_IN_FLIGHT,
    keep_alive: float | None = KEEP_ALIVE,
    allow_origins: Sequence[str] = (),
) -> list[BaseRoute]:
    """The routes of the chat endpoint: ``POST {path}``, to which ``useChat`` posts; ``GET``, ``PATCH`` and
    ``DELETE {path}/{id}``; ``GET {path}/{id}/stream``; ``POST {path}/{id}/stop``;
    ``GET {path}/{id}/artifacts/{name}``; ``GET {path}s``, the list of chats; ``GET /healthz``, 200 while the
    process lives; and ``GET /readyz``, 503 once it begins no more runs, and while a store that each run
    needs does not answer.

    ``target``: an agent, an ``App`` or a ``Runner``, served with the defaults of ``ChatService``; or a ``ChatService``
    with other options. Call its ``aclose`` in the app's lifespan.
    ``path``: where ``useChat`` posts.
    ``identify``: request -> the user's id, from your session or token: whose chats the request may see. By default all
    chats belong to one local user. The user's id is never taken from the body of the request.
    ``prepare``: says how a request is run: its agent, run config, state and secrets. Without it only the user's words
    reach the agent.
    ``max_body_bytes``: a larger request is refused (413). Stock clients send the whole chat with each message, attached
    files included.
    ``max_bytes_in_flight``: the memory that the bodies of all requests may take while they are read and planned. What
    does not fit is refused (503, or 429 if one user takes more than half); a body of up to 64 KiB is never.
    ``keep_alive``: seconds of silence in a stream before a comment is sent, since proxies cut silent connections;
    ``None`` for never.
    ``allow_origins``: origins of other pages that may use the endpoint: scheme, host and port, such as
    ``https://app.example``, or ``*`` for all. The routes answer the browser's preflights, and their responses have the
    headers of CORS. Pages of an origin that is named may send the user's cookies, too. What unnamed pages of other
    sites send is refused (403) if it changes something.

    Raises ``StreamProtocolError`` for a wrong value.

    A refused request gets a 4xx and one short plain sentence, which the page shows: as plain text, or as
    ``{"error": …}`` where the route answers JSON. A failure after the stream has
    begun is one masked ``error`` chunk in the stream.
    """
    check_route_path("path", path)
    check_callable("identify", identify, ("request",))
    check_callable("prepare", prepare, ("request", "chat_request"), or_none=True)
    service = target if isinstance(target, ChatService) else ChatService(target)
    endpoints = ChatEndpoints(
        service,
        max_body_bytes=max_body_bytes,
        max_bytes_in_flight=max_bytes_in_flight,
        keep_alive=keep_alive,
        allow_origins=allow_origins,
    )
    overrides = prepare or NO_OVERRIDES

    async def respond(request: Request, user_id: str) -> Response:
        return await endpoints.respond(request, user_id=user_id, overrides=overrides, artifact_path=request.url.path)

    async def history(request: Request, user_id: str) -> Response:
        base = request.url.path.rpartition("/")[0]
        return await endpoints.history(request, _chat_id(request), user_id=user_id, artifact_path=base)

    async def chats(request: Request, user_id: str) -> Response:
        return await endpoints.chats(request, user_id=user_id)

    async def resume(request: Request, user_id: str) -> Response:
        return await endpoints.resume(request, _chat_id(request), user_id=user_id)

    async def stop(request: Request, user_id: str) -> Response:
        return await endpoints.stop(request, _chat_id(request), user_id=user_id)

    async def delete(request: Request, user_id: str) -> Response:
        return await endpoints.delete(request, _chat_id(request), user_id=user_id)

    async def update(request: Request, user_id: str) -> Response:
        return await endpoints.update(request, _chat_id(request), user_id=user_id)

    async def artifact(request: Request, user_id: str) -> Response:
        return await endpoints.artifact(request, _chat_id(request), request.path_params["name"], user_id=user_id)

    async def readyz(_request: Request) -> Response:
        if not service.accepts_runs:
            return JSONResponse({"status": "draining"}, status_code=503)
        if missing := await service.missing_stores():
            return JSONResponse({"status": "unavailable", "missing": missing}, status_code=503)
        return JSONResponse({"status": "ok"})

    def route(method: str, path: str, name: str, endpoint: Callable[[Request, str], Awaitable[Response]]) -> Route:
        async def identified(request: Request) -> Response:
            async with dropping_body_if_refused(request):
                user_id = await identify_user(identify, request)
            return await endpoint(request, user_id)

        answering = json_errors if name in JSON_ROUTES else plain_text_errors
        answered = answering(identified, service.error_text)
        return Route(path, answered, methods=[method], name=name, middleware=[Middleware(ObservedRoute, route=path)])

    routes = [
        route("POST", path, "chat", respond),
        route("GET", path + "/{chat_id}", "chat_history", history),
        route("GET", path + "s", "chats", chats),
        route("GET", path + "/{chat_id}/stream", "resume_chat", resume),
        route("POST", path + "/{chat_id}/stop", "stop_chat", stop),
        route("PATCH", path + "/{chat_id}", "update_chat", update),
        route("DELETE", path + "/{chat_id}", "delete_chat", delete),
        route("GET", path + "/{chat_id}/artifacts/{name:path}", "artifact", artifact),
        Route("/healthz", plain_text_errors(_healthz), methods=["GET"], name="healthz"),
        Route("/readyz", plain_text_errors(readyz), methods=["GET"], name="readyz"),
    ]
    return cross_origin_routes(routes, check_origins("allow_origins", allow_origins))


def _chat_id(request: Request) -> str:
    chat_id: str = request.path_params["chat_id"]
    return chat_id


async def _healthz(_request: Request) -> Response:
    return JSONResponse({"status": "ok"})
