"""``chat_router`` in FastAPI apps, and the end of runs when an app's own server is stopped."""

import asyncio
import signal
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import httpx
import pytest
from fastapi import BackgroundTasks, Depends, FastAPI, HTTPException, Request, Response
from google.adk.agents import LlmAgent
from google.adk.sessions.sqlite_session_service import SqliteSessionService

from stream_protocol import StreamProtocolConverter
from stream_protocol.server import bind_socket
from stream_protocol.serving import ChatService, chat_router
from stream_protocol.testing import ScriptedLlm
from tests.processes import HANG, PythonModule, started
from tests.serving.support import chat, client, said

APP: Final = """
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncio
from fastapi import FastAPI
from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.genai import types
from starlette.applications import Starlette

from stream_protocol.serving import ChatService, chat_router, create_app


class Endless(BaseLlm):
    async def generate_content_async(self, llm_request, stream=False):
        part = types.Part(text="The beginning. ")
        yield LlmResponse(content=types.Content(role="model", parts=[part]), partial=True)
        await asyncio.Event().wait()


@asynccontextmanager
async def lifespan(app) -> AsyncIterator[None]:
    print("opened", flush=True)
    yield
    print("closed", flush=True)


agent = LlmAgent(name="assistant", model=Endless(model="endless"))
service = ChatService(agent, session_service=SqliteSessionService("chats.db"))
"""

FORMS: Final = {
    "FastAPI": """
app = FastAPI(lifespan=lifespan)
app.include_router(chat_router(service))
""",
    "Starlette": """
chat = create_app(service, page=False)


@asynccontextmanager
async def both(app):
    async with lifespan(app), chat.router.lifespan_context(app):
        yield


app = Starlette(routes=[*chat.routes], lifespan=both)
""",
    "create_app": """
print("opened", flush=True)
app = create_app(service)
""",
}


