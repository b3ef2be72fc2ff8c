"""The routes of the chat endpoint, as Starlette has them."""

import re
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Final, TypedDict, Unpack

from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from stream_protocol._origins import check_origins
from stream_protocol.serving._service import ChatService
from stream_protocol.serving.base import NO_OVERRIDES
from stream_protocol.serving.http._cross_origin import cross_origin_routes
from stream_protocol.serving.http._endpoints import ChatEndpoints
from stream_protocol.serving.http._hooks import Identify, Prepare, identify_user, local_user
from stream_protocol.serving.http._plain_text_errors import json_errors, plain_text_errors
from stream_protocol.serving.http._request_body import MAX_BODY_BYTES, MAX_BYTES_IN_FLIGHT, dropping_body_if_refused
from stream_protocol.serving.http._stream_response import KEEP_ALIVE
from stream_protocol.serving.telemetry import ObservedRoute
from stream_protocol.wire import check_callable, check_pattern

JSON_ROUTES: Final = frozenset({"chat_history", "chats", "update_chat", "steer_chat", "choose_version", "write_state"})
"""The names of the routes whose errors are JSON, as all that they answer."""

_PATH: Final = re.compile(r"(?:/[^/\\\s?#%]+)+")


def check_route_path(name: str, path: object) -> None:
    """Raises ``InvalidArgumentError`` unless this can be the path of the chat endpoint."""
    check_pattern(name, path, _PATH, 'a path with a slash first and none last, such as "/api/chat"')


class RouteOptions(TypedDict, total=False):
    """Keyword options of ``chat_router``."""

    path: str
    """Path of the chat endpoint, to which ``useChat`` posts."""
    identify: Identify
    """Request -> the user's id, from your session or token. By default, all chats belong to one local user, and the
    first request from another machine logs a warning. The server never reads the id from the request body."""
    prepare: Prepare | None
    """Function that returns the ``RunOverrides`` of a request: its agent, run config, state and secrets. Without it,
    only the user's message reaches the agent."""
    max_body_bytes: int
    """A larger request is refused (413). By default, clients send the whole chat with each message, including files."""
    max_bytes_in_flight: int
    """Memory for the bodies of all requests that are being read or planned. A body that does not fit is refused (503,
    or 429 if one user takes more than half). A body of up to 64 KiB is never refused."""
    keep_alive: float | None
    """Seconds of silence in a stream before a comment is sent, because proxies cut silent connections. ``None`` for
    never."""
    allow_origins: Sequence[str]
    """Origins of your frontends (scheme, host and port, such as ``https://app.example``), or ``*`` for all. The routes
    then handle CORS, with cookies for named origins. Changes from other sites are refused (403). If the app has a
    ``CORSMiddleware``, name the origins there instead."""


DEFAULTS: Final[RouteOptions] = {
    "path": "/api/chat",
    "identify": local_user,
    "prepare": None,
    "max_body_bytes": MAX_BODY_BYTES,
    "max_bytes_in_flight": MAX_BYTES_IN_FLIGHT,
    "keep_alive": KEEP_ALIVE,
    "allow_origins": (),
}


def chat_routes(service: ChatService, **options: Unpack[RouteOptions]) -> list[Route]:
    """Return the routes of ``chat_router``. The caller starts and closes the service."""
    if unknown := options.keys() - DEFAULTS.keys():
        raise TypeError(f"There is no option {', '.join(map(repr, sorted(unknown)))}.")
    given: RouteOptions = {**DEFAULTS, **options}
    path, identify, prepare = given["path"], given["identify"], given["prepare"]
    check_route_path("path", path)
    check_callable("identify", identify, ("request",))
    check_callable("prepare", prepare, ("request", "chat_request"), or_none=True)
    endpoints = ChatEndpoints(
        service,
        max_body_bytes=given["max_body_bytes"],
        max_bytes_in_flight=given["max_bytes_in_flight"],
        keep_alive=given["keep_alive"],
    )
    overrides = prepare or NO_OVERRIDES

    async def respond(request: Request, user_id: str) -> Response:
        return await endpoints.respond(request, user_id=user_id, overrides=overrides, artifact_path=request.url.path)

    async def history(request: Request, user_id: str) -> Response:
        base = request.url.path.rpartition("/")[0]
        return await endpoints.history(request, _chat_id(request), user_id=user_id, artifact_path=base)

    async def choose(request: Request, user_id: str) -> Response:
        base = request.url.path.rpartition("/")[0].rpartition("/")[0]
        return await endpoints.choose_version(request, _chat_id(request), user_id=user_id, artifact_path=base)

    async def write_state(request: Request, user_id: str) -> Response:
        return await endpoints.write_state(request, _chat_id(request), user_id=user_id)

    async def chats(request: Request, user_id: str) -> Response:
        return await endpoints.chats(request, user_id=user_id)

    async def resume(request: Request, user_id: str) -> Response:
        return await endpoints.resume(request, _chat_id(request), user_id=user_id)

    async def stop(request: Request, user_id: str) -> Response:
        return await endpoints.stop(request, _chat_id(request), user_id=user_id)

    async def steer(request: Request, user_id: str) -> Response:
        return await endpoints.steer(request, _chat_id(request), user_id=user_id, overrides=overrides)

    async def delete(request: Request, user_id: str) -> Response:
        return await endpoints.delete(request, _chat_id(request), user_id=user_id)

    async def update(request: Request, user_id: str) -> Response:
        return await endpoints.update(request, _chat_id(request), user_id=user_id)

    async def artifact(request: Request, user_id: str) -> Response:
        return await endpoints.artifact(request, _chat_id(request), request.path_params["name"], user_id=user_id)

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
        route("POST", path + "/{chat_id}/steer", "steer_chat", steer),
        route("POST", path + "/{chat_id}/branch", "choose_version", choose),
        route("PATCH", path + "/{chat_id}/state", "write_state", write_state),
        route("PATCH", path + "/{chat_id}", "update_chat", update),
        route("DELETE", path + "/{chat_id}", "delete_chat", delete),
        route("GET", path + "/{chat_id}/artifacts/{name:path}", "artifact", artifact),
        Route("/healthz", plain_text_errors(_healthz), methods=["GET"], name="healthz"),
        Route("/readyz", plain_text_errors(partial(_readyz, service)), methods=["GET"], name="readyz"),
    ]
    return cross_origin_routes(routes, check_origins("allow_origins", given["allow_origins"]))


async def _readyz(service: ChatService, _request: Request) -> Response:
    if not service.accepts_runs:
        return JSONResponse({"status": "draining"}, status_code=503)
    if missing := await service.unready():
        return JSONResponse({"status": "unavailable", "missing": missing}, status_code=503)
    return JSONResponse({"status": "ok"})


def _chat_id(request: Request) -> str:
    chat_id: str = request.path_params["chat_id"]
    return chat_id


async def _healthz(_request: Request) -> Response:
    return JSONResponse({"status": "ok"})
