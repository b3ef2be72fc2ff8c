"""A complete app around the chat endpoint: the page, CORS, headers for browsers, and a shutdown that stops the runs."""

from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Final, NotRequired, TypedDict

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

import stream_protocol
from stream_protocol.serving._service import ChatService
from stream_protocol.serving.adk_runner import Target, model_names
from stream_protocol.serving.http._hooks import Identify, Prepare, local_user
from stream_protocol.serving.http._plain_text_errors import plain_text_errors
from stream_protocol.serving.http._response_headers import ANSWER_HEADERS, PAGE_HEADERS, ResponseHeaders
from stream_protocol.serving.http._routes import chat_routes
from stream_protocol.serving.http._trusted_origins import ANY_ORIGIN, trusted_origins

PAGE: Final = Path(stream_protocol.__file__).parent / "page"
"""The folder of the built page. It may be missing in a copy of the repository."""

INSPECTOR: Final = "inspector"
"""The name of the Inspector's first route: the page of an app that has it offers the panel."""

STREAM_HEADER: Final = "x-vercel-ai-ui-message-stream"
"""Names the protocol of a response. CORS must expose it, or a page of another origin does not see it."""


class Suggestion(TypedDict):
    """What the page offers to say, and what that shows."""

    title: NotRequired[str]
    prompt: str


class PageInfo(TypedDict, total=False):
    """What the page is told before anything is said: who answers, by which models, and what may be said first."""

    agent: str
    models: Sequence[str]
    suggestions: Sequence[str | Suggestion]


def create_app(
    target: Target | ChatService,
    *,
    identify: Identify = local_user,
    prepare: Prepare | None = None,
    allow_origins: Sequence[str] = (),
    page: bool = True,
    suggestions: Sequence[str | Suggestion] = (),
) -> Starlette:
    """An ASGI app with the chat endpoint and, at ``/``, the built-in page.

    ``identify``, ``prepare``: as in ``chat_routes``.
    ``allow_origins``: origins of other pages that may use the endpoint (``https://app.example``, or ``*``); those that
    are named may send the user's cookies, too.
    ``page``: whether the page is there. No other site may frame it, and it loads nothing from elsewhere.
    ``suggestions``: what the page offers to say first, as words or as ``{"title": …, "prompt": …}``.

    When the server shuts down, the runs are stopped; the app waits for them some seconds.
    """
    service = target if isinstance(target, ChatService) else ChatService(target)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        await service.launch()
        yield
        await service.aclose()

    routes = chat_routes(service, identify=identify, prepare=prepare, allow_origins=allow_origins)
    root = service.runner.agent
    info: PageInfo = {"agent": root.name, "models": model_names(root), "suggestions": suggestions}
    return app_around(routes, lifespan=lifespan, allow_origins=allow_origins, page=info if page else None)


def app_around(
    routes: Sequence[BaseRoute],
    *,
    lifespan: Callable[[Starlette], AbstractAsyncContextManager[None]],
    allow_origins: Sequence[str],
    page: PageInfo | None,
) -> Starlette:
    """An app of these routes, with the page (unless ``page`` is ``None``) and CORS for ``allow_origins``."""
    cors = [_cors(trusted_origins(allow_origins))] if allow_origins else []
    return Starlette(
        routes=[*routes, _page_info_route(page), _page_route()] if page is not None else routes,
        middleware=cors,
        exception_handlers={HTTPException: _answer_http_error},
        lifespan=lifespan,
    )


def _cors(origins: Collection[str]) -> Middleware:
    return Middleware(
        CORSMiddleware,
        allow_origins=list(origins),
        allow_credentials=ANY_ORIGIN not in origins,
        allow_methods=["*"],
        allow_headers=["*"],
        expose_headers=[STREAM_HEADER, "retry-after"],
        max_age=3600,
    )


def _page_info_route(info: PageInfo) -> BaseRoute:
    async def page_info(request: Request) -> Response:
        inspector = any(isinstance(route, Route) and route.name == INSPECTOR for route in request.app.routes)
        return JSONResponse({**info, "inspector": inspector})

    return Route("/page.json", plain_text_errors(page_info), methods=["GET"])


def _page_route() -> BaseRoute:
    if (PAGE / "index.html").is_file():
        files = StaticFiles(directory=PAGE, html=True)
        return Mount("/", ResponseHeaders(files, PAGE_HEADERS), name="page")
    return Route("/", plain_text_errors(_no_page), name="page")


async def _no_page(_request: Request) -> Response:
    return PlainTextResponse("The chat endpoint is POST /api/chat. This copy of the package has no page.")


async def _answer_http_error(_request: Request, error: Exception) -> Response:
    """As Starlette does: an unknown path, another method, what a hook of the app raises."""
    assert isinstance(error, HTTPException)
    return PlainTextResponse(error.detail, error.status_code, {**ANSWER_HEADERS, **(error.headers or {})})
