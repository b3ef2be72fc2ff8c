"""Pages of other origins: a browser's preflight requests, and the responses that a page can read."""

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
from fastapi import FastAPI
from google.adk.agents import LlmAgent
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount, Route

from stream_protocol.inspector import Inspector, inspector_routes
from stream_protocol.replay_server import Chats, create_replay_app, load_library
from stream_protocol.serving import ChatEndpoints, ChatService, ServiceLimits, chat_router, create_app, header_user
from stream_protocol.serving.http._routes import chat_routes
from stream_protocol.testing import ScriptedLlm
from stream_protocol.wire import StreamProtocolError
from tests.replay_server.fixture_recordings import write_recordings
from tests.served import served
from tests.serving.support import chat, client, said

PAGE: Final = "http://localhost:3000"
OTHER: Final = "https://evil.example"
EXPOSED: Final = "x-vercel-ai-ui-message-stream, retry-after"
ALLOWING: Final = {
    "access-control-allow-origin": PAGE,
    "access-control-allow-credentials": "true",
    "access-control-expose-headers": EXPOSED,
}


def service(**options: Any) -> ChatService:
    inspector = Inspector()
    agent = LlmAgent(name="root", model=ScriptedLlm(respond=lambda request: ["Hello."]))
    return ChatService(agent, recorder=inspector, **options)


def in_starlette(**options: Any) -> Starlette:
    return Starlette(routes=chat_routes(service(), **options))


def in_fastapi(**options: Any) -> FastAPI:
    app = FastAPI()
    app.include_router(chat_router(service(), **options))
    return app


def below_a_prefix(**options: Any) -> FastAPI:
    app = FastAPI()
    app.include_router(chat_router(service(), **options), prefix="/v1")
    return app


def below_a_path(**options: Any) -> Starlette:
    return Starlette(routes=[Mount("/v1", routes=chat_routes(service(), **options))])


def with_inspector(**options: Any) -> Starlette:
    return Starlette(routes=inspector_routes(Inspector(), service(), **options))


APPS: Final[Mapping[str, Callable[..., Starlette]]] = {
    "Starlette": in_starlette,
    "FastAPI": in_fastapi,
    "FastAPI, below a prefix": below_a_prefix,
    "below a path": below_a_path,
    "the Inspector": with_inspector,
}


def methods_of(routes: Sequence[Route]) -> dict[str, set[str]]:
    """Return the HTTP methods of the routes: path -> methods."""
    found: dict[str, set[str]] = {}
    for route in routes:
        path = route.path.replace("{chat_id}", "c1").replace("{name:path}", "a.txt")
        found.setdefault(path, set()).update(route.methods or ())
    return found


def paths_below(prefix: str) -> dict[str, set[str]]:
    return {prefix + path: methods for path, methods in methods_of(chat_routes(service())).items()}


PATHS_OF_INSPECTOR: Final = methods_of(inspector_routes(Inspector(), service()))


async def preflight(http: httpx.AsyncClient, path: str, method: str, origin: str = PAGE) -> httpx.Response:
    asked = {"access-control-request-method": method, "access-control-request-headers": "content-type,authorization"}
    return await http.options(path, headers={**asked, "origin": origin})


@pytest.mark.parametrize("kind", APPS)
async def test_the_routes_answer_the_preflight_of_each_of_their_methods(kind: str) -> None:
    app = APPS[kind](allow_origins=[PAGE])
    paths = PATHS_OF_INSPECTOR if kind == "the Inspector" else paths_below("/v1" if "below" in kind else "")
    async with client(app) as http:
        for path, methods in paths.items():
            for method in methods:
                answer = await preflight(http, path, method)
                assert (path, method, answer.status_code) == (path, method, 200)
                allowed = {name: answer.headers.get(name) for name in ALLOWING}
                assert allowed == ALLOWING
                assert answer.headers["access-control-allow-headers"] == "content-type,authorization"
                assert answer.headers["access-control-allow-methods"] == ", ".join(sorted(methods))


