"""``chat_router``: the chat endpoint as a FastAPI router, which starts and closes the service."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Unpack

from fastapi import APIRouter
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from stream_protocol.serving._service import ChatService
from stream_protocol.serving.adk_runner import Target
from stream_protocol.serving.http._routes import RouteOptions, chat_routes
from stream_protocol.serving.http._trusted_origins import check_cors_of_app


def chat_router(target: Target | ChatService, **options: Unpack[RouteOptions]) -> APIRouter:
    """Returns the chat endpoint for a FastAPI app: ``app.include_router(chat_router(agent))``.

    The router has these routes. ``prefix`` and ``dependencies`` of ``include_router`` apply to all of them.

    * ``POST {path}``, to which ``useChat`` posts
    * ``GET``, ``PATCH`` and ``DELETE {path}/{id}``
    * ``GET {path}/{id}/stream``
    * ``POST {path}/{id}/stop``
    * ``POST {path}/{id}/steer``
    * ``GET {path}/{id}/artifacts/{name}``
    * ``GET {path}s``, the list of chats
    * ``GET /healthz``, 200 while the process lives
    * ``GET /readyz``, 503 if the process starts no more runs, or if a store that each run needs does not respond

    The router's lifespan, which ``include_router`` merges into the app's, starts the service and closes it. When the
    server shuts down, the runs are stopped and stored.

    ``target``: an agent, an ``App`` or a ``Runner``, served with the defaults of ``ChatService``; or a ``ChatService``
    with other options.
    ``options``: see ``RouteOptions``.

    Raises ``StreamProtocolError`` for a wrong value. The app does not start if its ``CORSMiddleware`` refuses an origin
    of ``allow_origins``.

    A refused request gets a 4xx and one short plain sentence, which the client shows. The sentence is plain text, or
    ``{"error": …}`` on routes that return JSON. If a run fails after the stream has begun, the stream gets one masked
    ``error`` chunk.
    """
    service = target if isinstance(target, ChatService) else ChatService(target)
    routes = chat_routes(service, **options)
    router = APIRouter(lifespan=service_lifespan(service, options.get("allow_origins", ())))
    for route in routes:
        if route.methods == {"OPTIONS"}:  # a preflight has no cookies or headers for a dependency to check
            router.routes.append(route)
        else:
            router.add_api_route(
                route.path,
                _sent_by(route.app),
                methods=sorted(route.methods or ()),
                name=route.name,
                response_model=None,
                include_in_schema=False,
            )
    return router


def service_lifespan(
    service: ChatService, allow_origins: Sequence[str] = ()
) -> Callable[[Starlette], AbstractAsyncContextManager[None]]:
    """Return the lifespan of an app for this service: it starts the service, and closes it at the end.

    Raises ``StreamProtocolError`` at the start if the app's own ``CORSMiddleware`` refuses one of ``allow_origins``.
    """

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        check_cors_of_app(app, allow_origins)
        await service.start()
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
        if self.background is not None:  # a task that a dependency has added
            await self.background()


def _sent_by(app: ASGIApp) -> Callable[[Request], Awaitable[Response]]:
    """Return a path operation. FastAPI runs its dependencies, and then the ASGI app sends the response."""

    async def respond(_request: Request) -> Response:
        return _AppResponse(app)

    return respond
