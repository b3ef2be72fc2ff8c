"""Routes of the Inspector, for an app that has the chat endpoint."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from stream_protocol._origins import check_origins
from stream_protocol.inspector._inspector import Inspector
from stream_protocol.inspector._inspector_endpoints import InspectorEndpoints, ReplayEndpoints
from stream_protocol.inspector._replayed_chats import InspectedChats
from stream_protocol.serving import ChatService, Identify, local_user
from stream_protocol.serving.base import response_budget
from stream_protocol.serving.http import (
    INSPECTOR,
    admit,
    check_route_path,
    cross_origin_routes,
    dropping_body_if_refused,
    identify_user,
    json_errors,
    plain_text_errors,
)
from stream_protocol.wire import check_callable, check_instance

Endpoint: TypeAlias = Callable[[Request, str], Awaitable[Response]]
"""Function that takes a request and its user, and returns the response."""


def inspector_routes(
    inspector: Inspector,
    service: ChatService,
    *,
    path: str = "/api/chat",
    identify: Identify = local_user,
    allow_origins: Sequence[str] = (),
) -> list[Route]:
    """Return the routes of the Inspector. Put them before the routes of a page at ``/``.

    ``inspector``: the service's recorder. ``identify``: as in ``chat_router``. ``allow_origins``: as in
    ``chat_router``; in an app of ``create_app`` the app's ``allow_origins`` apply.

    ``GET {path}/{id}/inspect?after=N`` returns the entries of the user's own chat after number N, for a page that
    polls. ``…/inspect/recording``, ``…/inspect/pytest`` and ``…/inspect/findings`` return the chat as a recording, a
    test for this recording, and the findings of ``check``. ``GET /api/inspect/agents`` returns the tree of agents, each
    with its model, tools and description. ``GET /api/inspect/rules`` returns the rules of ``check``.

    A client can also ``POST`` a file: a recording in any form, or a capture. ``/api/inspect`` returns the file's
    entries and findings. ``/api/inspect/recording`` returns the file as a recording, and ``/api/inspect/pytest``
    returns a test. These three routes do not depend on ``path``. The file is not stored. ``?session=ID`` selects a
    session. The page of ``create_app`` shows the panel if the app has these routes.
    """
    check_instance("inspector", inspector, Inspector, "an Inspector")
    check_instance("service", service, ChatService, "a ChatService")
    check_route_path("path", path)
    check_callable("identify", identify, ("request",))
    endpoints = InspectorEndpoints(inspector, service)
    json_endpoints = (endpoints.chat, endpoints.chat_findings, endpoints.agents, endpoints.rules)

    def route(method: str, path: str, endpoint: Endpoint, name: str | None) -> Route:
        async def admitted(request: Request) -> Response:
            async with dropping_body_if_refused(request):
                user_id = await identify_user(identify, request)
                service.count_request(user_id, foreign=admit(request))
            return await endpoint(request, user_id)

        with_errors = json_errors if endpoint in json_endpoints else plain_text_errors
        return Route(path, with_errors(admitted, service.error_text), methods=[method], name=name)

    routes = _routes(endpoints, path, route)
    return cross_origin_routes(routes, check_origins("allow_origins", allow_origins))


def replay_inspector_routes(chats: InspectedChats) -> list[Route]:
    """Return the routes of ``inspector_routes`` for the chats of ``create_replay_app``.

    Their entries come from the played recordings.
    """
    check_instance("chats", chats, InspectedChats, "InspectedChats")
    endpoints = ReplayEndpoints(chats, response_budget().share)

    def route(method: str, path: str, endpoint: Endpoint, name: str | None) -> Route:
        async def admitted(request: Request) -> Response:
            async with dropping_body_if_refused(request):
                _ = admit(request)
            return await endpoint(request, "")

        return Route(path, plain_text_errors(admitted), methods=[method], name=name)

    return _routes(endpoints, "/api/chat", route)


def _routes(
    endpoints: InspectorEndpoints | ReplayEndpoints,
    path: str,
    route: Callable[[str, str, Endpoint, str | None], Route],
) -> list[Route]:
    chat = path + "/{chat_id}/inspect"
    files = path.rpartition("/")[0] + "/inspect"
    return [
        route("GET", chat, endpoints.chat, INSPECTOR),
        route("GET", chat + "/findings", endpoints.chat_findings, None),
        route("GET", chat + "/recording", endpoints.chat_recording, None),
        route("GET", chat + "/pytest", endpoints.chat_test, None),
        route("GET", files + "/agents", endpoints.agents, None),
        route("GET", files + "/rules", endpoints.rules, None),
        route("POST", files, endpoints.file, None),
        route("POST", files + "/recording", endpoints.file_recording, None),
        route("POST", files + "/pytest", endpoints.file_test, None),
    ]
