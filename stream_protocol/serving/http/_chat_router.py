"""``chat_router``: the chat endpoint as a router of FastAPI, which starts and closes the service."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from fastapi import APIRouter
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from stream_protocol.serving._service import ChatService
from stream_protocol.serving.adk_runner import Target
from stream_protocol.serving.http._hooks import Identify, Prepare, local_user
from stream_protocol.serving.http._request_body import MAX_BODY_BYTES, MAX_BYTES_IN_FLIGHT
from stream_protocol.serving.http._routes import chat_routes
from stream_protocol.serving.http._stream_response import KEEP_ALIVE
from stream_protocol.serving.http._trusted_origins import check_cors_of_app


def chat_router(
    target: Target | ChatService,
    *,
    path: str = "/api/chat",
    identify: Identify = local_user,
    prepare: Prepare | None = None,
    max_body_bytes: int = MAX_BODY_BYTES,
    max_bytes_in_flight: int = MAX_BYTES_IN_FLIGHT,
    keep_alive: float | None = KEEP_ALIVE,
    allow_origins: Sequence[str] = (),
) -> APIRouter:
    """The chat endpoint for a FastAPI app: ``app.include_router(chat_router(agent))``.

    The router has ``POST {path}``, to which ``useChat`` posts; ``GET``, ``PATCH`` and ``DELETE {path}/{id}``;
    ``GET {path}/{id}/stream``; ``POST {path}/{id}/stop``; ``GET {path}/{id}/artifacts/{name}``; ``GET {path}s``, the
    list of chats; ``GET /healthz``, 200 while the process lives; and ``GET /readyz``, 503 once it begins no more runs,
    and while a store that each run needs does not answer. ``prefix`` and ``dependencies`` of ``include_router`` apply
    to all of them.

    The router's lifespan, which ``include_router`` merges into the app's, starts the service and closes it. When the
    server shuts down, the runs are stopped and stored.

    ``target``: an agent, an ``App`` or a ``Runner``, served with the defaults of ``ChatService``; or a ``ChatService``
    with other options.
    ``path``: where ``useChat`` posts.
    ``identify``: request -> the user's id, from your session or token: whose chats the request may see. By default all
    chats belong to one local user, and a warning is logged at the first request from another machine. The user's id is
    never taken from the body of the request.
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
    sites send is refused (403) if it changes something. If the app has a ``CORSMiddleware``, name the origins there,
    and leave this out: its pages may use the endpoint.

    Raises ``StreamProtocolError`` for a wrong value. The app does not start if its ``CORSMiddleware`` refuses an
    origin of ``allow_origins``.

    A refused request gets a 4xx and one short plain sentence, which the page shows: as plain text, or as
    ``{"error": …}`` where the route answers JSON. A failure after the stream has begun is one masked ``error`` chunk
    in the stream.
    """
    service = target if isinstance(target, ChatService) else ChatService(target)
    routes = chat_routes(
        service,
        path=path,
        identify=identify,
        prepare=prepare,
        max_body_bytes=max_body_bytes,
        max_bytes_in_flight=max_bytes_in_flight,
        keep_alive=keep_alive,
        allow_origins=allow_origins,
    )
    router = APIRouter(lifespan=service_lifespan(service, allow_origins))
    for route in routes:
        if route.methods == {"OPTIONS"}:  # a preflight brings nothing that a dependency could look at
            router.routes.append(route)
        else:
            router.add_api_route(
                route.path,
                _answered_by(route.app),
                methods=sorted(route.methods or ()),
                name=route.name,
                response_model=None,
                include_in_schema=False,
            )
    return router


def service_lifespan(
    service: ChatService, allow_origins: Sequence[str] = ()
) -> Callable[[Starlette], AbstractAsyncContextManager[None]]:
    """Return the lifespan of an app that serves these chats: it starts the service, and closes it at the end.

    Raises ``StreamProtocolError`` at the start if the app's own ``CORSMiddleware`` refuses one of ``allow_origins``.
    """

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        check_cors_of_app(app, allow_origins)
        await service.launch()
        try:
            yield
        finally:
            await service.aclose()

    return lifespan


class _AppResponse(Response):
    """A response that an ASGI app sends."""

    def __init__(self, app: ASGIApp) -> None:
        super().__init__()
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)
        if self.background is not None:  # what a dependency has added
            await self.background()


def _answered_by(app: ASGIApp) -> Callable[[Request], Awaitable[Response]]:
    """Return a path operation that lets the ASGI app answer, after the dependencies have run."""

    async def answer(_request: Request) -> Response:
        return _AppResponse(app)

    return answer