@contextmanager
def uvicorn_of(code: str, folder: Path) -> Iterator[tuple[PythonModule, str]]:
    """Start uvicorn by its command, and yield its address. uvicorn waits for open streams without a limit."""
    (folder / "main.py").write_text(code, encoding="utf-8")
    with bind_socket("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
    options = ("main:app", "--port", str(port), "--log-level", "warning")
    with started("uvicorn", *options, cwd=folder) as server:
        assert server.read_line() == "opened\n"
        url = f"http://127.0.0.1:{port}"
        transport = httpx.HTTPTransport(retries=10)
        with httpx.Client(transport=transport, timeout=HANG) as http:
            assert http.get(f"{url}/healthz").status_code == 200
        yield server, url


async def stored_text() -> str:
    service = ChatService(LlmAgent(name="assistant", model="none"), session_service=SqliteSessionService("chats.db"))
    messages = await service.history("c1", user_id="local")
    await service.aclose()
    assert messages is not None
    return "".join(part["text"] for part in messages[-1]["parts"] if part["type"] == "text")  # type: ignore[typeddict-item]  # of a text part


@pytest.mark.processes
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("reader", ["has left", "reads on"])
def test_a_server_that_is_told_to_end_stops_its_runs_and_stores_them(
    form: str, reader: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with uvicorn_of(APP + FORMS[form], tmp_path) as (server, url), httpx.Client(base_url=url, timeout=HANG) as http:
        with http.stream("POST", "/api/chat", json=chat(said("hi"))) as response:
            lines = response.iter_lines()
            assert any("The beginning." in line for line in lines)
            if reader == "reads on":
                server.send_signal(signal.SIGTERM)
                assert '"abort"' in "".join(lines)
                server.wait()
        if reader == "has left":
            server.send_signal(signal.SIGTERM)
            server.wait()
        assert server.read() == ("" if form == "create_app" else "closed\n")
    assert asyncio.run(stored_text()) == "The beginning. "


@pytest.mark.processes
@pytest.mark.parametrize(
    ("code", "warns"),
    [
        ("app = Starlette(routes=[Mount('/', create_app(agent))])", True),
        ("app = Starlette(routes=[*create_app(agent).routes])", True),
        ("app, inner = FastAPI(), FastAPI()\ninner.include_router(chat_router(agent))\napp.mount('/', inner)", True),
        (
            "one = create_app(agent)\napp = Starlette(routes=[Mount('/', one)], lifespan=one.router.lifespan_context)",
            False,
        ),
    ],
)
def test_a_mounted_app_whose_lifespan_does_not_run_is_a_warning(code: str, warns: bool, tmp_path: Path) -> None:
    mount = "from starlette.routing import Mount\nprint('opened', flush=True)\n"
    with uvicorn_of(APP + mount + code, tmp_path) as (server, url):
        for _ in range(2):
            assert httpx.get(f"{url}/api/chats", timeout=HANG).status_code == 200
        server.send_signal(signal.SIGTERM)
        server.wait()
        assert server.log.read_text().count("Nothing closes the chat service when the server shuts down") == warns


def app_with(**included: object) -> tuple[FastAPI, ChatService]:
    service = ChatService(LlmAgent(name="root", model=ScriptedLlm(respond=lambda request: ["Hello."])))
    app = FastAPI()
    app.include_router(chat_router(service, allow_origins=["https://page.example"]), **included)  # type: ignore[arg-type]
    return app, service


async def test_the_router_starts_and_closes_its_service_with_the_app() -> None:
    app, service = app_with()
    async with client(app) as http:
        async with app.router.lifespan_context(app):
            assert (await http.get("/readyz")).status_code == 200
            assert (await http.post("/api/chat", json=chat(said("hi")))).status_code == 200
        assert not service.accepts_runs
        assert (await http.get("/readyz")).status_code == 503


def signed_in(request: Request) -> None:
    if "x-user" not in request.headers:
        raise HTTPException(401, "Sign in first.")


async def test_dependencies_of_the_router_are_asked_before_each_route_but_not_for_a_preflight() -> None:
    app, _ = app_with(prefix="/v1", dependencies=[Depends(signed_in)])
    async with client(app) as http:
        assert (await http.get("/v1/api/chats")).status_code == 401
        assert (await http.post("/v1/api/chat", json=chat(said("hi")))).status_code == 401
        assert (await http.get("/v1/api/chat/c1", headers={"x-user": "ann"})).status_code == 404  # nothing was stored
        answer = await http.post("/v1/api/chat", json=chat(said("hi")), headers={"x-user": "ann"})
        assert (answer.status_code, "Hello." in answer.text) == (200, True)
        asked = {"origin": "https://page.example", "access-control-request-method": "POST"}
        assert (await http.options("/v1/api/chat", headers=asked)).status_code == 200


async def test_what_a_dependency_leaves_for_later_is_done_after_the_response() -> None:
    done: list[str] = []

    async def with_cleanup() -> AsyncIterator[None]:
        yield
        done.append("closed")

    async def look(response: Response) -> None:
        response.headers["x-own"] = "1"

    async def later(tasks: BackgroundTasks) -> None:
        tasks.add_task(done.append, "told")

    app, _ = app_with(dependencies=[Depends(with_cleanup), Depends(look), Depends(later)])
    async with client(app) as http:
        answer = await http.post("/api/chat", json=chat(said("hi")))
    assert "Hello." in answer.text
    assert done == ["told", "closed"]


def test_the_routes_are_not_in_the_apps_schema() -> None:
    app, _ = app_with()
    assert app.openapi()["paths"] == {}


@pytest.mark.parametrize(
    ("function", "options", "hint"),
    [
        (chat_router, {"allow_origin": ["*"]}, "'allow_origin'. Did you mean 'allow_origins'?"),
        (chat_router, {"colour": "red"}, "'colour'."),
        (ChatService, {"sesion_service": None}, "'sesion_service'. Did you mean 'session_service'?"),
        (ChatService, {"hide_tools": (), "zzz": 1}, "'hide_tools', 'zzz'. Did you mean 'hidden_tools'?"),
        (
            lambda _agent, **options: StreamProtocolConverter(**options),
            {"on_eror": str},
            "'on_eror'. Did you mean 'on_error'?",
        ),
    ],
)
def test_an_unknown_option_is_refused_with_the_most_similar_option(
    function: Callable[..., object], options: Mapping[str, object], hint: str
) -> None:
    with pytest.raises(TypeError) as error:
        function(LlmAgent(name="mine"), **options)
    assert str(error.value) == f"There is no option {hint}"
