"""The routes of the Inspector, beside those of the chat endpoint."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from stream_protocol._origins import check_origins
from stream_protocol.inspector._inspector import Inspector
from stream_protocol.inspector._inspector_endpoints import InspectorEndpoints
from stream_protocol.serving import ChatService, Identify, local_user
from stream_protocol.serving.http import (
    INSPECTOR,
    check_route_path,
    cross_origin_routes,
    dropping_body_if_refused,
    identify_user,
    is_foreign,
    json_errors,
    plain_text_errors,
    require_trusted_origin,
)
from stream_protocol.wire import check_callable, check_instance


def inspector_routes(
    inspector: Inspector,
    service: ChatService,
    *,
    path: str = "/api/chat",
    identify: Identify = local_user,
    allow_origins: Sequence[str] = (),
) -> list[Route]:
    """The routes of the Inspector. Put them before those of a page at ``/``.

    ``GET {path}/{id}/inspect?after=N``: the entries of the user's own chat after number N, for a page that polls.
    ``…/inspect/recording``, ``…/inspect/pytest`` and ``…/inspect/findings``: the chat as a recording, a test of that
    recording, and the findings of ``check``. ``GET /api/inspect/agents``: the service's agent and those below it, each
    with its model, its tools and its description. ``POST`` of a file to ``/api/inspect``, ``/api/inspect/recording``
    and ``/api/inspect/pytest`` (beside ``path``): the same for a recording in any form, or for a capture. It is not
    stored. ``?session=ID`` chooses one of several. The page of ``create_app`` offers the panel if the app has these
    routes.

    ``inspector``: the service's recorder. ``identify`` as in ``chat_router``. ``allow_origins`` too, but in an app of
    ``create_app`` the app's ``allow_origins`` apply.
    """
    check_instance("inspector", inspector, Inspector, "an Inspector")
    check_instance("service", service, ChatService, "a ChatService")
    check_route_path("path", path)
    check_callable("identify", identify, ("request",))
    endpoints = InspectorEndpoints(inspector, service)
    json_endpoints = (endpoints.chat, endpoints.chat_findings, endpoints.agents)

    def route(
        method: str, path: str, endpoint: Callable[[Request, str], Awaitable[Response]], name: str | None = None
    ) -> Route:
        async def admitted(request: Request) -> Response:
            async with dropping_body_if_refused(request):
                user_id = await identify_user(identify, request)
                if method != "GET":
                    require_trusted_origin(request)
                service.count_request(user_id, foreign=is_foreign(request))
            return await endpoint(request, user_id)

        answering = json_errors if endpoint in json_endpoints else plain_text_errors
        return Route(path, answering(admitted, service.error_text), methods=[method], name=name)

    chat = path + "/{chat_id}/inspect"
    files = path.rpartition("/")[0] + "/inspect"
    routes = [
        route("GET", chat, endpoints.chat, INSPECTOR),
        route("GET", chat + "/findings", endpoints.chat_findings),
        route("GET", chat + "/recording", endpoints.chat_recording),
        route("GET", chat + "/pytest", endpoints.chat_test),
        route("GET", files + "/agents", endpoints.agents),
        route("POST", files, endpoints.file),
        route("POST", files + "/recording", endpoints.file_recording),
        route("POST", files + "/pytest", endpoints.file_test),
    ]
    return cross_origin_routes(routes, check_origins("allow_origins", allow_origins))
