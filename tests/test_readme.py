"""The README's code is run as it stands there, in this process: on each Python and each ADK. ``tests/frontends`` runs
it as a reader does: behind a server of its own, and with the page in a browser."""

from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from google.adk.agents import LlmAgent
from starlette.applications import Starlette
from starlette.routing import Route

from stream_protocol.serving import chat_routes
from stream_protocol.testing import ScriptedLlm
from tests.documents import block

PAGE = "http://localhost:3000"
"""The origin of the README's page: the address of an app of Next.js that is being developed."""

BODY = {"id": "c1", "messages": [{"id": "m1", "role": "user", "parts": [{"type": "text", "text": "Hi"}]}]}


def run(code: str) -> dict[str, Any]:
    """The names that the code defines. It is given none: a reader pastes it into a file of its own."""
    scope: dict[str, Any] = {"__name__": __name__}
    exec(compile(code, "README.md", "exec"), scope)  # the README is ours
    return scope


def scripted_agent() -> LlmAgent:
    return LlmAgent(name="assistant", model=ScriptedLlm(turns=["Hello there."]))


async def ask(app: FastAPI | Starlette) -> str:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://app") as client:
        response = await client.post("/api/chat", json=BODY)
    assert response.status_code == 200
    assert response.headers["x-vercel-ai-ui-message-stream"] == "v1"
    return response.text


@pytest.mark.parametrize(
    ("imported", "made"),
    [("from fastapi import FastAPI", "FastAPI()"), ("from starlette.applications import Starlette", "Starlette()")],
)
async def test_the_routes_answer_in_an_app_of_either_kind(imported: str, made: str) -> None:
    code = (
        block("README.md", "chat_routes(").replace("from fastapi import FastAPI", imported).replace("FastAPI()", made)
    )
    scope = run(code)
    scope["root_agent"].model = scripted_agent().model
    stream = await ask(scope["app"])
    assert "Hello" in stream
    assert stream.endswith("data: [DONE]\n\n")


async def test_the_page_may_send_whatever_the_routes_take() -> None:
    app = run(block("README.md", "chat_routes("))["app"]
    methods = {
        method for route in chat_routes(scripted_agent()) if isinstance(route, Route) for method in route.methods or ()
    }
    asked = {"origin": PAGE, "access-control-request-headers": "authorization, content-type"}
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://app") as client:
        for method in {*methods, "PATCH"}:
            allowed = await client.options("/api/chat", headers={**asked, "access-control-request-method": method})
            assert allowed.status_code == 200
            assert allowed.headers["access-control-allow-origin"] == PAGE


async def test_a_path_operation_answers_whom_a_dependency_names() -> None:
    scope = run(block("README.md", "ChatEndpoints("))
    scope["root_agent"].model = ScriptedLlm(respond=lambda request: [str(request.config.system_instruction)])
    headers = {"x-user": "ann"}
    async with httpx.AsyncClient(transport=httpx.ASGITransport(scope["app"]), base_url="http://app") as client:
        assert "Danish" in (await client.post("/api/chat", json=BODY, headers=headers)).text
        assert len((await client.get("/api/chat/c1", headers=headers)).json()["messages"]) == 2


async def test_the_converter_alone_answers_in_a_route_of_ones_own() -> None:
    scope = run(block("README.md", "stream_sse(events)"))
    scope["root_agent"].model = scripted_agent().model
    stream = await ask(scope["app"])
    assert stream.startswith('data: {"type":"start"')
    assert "Hello" in stream
    assert stream.endswith("data: [DONE]\n\n")


async def test_messages_from_elsewhere_become_a_session() -> None:
    scope = run(block("README.md", "messages_to_events(messages"))
    await scope["restore"]("c1", BODY["messages"], scripted_agent())
    session = await scope["sessions"].get_session(app_name="app", user_id="me", session_id="c1")
    assert [event.content.parts[0].text for event in session.events] == ["Hi"]


def test_adk_takes_the_switch_for_streamed_arguments() -> None:
    config = run(block("README.md", "stream_function_call_arguments"))["root_agent"].generate_content_config
    assert config.tool_config.function_calling_config.stream_function_call_arguments is True


def test_the_flask_app_answers() -> None:
    scope = run(block("README.md", "SyncChatService("))
    scope["root_agent"].model = scripted_agent().model
    with scope["flask_app"].test_client() as client:
        response = client.post("/api/chat", json=BODY)
        assert response.status_code == 200
        assert response.text.endswith("data: [DONE]\n\n")
        assert client.post("/api/chat", json={"id": "c1"}).status_code == 422
    scope["service"].close()