async def test_the_methods_are_those_of_the_path() -> None:
    async with client(in_starlette(allow_origins=[PAGE])) as http:
        told = {
            path: (await preflight(http, path, "POST")).headers["access-control-allow-methods"]
            for path in ("/api/chat", "/api/chat/c1", "/api/chat/c1/stop", "/api/chat/c1/stream", "/api/chats")
        }
    assert told == {
        "/api/chat": "POST",
        "/api/chat/c1": "DELETE, GET, HEAD, PATCH",
        "/api/chat/c1/stop": "POST",
        "/api/chat/c1/stream": "GET, HEAD",
        "/api/chats": "GET, HEAD",
    }


@pytest.mark.parametrize("kind", APPS)
async def test_a_page_that_is_not_named_is_refused_with_what_to_do_and_the_log_says_so_once(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    app = APPS[kind](allow_origins=[PAGE])
    path = next(iter(PATHS_OF_INSPECTOR if kind == "the Inspector" else paths_below("/v1" if "below" in kind else "")))
    async with client(app) as http:
        for origin in ("http://127.0.0.1:3000", "http://127.0.0.1:3000", "null"):
            answer = await preflight(http, path, "POST", origin)
            assert (answer.status_code, "allow_origins" in answer.text) == (400, True)
            assert [name for name in answer.headers if name.startswith("access-control")] == []
            assert answer.headers["vary"] == "Origin"
    told = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert told == ['A page at "http://127.0.0.1:3000" was refused: `allow_origins` does not name its origin.']


async def test_without_origins_nothing_is_answered_to_browsers() -> None:
    async with client(in_starlette()) as http:
        assert (await preflight(http, "/api/chat", "POST")).status_code == 405
        assert "vary" not in (await http.get("/healthz", headers={"origin": PAGE})).headers


async def test_options_that_is_no_preflight_names_the_methods() -> None:
    async with client(in_starlette(allow_origins=[PAGE])) as http:
        answer = await http.options("/api/chat/c1")
    assert (answer.status_code, answer.headers["allow"]) == (204, "DELETE, GET, HEAD, PATCH, OPTIONS")


def nobody(_request: Request) -> str:
    raise HTTPException(401, "Sign in first.")


def fails(_request: Request) -> str:
    raise RuntimeError("secret")


USERS: Final = {"x-user": "ann"}
ANSWERS: Final[list[tuple[str, str, Any, Mapping[str, str], int]]] = [
    ("POST", "/api/chat", chat(said("hi")), USERS, 200),
    ("POST", "/api/chat", chat(), USERS, 422),
    ("POST", "/api/chat", chat(said("x" * 2000)), USERS, 413),
    ("POST", "/api/chat", None, USERS, 415),
    ("POST", "/api/chat", chat(said("hi")), {}, 401),
    ("GET", "/api/chats", None, USERS, 200),
    ("GET", "/api/chats?limit=0", None, USERS, 422),
    ("GET", "/api/chats", None, {}, 401),
    ("GET", "/api/chat/none", None, USERS, 404),
    ("GET", "/api/chat/%5C", None, USERS, 400),
    ("GET", "/api/chat/none/stream", None, USERS, 204),
    ("GET", "/api/chat/none/artifacts/a.txt", None, USERS, 404),
    ("POST", "/api/chat/none/stop", None, USERS, 404),
    ("PATCH", "/api/chat/none", {"title": "a"}, USERS, 404),
    ("DELETE", "/api/chat/none", None, USERS, 404),
    ("GET", "/healthz", None, {}, 200),
    ("GET", "/readyz", None, {}, 200),
]


@pytest.mark.parametrize("framework", ["Starlette", "FastAPI", "FastAPI, below a prefix", "below a path"])
async def test_each_answer_may_be_read_whatever_it_says(framework: str) -> None:
    app = APPS[framework](allow_origins=[PAGE], identify=header_user("X-User"), max_body_bytes=1000)
    prefix = "/v1" if "below" in framework else ""
    async with client(app) as http:
        for method, path, body, headers, status in ANSWERS:
            answer = await http.request(method, prefix + path, json=body, headers={**headers, "origin": PAGE})
            assert (path, answer.status_code) == (path, status)
            assert {name: answer.headers.get_list(name) for name in ALLOWING} == {k: [v] for k, v in ALLOWING.items()}
            assert answer.headers.get_list("vary") == ["Origin"]


@pytest.mark.parametrize(("identify", "status"), [(nobody, 401), (fails, 500)])
@pytest.mark.parametrize("framework", ["Starlette", "FastAPI"])
async def test_what_a_hook_raises_may_be_read(framework: str, identify: Any, status: int) -> None:
    async with client(APPS[framework](allow_origins=[PAGE], identify=identify)) as http:
        for path in ("/api/chats", "/api/chat/c1/stream"):
            answer = await http.get(path, headers={"origin": PAGE})
            assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (status, PAGE)


async def test_a_user_who_asks_too_often_may_read_when_to_try_again() -> None:
    app = Starlette(routes=chat_routes(service(limits=ServiceLimits(max_requests_per_minute=1)), allow_origins=[PAGE]))
    async with client(app) as http:
        for status in (200, 429):
            answer = await http.get("/api/chats", headers={"origin": PAGE})
            assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (status, PAGE)
    assert "retry-after" in answer.headers
    assert "retry-after" in answer.headers["access-control-expose-headers"]


@pytest.mark.parametrize("framework", ["Starlette", "FastAPI"])
@pytest.mark.parametrize("headers", [{}, {"origin": OTHER}, {"origin": "null"}, {"origin": "HTTP://LOCALHOST:3000"}])
async def test_other_pages_are_told_nothing(framework: str, headers: Mapping[str, str]) -> None:
    async with client(APPS[framework](allow_origins=[PAGE])) as http:
        answer = await http.get("/api/chats", headers=headers)
    assert answer.status_code == 200
    assert [name for name in answer.headers if name.startswith("access-control")] == []
    assert answer.headers["vary"] == "Origin"  # a cache must not give this response to an allowed page


async def test_all_pages_may_read_without_cookies_and_those_that_are_named_with_them() -> None:
    async with client(in_starlette(allow_origins=["*", PAGE])) as http:
        named = await http.get("/api/chats", headers={"origin": PAGE})
        other = await http.get("/api/chats", headers={"origin": OTHER})
        asked = await preflight(http, "/api/chat", "POST", OTHER)
    assert {name: named.headers.get(name) for name in ALLOWING} == ALLOWING
    for answer in (other, asked):
        assert answer.headers["access-control-allow-origin"] == "*"
        assert "access-control-allow-credentials" not in answer.headers
    assert asked.status_code == 200


def with_cors_of_its_own(**cors: Any) -> Starlette:
    """Return an app with its own CORS middleware, as apps needed before the routes had ``allow_origins``."""
    middleware = [Middleware(CORSMiddleware, **{"allow_methods": ["*"], "allow_headers": ["*"], **cors})]
    return Starlette(routes=chat_routes(service(), allow_origins=[PAGE]), middleware=middleware)


@pytest.mark.parametrize("cors", [{"allow_origins": [PAGE]}, {"allow_origins": [PAGE], "allow_credentials": True}])
async def test_beside_the_apps_own_middleware_no_header_is_there_twice(cors: Mapping[str, Any]) -> None:
    async with client(with_cors_of_its_own(**cors)) as http:
        assert (await preflight(http, "/api/chat", "POST")).status_code == 200
        answers = [
            await http.post("/api/chat", json=chat(said("hi")), headers={"origin": PAGE}),
            await http.get("/api/chat/none", headers={"origin": PAGE}),
        ]
    for answer in answers:
        assert answer.headers.get_list("access-control-allow-origin") == [PAGE]
        assert answer.headers.get_list("access-control-expose-headers") == [EXPOSED]
        assert len(answer.headers.get_list("vary")) == 1


@pytest.mark.parametrize("origins", [[OTHER], ["*"]])
async def test_the_apps_own_middleware_lets_its_pages_send_no_cookies_unless_it_says_so(origins: list[str]) -> None:
    async with client(with_cors_of_its_own(allow_origins=origins)) as http:
        answer = await http.get("/api/chats", headers={"origin": OTHER})
    assert answer.headers.get_list("access-control-allow-origin") == (origins)
    assert "access-control-allow-credentials" not in answer.headers


def with_cors_alone(kind: str, **cors: Any) -> Starlette:
    """Return an app that names the pages only in its ``CORSMiddleware``."""
    app = FastAPI()
    app.add_middleware(CORSMiddleware, **{"allow_methods": ["*"], "allow_headers": ["*"], **cors})
    if kind == "chat_router":
        app.include_router(chat_router(service()))
    else:
        endpoints = ChatEndpoints(service())

        async def respond(request: Request) -> Response:
            return await endpoints.respond(request, user_id="ann")

        app.router.routes.append(Route("/api/chat", respond, methods=["POST"]))
    return app


FOREIGN: Final = {"origin": OTHER, "sec-fetch-site": "cross-site"}
COOKIE: Final = {"cookie": "session=1"}


@pytest.mark.parametrize("kind", ["chat_router", "ChatEndpoints"])
@pytest.mark.parametrize(
    ("cors", "status", "with_cookie"),
    [
        ({"allow_origins": [OTHER]}, 200, 403),
        ({"allow_origins": [OTHER], "allow_credentials": True}, 200, 200),
        ({"allow_origin_regex": r"https://\w+\.example", "allow_credentials": True}, 200, 200),
        ({"allow_origins": ["*"]}, 200, 403),
        ({"allow_origins": ["*"], "allow_credentials": True}, 200, 403),
        ({"allow_origins": ["*", OTHER], "allow_credentials": True}, 200, 200),
        ({"allow_origins": [OTHER], "allow_methods": ["GET"]}, 403, 403),
        ({"allow_origins": [PAGE]}, 403, 403),
    ],
    ids=str,
)
def test_the_apps_own_middleware_is_the_one_place_that_names_a_page(
    kind: str, cors: Mapping[str, Any], status: int, with_cookie: int
) -> None:
    with served(with_cors_alone(kind, **cors)) as url, httpx.Client(base_url=url) as http:
        answers = [
            http.post("/api/chat", json=chat(said("hi"), chat_id=str(n)), headers={**FOREIGN, **more})
            for n, more in enumerate([{}, COOKIE])
        ]
    assert [answer.status_code for answer in answers] == [status, with_cookie]


async def test_an_app_whose_middleware_refuses_a_page_that_the_routes_allow_does_not_start() -> None:
    app = FastAPI()
    app.add_middleware(CORSMiddleware, allow_origins=[OTHER])
    app.include_router(chat_router(service(), allow_origins=[PAGE]))
    with pytest.raises(StreamProtocolError, match="name it in the middleware, and leave `allow_origins` out"):
        async with app.router.lifespan_context(app):
            pass
    both = with_cors_of_its_own(allow_origins=[PAGE])
    async with both.router.lifespan_context(both):
        pass


async def test_another_route_of_the_app_is_not_opened() -> None:
    routes = [*chat_routes(service(), allow_origins=[PAGE]), Route("/own", lambda request: PlainTextResponse("own"))]
    async with client(Starlette(routes=routes)) as http:
        answer = await http.get("/own", headers={"origin": PAGE})
    assert "access-control-allow-origin" not in answer.headers


async def test_in_an_app_of_ours_a_page_reads_that_a_path_is_wrong() -> None:
    async with client(create_app(service(), allow_origins=[PAGE])) as http:
        wrong_path = await http.get("/api/cha", headers={"origin": PAGE})
        wrong_method = await http.put("/api/chat/c1", headers={"origin": PAGE})
    for answer, status in ((wrong_path, 404), (wrong_method, 405)):
        assert (answer.status_code, answer.headers.get_list("access-control-allow-origin")) == (status, [PAGE])
        assert answer.headers.get_list("vary") == ["Origin"]


async def test_a_replay_server_is_open_to_the_same_pages(tmp_path: Path) -> None:
    library = load_library(str(write_recordings(tmp_path, "text")))
    app = create_replay_app(Chats(library, 0.0, 6), allow_origins=[PAGE], page=False)
    async with client(app) as http:
        for method, path in (("POST", "/api/chat"), ("DELETE", "/api/chat/c1"), ("POST", "/__replay/c1/step")):
            assert (await preflight(http, path, method)).status_code == 200
            assert (await preflight(http, path, method, OTHER)).status_code == 400
        answer = await http.get("/api/chat/none", headers={"origin": PAGE})
    assert answer.json() == {"messages": [], "error": "There is no such chat."}
    assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (404, PAGE)
