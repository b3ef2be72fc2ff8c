"""Creates the Starlette routes of the chat endpoint."""

import re
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Final, TypedDict, Unpack

from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, compile_path

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
from stream_protocol.wire import argument_error, check_callable, check_option_names, check_pattern

JSON_ROUTES: Final = frozenset({"chat_history", "chats", "update_chat", "steer_chat", "choose_version", "write_state"})
"""The names of the routes whose responses and errors are JSON."""

_PATH: Final = re.compile(r"(?:/(?!\.{1,2}(?:/|\Z))[^/\\\s?#%\x00-\x1f\x7f\ud800-\udfff]+)+")
"""Pattern of a path. A browser resolves the segments ``.`` and ``..``, and never requests them."""


def _nothing() -> None:
    """Do nothing."""


def check_route_path(name: str, path: object) -> None:
    """Raise ``InvalidArgumentError`` for an invalid path of the chat endpoint."""
    expected = 'a path with a slash first and none last, such as "/api/chat"'
    check_pattern(name, path, _PATH, expected)
    try:
        compile_path(f"{path}/{{chat_id}}/artifacts/{{name:path}}")
    except (ValueError, AssertionError) as error:  # a parameter of the routes below the path, or an unknown converter
        reason = str(error).partition(" at path")[0].rstrip(".")
        raise argument_error(name, expected, path, f"{reason[:1].lower()}{reason[1:]}") from None


class RouteOptions(TypedDict, total=False):
    """Keyword options of ``chat_router``."""

    path: str
    """Path of the chat endpoint.

    ``useChat`` posts to this path.
    """
    identify: Identify
    """Function that takes a request, and returns the user's id.

    By default, all chats belong to one local user, and the first request from another machine logs a warning.
    """
    prepare: Prepare | None
    """Function that returns the ``RunOverrides`` of a request.

    Without this function, only the user's message reaches the agent.
    """
    max_body_bytes: int
    """Largest body of a request.

    A larger body is refused (413).
    """
    max_bytes_in_flight: int
    """Maximum memory for the bodies that the server reads at the same time.

    A body that does not fit is refused (503). One user may use half of this memory (429). A body of up to 64 KiB is
    never refused.
    """
    keep_alive: float | None
    """Seconds without data after which a stream sends a comment.

    Proxies close idle connections. ``None``: no comments.
    """
    allow_origins: Sequence[str]
    """Origins of your frontends, such as ``https://app.example``, or ``*`` for all.

    The routes then handle CORS, and named origins may send cookies. If a page of another site tries to change data, its
    request is refused (403). If the app has a ``CORSMiddleware``, name the origins there instead.
    """


DEFAULTS: Final[RouteOptions] = {
    "path": "/api/chat",
    "identify": local_user,
    "prepare": None,
    "max_body_bytes": MAX_BODY_BYTES,
    "max_bytes_in_flight": MAX_BYTES_IN_FLIGHT,
    "keep_alive": KEEP_ALIVE,
    "allow_origins": (),
}


def chat_routes(
    service: ChatService, on_request: Callable[[], None] = _nothing, /, **options: Unpack[RouteOptions]
) -> list[Route]:
    """Return the routes of ``chat_router`` as a list. The caller starts and closes the service.

    ``on_request``: called for each request to a chat route, but not for ``/healthz`` and ``/readyz``.
    """
    check_option_names(options, DEFAULTS)
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
    respond = partial(endpoints.respond, overrides=overrides)
    steer = partial(endpoints.steer, overrides=overrides)
    route = partial(_route, service, on_request, identify, path)
    routes = [
        route("POST", "", "chat", respond, sends_artifacts=True),
        route("GET", "/{chat_id}", "chat_history", endpoints.history, sends_artifacts=True),
        route("GET", "s", "chats", endpoints.chats),
        route("GET", "/{chat_id}/stream", "resume_chat", endpoints.resume),
        route("POST", "/{chat_id}/stop", "stop_chat", endpoints.stop),
        route("POST", "/{chat_id}/steer", "steer_chat", steer),
        route("POST", "/{chat_id}/branch", "choose_version", endpoints.choose_version, sends_artifacts=True),
        route("PATCH", "/{chat_id}/state", "write_state", endpoints.write_state),
        route("PATCH", "/{chat_id}", "update_chat", endpoints.update),
        route("DELETE", "/{chat_id}", "delete_chat", endpoints.delete),
        route("GET", "/{chat_id}/artifacts/{name:path}", "artifact", endpoints.artifact),
        Route("/healthz", plain_text_errors(_healthz), methods=["GET"], name="healthz"),
        Route("/readyz", plain_text_errors(partial(_readyz, service)), methods=["GET"], name="readyz"),
    ]
    return cross_origin_routes(routes, check_origins("allow_origins", given["allow_origins"]))


def _route(
    service: ChatService,
    on_request: Callable[[], None],
    identify: Identify,
    path: str,
    method: str,
    suffix: str,
    name: str,
    endpoint: Callable[..., Awaitable[Response]],
    *,
    sends_artifacts: bool = False,
) -> Route:
    """Return the route at ``path`` + ``suffix``. ``endpoint`` is called with the user's id and the path parameters. For
    ``suffix="/{id}/stop"``, the path parameter is ``id``.

    ``sends_artifacts``: True to also pass ``artifact_path`` to ``endpoint``: the request's URL path without ``suffix``.
    """
    parameters = re.findall(r"{(\w+)", suffix)

    async def respond(request: Request) -> Response:
        on_request()
        async with dropping_body_if_refused(request):
            user_id = await identify_user(identify, request)
        arguments = {parameter: request.path_params[parameter] for parameter in parameters}
        if sends_artifacts:
            arguments["artifact_path"] = request.url.path.rsplit("/", suffix.count("/"))[0]
        return await endpoint(request, **arguments, user_id=user_id)

    with_errors = json_errors if name in JSON_ROUTES else plain_text_errors
    observed = Middleware(ObservedRoute, route=path + suffix)
    app = with_errors(respond, service.error_text)
    return Route(path + suffix, app, methods=[method], name=name, middleware=[observed])


async def _readyz(service: ChatService, _request: Request) -> Response:
    if not service.accepts_runs:
        return JSONResponse({"status": "draining"}, status_code=503)
    if missing := await service.unready():
        return JSONResponse({"status": "unavailable", "missing": missing}, status_code=503)
    return JSONResponse({"status": "ok"})


async def _healthz(_request: Request) -> Response:
    return JSONResponse({"status": "ok"})
