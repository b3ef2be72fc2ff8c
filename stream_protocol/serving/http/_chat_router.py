"""Provides ``chat_router``: the chat endpoint as a FastAPI router, which starts and closes the service."""

from collections.abc import Awaitable, Callable
from typing import Unpack

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from stream_protocol.serving._service import ChatService
from stream_protocol.serving.adk_runner import Target
from stream_protocol.serving.http._routes import RouteOptions, chat_routes
from stream_protocol.serving.http._service_lifespan import ServiceLifespan


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

    The router's lifespan starts and closes the service. ``include_router`` adds this lifespan to the app's lifespan.
    When the server shuts down, the runs are stopped and stored.

    ``target``: an agent, an ``App`` or a ``Runner``, for a ``ChatService`` with default options; or your own
    ``ChatService``. ``options``: see ``RouteOptions``.

    Raises ``StreamProtocolError`` for a wrong value. If the app's ``CORSMiddleware`` refuses an origin of
    ``allow_origins``, the app does not start.

    The response to a refused request is a 4xx with one short plain sentence, which the client shows. The sentence is
    plain text, or ``{"error": …}`` on routes that return JSON. If a run fails after its stream has begun, the stream
    ends with one masked ``error`` chunk.
    """
    service = target if isinstance(target, ChatService) else ChatService(target)
    lifespan = ServiceLifespan(service, options.get("allow_origins", ()))
    routes = chat_routes(service, lifespan.check, **options)
    router = APIRouter(lifespan=lifespan)
    for route in routes:
        if route.methods == {"OPTIONS"}:  # dependencies could check nothing: a preflight has no cookies
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


class _AppResponse(Response):
    """A FastAPI response that an ASGI app sends."""

    def __init__(self, app: ASGIApp) -> None:
        super().__init__()
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)
        if self.background is not None:  # a task that a dependency has added
            await self.background()


def _sent_by(app: ASGIApp) -> Callable[[Request], Awaitable[Response]]:
    """Return a FastAPI path operation, whose dependencies run before the ASGI app sends the response."""

    async def respond(_request: Request) -> Response:
        return _AppResponse(app)

    return respond
