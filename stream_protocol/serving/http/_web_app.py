"""A complete app around the chat endpoint, with the built-in page, CORS, security headers, and a shutdown that stops
the runs.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Final, Literal, NotRequired, TypeAlias, TypedDict, get_args

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Mount, Route

import stream_protocol
from stream_protocol._origins import check_origins
from stream_protocol.serving._service import ChatService
from stream_protocol.serving.adk_runner import Target, ToolInfo, model_names, tool_infos
from stream_protocol.serving.http._cross_origin import CrossOrigin
from stream_protocol.serving.http._hooks import Identify, Prepare, local_user
from stream_protocol.serving.http._page_files import page_files
from stream_protocol.serving.http._plain_text_errors import plain_text_errors
from stream_protocol.serving.http._request_body import MAX_BODY_BYTES
from stream_protocol.serving.http._response_headers import API_HEADERS
from stream_protocol.serving.http._routes import chat_routes
from stream_protocol.serving.http._service_lifespan import ServiceLifespan
from stream_protocol.wire import InvalidArgumentError, argument_error, check_choice, check_flag, shown

PAGE: Final = Path(stream_protocol.__file__).parent / "page"
"""The folder of the built page. A clone of the repository may lack it."""

INSPECTOR: Final = "inspector"
"""The name of the Inspector's first route. With this route, the page shows the Inspector's panel."""


class Suggestion(TypedDict):
    """A first message that the page offers to the user: the text in ``prompt``.

    ``title``: the text of the button, instead of ``prompt``. ``group``: a heading above all suggestions with this
    group. ``attach``: True if the user must choose a file before the message is sent.
    """

    title: NotRequired[str]
    group: NotRequired[str]
    prompt: str
    attach: NotRequired[bool]


WhileBusy: TypeAlias = Literal["queue", "steer", "interrupt"]


class PageInfo(TypedDict, total=False):
    """Data that the page shows before the first message."""

    agent: str
    description: str
    models: Sequence[str]
    tools: Sequence[ToolInfo]
    suggestions: Sequence[str | Suggestion]
    whileBusy: WhileBusy
    maxFileBytes: int
    maxMessageBytes: int


def create_app(
    target: Target | ChatService,
    *,
    identify: Identify = local_user,
    prepare: Prepare | None = None,
    allow_origins: Sequence[str] = (),
    page: bool = True,
    suggestions: Sequence[str | Suggestion] = (),
    while_busy: WhileBusy = "queue",
) -> Starlette:
    """Returns a Starlette app with the chat endpoint and, at ``/``, the built-in page.

    In your own app, use the routes and the lifespan of the returned app. The lifespan starts and closes the service:
    ``Starlette(routes=[…, *chat.routes], lifespan=chat.router.lifespan_context)``.

    ``identify``, ``prepare``, ``allow_origins``: as in ``chat_router``.
    ``page``: serve the built-in page.
    ``suggestions``: first messages that the page offers, as texts or as ``{"title": …, "group": …, "prompt": …}``. With
    ``"attach": True``, the page first asks for a file.
    ``while_busy``: the effect of a message that is sent in the page during a response: ``"queue"``, ``"steer"`` or
    ``"interrupt"``.

    ``"queue"`` sends the message after the response. ``"steer"`` gives the message to the running agent.
    ``"interrupt"`` stops the run, and a new run answers the message. The page loads nothing from other servers. Without
    suggestions, the page lists the agent's tools.

    Raises ``StreamProtocolError`` for a wrong value.

    When the server shuts down, the app stops the active runs, and waits some seconds until they have ended.
    """
    check_flag("page", page)
    _check_suggestions(suggestions)
    check_choice("while_busy", while_busy, choices=get_args(WhileBusy))
    service = target if isinstance(target, ChatService) else ChatService(target)

    lifespan = ServiceLifespan(service, allow_origins)
    routes = chat_routes(service, lifespan.check, identify=identify, prepare=prepare, allow_origins=allow_origins)
    root = service.runner.agent
    info: PageInfo = {
        "agent": root.name,
        "description": root.description,
        "models": model_names(root),
        "tools": [] if suggestions else tool_infos(root),
        "suggestions": suggestions,
        "whileBusy": while_busy,
        "maxFileBytes": service.max_file_bytes,
        "maxMessageBytes": MAX_BODY_BYTES,
    }
    return app_around(routes, lifespan=lifespan, allow_origins=allow_origins, page=info if page else None)


def app_around(
    routes: Sequence[BaseRoute],
    *,
    lifespan: Callable[[Starlette], AbstractAsyncContextManager[None]],
    allow_origins: Sequence[str],
    page: PageInfo | None,
) -> Starlette:
    """Return an app with the given routes and CORS for ``allow_origins``. ``page``: the data for the built-in page;
    ``None`` for an app without the page.

    CORS covers the whole app, so that a page of another origin can also read the error for an unknown path.
    """
    origins = check_origins("allow_origins", allow_origins)
    cors = [Middleware(CrossOrigin, origins=origins)] if origins else []
    return Starlette(
        routes=[*routes, _page_info_route(page), _page_route()] if page is not None else routes,
        middleware=cors,
        exception_handlers={HTTPException: _answer_http_error},
        lifespan=lifespan,
    )


def _check_suggestions(suggestions: object) -> None:
    expected = "a list of texts, or of dictionaries with a `prompt`, and optionally `title`, `group` and `attach`"
    if not isinstance(suggestions, Sequence) or isinstance(suggestions, str | bytes):
        raise argument_error("suggestions", expected, suggestions)
    for suggestion in suggestions:
        fields = suggestion if isinstance(suggestion, Mapping) else {"prompt": suggestion}
        kinds = {"title": str, "group": str, "prompt": str, "attach": bool}
        is_known = "prompt" in fields and fields.keys() <= kinds.keys()
        if not is_known or not all(isinstance(value, kinds[name]) for name, value in fields.items()):
            raise InvalidArgumentError(f"`suggestions` must be {expected}: {shown(suggestion)} in it is neither.")


def _page_info_route(info: PageInfo) -> BaseRoute:
    async def page_info(request: Request) -> Response:
        inspector = any(isinstance(route, Route) and route.name == INSPECTOR for route in request.app.routes)
        return JSONResponse({**info, "inspector": inspector})

    return Route("/page.json", plain_text_errors(page_info), methods=["GET"])


def _page_route() -> BaseRoute:
    if (PAGE / "index.html").is_file():
        return Mount("/", page_files(PAGE), name="page")
    return Route("/", plain_text_errors(_no_page), name="page")


async def _no_page(_request: Request) -> Response:
    return PlainTextResponse("The chat endpoint is POST /api/chat. This copy of the package has no page.")


async def _answer_http_error(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return PlainTextResponse(error.detail, error.status_code, {**API_HEADERS, **(error.headers or {})})
