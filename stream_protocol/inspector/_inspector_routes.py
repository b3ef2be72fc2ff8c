"""Creates the Inspector's routes for an app with the chat endpoint, and for a replay server."""

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

    ``inspector``: the recorder of ``service``. ``identify`` and ``allow_origins``: as in ``chat_router``. In an app of
    ``create_app``, leave out ``allow_origins``, because the app's own ``allow_origins`` also apply to these routes. The
    built-in page shows the Inspector if its app has these routes.

    - ``GET {path}/{id}/inspect?after=N``: the entries of the user's own chat with a number above N.
    - ``GET {path}/{id}/inspect/recording``: the chat as a recording.
    - ``GET {path}/{id}/inspect/pytest``: a Python test for this recording.
    - ``GET {path}/{id}/inspect/findings``: the findings of ``adk-ui-stream check`` for the chat.
    - ``GET /api/inspect/agents``: the service's agent and its sub-agents, with models, tools and descriptions.
    - ``GET /api/inspect/rules``: the rules of ``adk-ui-stream check``.
    - ``POST /api/inspect``, ``/api/inspect/recording`` and ``/api/inspect/pytest``: the entries, the recording and the
      test of a file in the body. The file is a recording in any format, or a captured stream, and is not stored.
      ``?session=ID`` selects one of its sessions.
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
    """Return the Inspector's routes for the chats of a replay server (``create_replay_app``). The entries come from the
    recordings.
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
