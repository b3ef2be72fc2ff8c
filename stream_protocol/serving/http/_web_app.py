"""A complete app around the chat endpoint: the page, CORS, and a shutdown that stops the runs."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Final

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

import stream_protocol
from stream_protocol.serving._service import ChatService
from stream_protocol.serving.adk_runner import Target
from stream_protocol.serving.http._hooks import Identify, Prepare, local_user
from stream_protocol.serving.http._routes import chat_routes

PAGE: Final = Path(stream_protocol.__file__).parent / "page"
"""The folder of the built page. It may be missing in a copy of the repository."""

STREAM_HEADER: Final = "x-vercel-ai-ui-message-stream"
"""Names the protocol of a response. CORS must expose it, or a page of another origin does not see it."""


def create_app(
    target: Target | ChatService,
    *,
    identify: Identify = local_user,
    prepare: Prepare | None = None,
    allow_origins: Sequence[str] = (),
    page: bool = True,
) -> Starlette:
    """An ASGI app with the chat endpoint and, at ``/``, the built-in page.

    ``identify`` and ``prepare`` as in ``chat_routes``. ``allow_origins``: origins of other pages that may use the
    endpoint (``https://app.example``, or ``*``); those that are named may send the user's cookies, too.
    ``page=False`` leaves out the page.
    When the server shuts down, the runs are stopped; the app waits for them some seconds.
    """
    service = target if isinstance(target, ChatService) else ChatService(target)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        yield
        await service.aclose()

    routes = chat_routes(service, identify=identify, prepare=prepare)
    return app_around(routes, lifespan=lifespan, allow_origins=allow_origins, page=page)


def app_around(
    routes: Sequence[BaseRoute],
    *,
    lifespan: Callable[[Starlette], AbstractAsyncContextManager[None]],
    allow_origins: Sequence[str],
    page: bool,
) -> Starlette:
    """An app of these routes, with the page (if ``page``) and CORS for ``allow_origins``."""
    return Starlette(
        routes=[*routes, _page_route()] if page else routes,
        middleware=[_cors(allow_origins)] if allow_origins else [],
        lifespan=lifespan,
    )


def _cors(origins: Sequence[str]) -> Middleware:
    return Middleware(
        CORSMiddleware,
        allow_origins=list(origins),
        allow_credentials="*" not in origins,
        allow_methods=["*"],
        allow_headers=["*"],
        expose_headers=[STREAM_HEADER, "retry-after"],
        max_age=3600,
    )


def _page_route() -> BaseRoute:
    if (PAGE / "index.html").is_file():
        return Mount("/", StaticFiles(directory=PAGE, html=True), name="page")
    return Route("/", _no_page, name="page")


async def _no_page(_request: Request) -> Response:
    return PlainTextResponse("The chat endpoint is POST /api/chat. This copy of the package has no page.")
