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
    """Returns a FastAPI router with the chat endpoint: ``app.include_router(chat_router(agent))``.

    The router has these routes. ``prefix`` and ``dependencies`` of ``include_router`` apply to all of them.

    * ``POST {path}``, to which ``useChat`` posts
    * ``GET``, ``PATCH`` and ``DELETE {path}/{id}``, for one chat
    * ``GET {path}/{id}/stream``
    * ``POST {path}/{id}/stop``
    * ``POST {path}/{id}/steer``
    * ``GET {path}/{id}/artifacts/{name}``
    * ``GET {path}s``, the list of chats
    * ``GET /healthz``, 200 while the process runs
    * ``GET /readyz``, 503 while the server shuts down, or while a store that every run needs does not respond

    The router's lifespan starts and closes the service. ``include_router`` adds this lifespan to the app's lifespan.
    When the server shuts down, the service stops the active runs and stores their texts.

    ``target``: your ``ChatService``. For an agent, an ``App`` or a ``Runner``, the router creates a ``ChatService``
    with default options. ``options``: see ``RouteOptions``.

    Raises ``StreamProtocolError`` for a wrong value. If the option ``allow_origins`` has an origin that the app's
    ``CORSMiddleware`` refuses, the app does not start.

    A refused request gets a 4xx with one short plain sentence, which the client shows. The sentence is plain text, or
    ``{"error": …}`` on routes that return JSON. If a run fails after its stream has begun, the stream ends with one
    ``error`` chunk. This chunk does not contain the exception's text.
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
    """A FastAPI response whose status, headers and body come from an ASGI app."""

    def __init__(self, app: ASGIApp) -> None:
        super().__init__()
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)
        if self.background is not None:  # a task that a dependency has added
            await self.background()


def _sent_by(app: ASGIApp) -> Callable[[Request], Awaitable[Response]]:
    """Return a FastAPI path operation that sends the response of ``app``, after FastAPI has run the dependencies."""

    async def respond(_request: Request) -> Response:
        return _AppResponse(app)

    return respond
