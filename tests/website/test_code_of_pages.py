"""The code of the pages runs unchanged, in this process: on each Python and each ADK. ``tests/frontends``
runs it as a reader does: behind a server of its own, and with the page in a browser."""

import time
from inspect import signature
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from google.adk.agents import LlmAgent
from google.adk.tools import AgentTool, FunctionTool
from starlette.applications import Starlette

from stream_protocol.agents._for_users import declared_title
from stream_protocol.demo import demo_agent
from stream_protocol.serving import ChatService, chat_router
from stream_protocol.serving.http._routes import chat_routes
from stream_protocol.testing import Call, ScriptedLlm
from tests.documents import block, shown_file
from tests.serving.support import answered, approval, chunks, only, text
from website.pictures import PICTURES

PAGE = "http://localhost:3000"
"""The origin of the quick start's page: the address of an app of Next.js that is being developed."""

BODY = {"id": "c1", "messages": [{"id": "m1", "role": "user", "parts": [{"type": "text", "text": "Hi"}]}]}


KYOTO = {"city": "Kyoto", "nights": 2, "price_eur": 280}
"""The arguments of the call in the picture of an approval."""


def run(code: str) -> dict[str, Any]:
    """The names that the code defines. It is given none: a reader pastes it into a file of its own."""
    scope: dict[str, Any] = {"__name__": __name__}
    exec(compile(code, "page", "exec"), scope)  # the page is ours
    return scope


def scripted_agent() -> LlmAgent:
    return LlmAgent(name="assistant", model=ScriptedLlm(turns=["Hello there."]))


async def ask(app: FastAPI | Starlette) -> str:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://app") as client:
        response = await client.post("/api/chat", json=BODY)
    assert response.status_code == 200
    assert response.headers["x-vercel-ai-ui-message-stream"] == "v1"
    return response.text


async def test_the_app_of_the_front_page_answers() -> None:
    scope = run(block("docs/index.md", "chat_router("))
    scope["root_agent"].model = scripted_agent().model
    assert "Hello" in await ask(scope["app"])


async def test_the_router_answers() -> None:
    scope = run(block("docs/quick-start.md", "chat_router("))
    scope["root_agent"].model = scripted_agent().model
    stream = await ask(scope["app"])
    assert "Hello" in stream
    assert stream.endswith("data: [DONE]\n\n")


async def test_the_router_of_the_page_about_frameworks_answers_below_its_prefix() -> None:
    scope = run(block("docs/mount.md", "/assistant/api/chat"))
    scope["root_agent"].model = scripted_agent().model
    async with httpx.AsyncClient(transport=httpx.ASGITransport(scope["app"]), base_url="http://app") as client:
        response = await client.post("/assistant/api/chat", json=BODY)
    assert "Hello" in response.text


async def test_a_bearer_token_says_who_the_user_is(monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "0123456789abcdef0123456789abcdef"
    monkeypatch.setenv("JWT_SECRET", secret)
    scope = run(block("docs/authentication.md", "jwt.decode("))
    scope["root_agent"].model = scripted_agent().model
    claims = {"sub": "ada", "aud": "chat", "exp": time.time() + 60}

    def token(key: str = secret, algorithm: str = "HS256", **other: Any) -> str:
        encoded: str = scope["jwt"].encode({**claims, **other}, key if algorithm != "none" else None, algorithm)
        return encoded

    without_end = scope["jwt"].encode({"sub": "ada", "aud": "chat"}, secret, "HS256")
    refused = ["", "Basic YTpi", "Bearer", "Bearer x.y.z", f"Bearer {without_end}"]
    forged = [token("x" * 32), token(algorithm="none"), token(exp=1), token(aud="mail"), token(sub="")]
    async with httpx.AsyncClient(transport=httpx.ASGITransport(scope["app"]), base_url="http://app") as client:
        for header in [*refused, *(f"Bearer {each}" for each in forged)]:
            response = await client.post("/api/chat", json=BODY, headers={"authorization": header})
            assert response.status_code == 401, header
        headers = {"authorization": f"bearer {token()}"}
        assert (await client.post("/api/chat", json=BODY, headers=headers)).status_code == 200
        listed = await client.get("/api/chats", headers=headers)
        others = await client.get("/api/chats", headers={"authorization": f"Bearer {token(sub='bob')}"})
    assert [chat["id"] for chat in listed.json()["chats"]] == ["c1"]
    assert others.json()["chats"] == []


async def test_a_session_cookie_says_who_the_user_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SESSION_SECRET", "secret")
    monkeypatch.setenv("ADA_PASSWORD", "correct")
    scope = run(shown_file("examples/session_cookie_app.py"))
    scope["root_agent"].model = scripted_agent().model
    async with httpx.AsyncClient(transport=httpx.ASGITransport(scope["app"]), base_url="https://app") as client:
        assert (await client.get("/api/chats")).status_code == 401
        assert (await client.post("/login", json={"name": "ada", "password": "wrong"})).status_code == 401
        assert (await client.get("/api/chats", headers={"cookie": "session=forged"})).status_code == 401
        signed_in = await client.post("/login", json={"name": "ada", "password": "correct"})
        assert signed_in.status_code == 204
        assert {"secure", "httponly", "samesite=lax"} <= set(signed_in.headers["set-cookie"].split("; "))
        assert (await client.post("/api/chat", json=BODY)).status_code == 200
        assert [chat["id"] for chat in (await client.get("/api/chats")).json()["chats"]] == ["c1"]
        assert (await client.post("/logout")).status_code == 204
        assert (await client.get("/api/chats")).status_code == 401


async def test_a_starlette_app_takes_over_routes_and_lifespan() -> None:
    scope = run(block("docs/mount.md", "page=False"))
    scope["root_agent"].model = scripted_agent().model
    async with scope["app"].router.lifespan_context(scope["app"]):
        assert "Hello" in await ask(scope["app"])
    with pytest.raises(AssertionError):
        await ask(scope["app"])  # 503: the service is closed


async def test_the_page_may_send_whatever_the_routes_take() -> None:
    app = run(block("docs/quick-start.md", "chat_router("))["app"]
    methods = {method for route in chat_routes(ChatService(scripted_agent())) for method in route.methods or ()}
    asked = {"origin": PAGE, "access-control-request-headers": "authorization, content-type"}
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://app") as client:
        for method in {*methods, "PATCH"}:
            allowed = await client.options("/api/chat", headers={**asked, "access-control-request-method": method})
            assert allowed.status_code == 200
            assert allowed.headers["access-control-allow-origin"] == PAGE


CONVERTER = {
    "FastAPI": block("docs/converter.md", "app = FastAPI()"),
    "Starlette": shown_file("examples/converter/starlette_app.py"),
}


@pytest.mark.parametrize("framework", CONVERTER)
async def test_the_converter_alone_answers_in_a_route_of_ones_own(framework: str) -> None:
    scope = run(CONVERTER[framework])
    scope["root_agent"].model = scripted_agent().model
    stream = await ask(scope["app"])
    assert stream.startswith('data: {"type":"start"')
    assert "Hello" in stream
    assert stream.endswith("data: [DONE]\n\n")


def test_the_converter_alone_answers_in_flask() -> None:
    scope = run(shown_file("examples/converter/wsgi_app.py"))
    scope["root_agent"].model = scripted_agent().model
    with scope["app"].test_client() as client:
        response = client.post("/api/chat", json=BODY)
    assert response.headers["x-vercel-ai-ui-message-stream"] == "v1"
    assert "Hello" in response.text
    assert response.text.endswith("data: [DONE]\n\n")


async def test_messages_from_elsewhere_become_a_session() -> None:
    scope = run(block("docs/persistence.md", "messages_to_events(messages"))
    await scope["restore"]("c1", BODY["messages"], scripted_agent())
    session = await scope["sessions"].get_session(app_name="app", user_id="me", session_id="c1")
    assert [event.content.parts[0].text for event in session.events] == ["Hi"]


def test_adk_takes_the_switch_for_streamed_arguments() -> None:
    config = run(block("docs/streamed-arguments.md", "stream_function_call_arguments"))[
        "root_agent"
    ].generate_content_config
    assert config.tool_config.function_calling_config.stream_function_call_arguments is True


async def posted(app: FastAPI | Starlette, body: dict[str, Any]) -> list[dict[str, Any]]:
    """The chunks of the answer."""
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://app") as client:
        return chunks((await client.post("/api/chat", json=body)).text)


def app_of(code: str, *turns: Any) -> FastAPI:
    """An app with the agent of a page, and this model's answer."""
    scope = run(code)
    scope["root_agent"].model = ScriptedLlm(turns=[*turns])
    app = FastAPI()
    app.include_router(chat_router(scope["root_agent"]))
    return app


async def test_the_readmes_app_answers() -> None:
    scope = run(block("README.md", "chat_router("))
    scope["root_agent"].model = scripted_agent().model
    assert "Hello" in await ask(scope["app"])


async def test_the_readmes_tool_waits_for_its_approval() -> None:
    app = app_of(block("README.md", "chat_router("), [Call("book_trip", {"city": "Kyoto", "nights": 2})], ["Booked."])
    asked = await posted(app, BODY)
    ran = await posted(
        app, answered(asked[0]["messageId"], approval(*only(asked, "tool-approval-request"), approved=True))
    )
    assert [chunk["output"] for chunk in only(ran, "tool-output-available")] == [{"reference": "Kyoto-2"}]


async def test_a_tool_waits_for_its_approval() -> None:
    code = block("docs/approvals.md", "tools=[FunctionTool(book_trip, require_confirmation=True)]")
    app = app_of(code, [Call("book_trip", KYOTO)], ["Booked."])
    asked = await posted(app, BODY)
    (request,) = only(asked, "tool-approval-request")
    assert only(asked, "tool-output-available") == []
    ran = await posted(app, answered(asked[0]["messageId"], approval(request, approved=True)))
    assert [chunk["output"] for chunk in only(ran, "tool-output-available")] == [{"reference": "Kyoto-2-280"}]


def test_the_picture_of_an_approval_shows_the_tool_of_its_page() -> None:
    scope = run(block("docs/approvals.md", "tools=[FunctionTool(book_trip, require_confirmation=True)]"))
    own, demo = (named_tool(agent, "book_trip") for agent in (scope["root_agent"], demo_agent()))
    assert scope["root_agent"].name == demo_agent().name
    assert [*signature(own.func).parameters] == [*signature(demo.func).parameters] == [*KYOTO]
    assert declared_title(own) == declared_title(demo)
    assert PICTURES["approval.png"].words == "Book two nights in Kyoto"


def named_tool(agent: LlmAgent, name: str) -> FunctionTool:
    """The tool of an agent with this name."""
    (found,) = [tool for tool in agent.tools if isinstance(tool, FunctionTool) and tool.name == name]
    return found


async def test_a_payload_of_an_approval_is_checked_by_its_tool() -> None:
    tool = run(block("docs/approvals.md", "FREE_SEATS"))["reserve_seat"]
    agent = LlmAgent(name="guide", tools=[tool])
    outputs = []
    for payload in ({"seat": "14C"}, {"seat": "1A"}, ["14C"]):
        agent.model = ScriptedLlm(turns=[Call("reserve_seat", {"city": "Kyoto"}), "Which seat?", "Done."])
        app = FastAPI()
        app.include_router(chat_router(agent))
        asked = await posted(app, BODY)
        (request,) = only(asked, "tool-approval-request")
        (part,) = only(asked, "data-adk-confirmation")
        assert part["data"]["payload"] == {"seat": "12A"}
        answer = answered(asked[0]["messageId"], approval(request, approved=True))
        ran = await posted(app, {**answer, "approvalPayloads": {request["approvalId"]: payload}})
        outputs += [chunk["output"] for chunk in only(ran, "tool-output-available")]
        outputs += [chunk["errorText"] for chunk in only(ran, "tool-output-error")]
    assert outputs == [{"seat": "14C"}, *["This seat is not free."] * 2]


async def test_a_tool_says_why_it_asks() -> None:
    scope = run(block("docs/approvals.md", "approval_reason=why"))
    agent = LlmAgent(
        name="assistant",
        model=ScriptedLlm(turns=[Call("book_trip", KYOTO)]),
        tools=[FunctionTool(scope["book_trip"], require_confirmation=True)],
    )
    app = FastAPI()
    app.include_router(chat_router(agent))
    (part,) = only(await posted(app, BODY), "data-adk-approval")
    assert part["data"]["reason"] == "Charges 280 € to your card."
    assert part["data"]["descriptor"] == {"risk": "high"}


async def test_a_tool_reports_its_progress() -> None:
    app = app_of(block("docs/tool-progress.md", "def index_files"), [Call("index_files", {"folder": "a"})], ["Done."])
    answer = await posted(app, BODY)
    (call,) = only(answer, "tool-input-available")
    last = only(answer, "data-adk-progress")[-1]
    assert last["data"] == {"toolCallId": call["toolCallId"], "progress": 50, "total": 50}


def test_a_toolset_takes_the_progress_of_its_server() -> None:
    """``tests/conformance/test_progress_against_client.py`` runs such a toolset before a server."""
    scope = run(block("docs/tool-progress.md", "progress_callback=mcp_progress"))
    assert scope["root_agent"].tools == [scope["toolset"]]


async def test_a_client_tool_waits_for_the_page() -> None:
    app = app_of(block("docs/client-tools.md", "client_tool("), [Call("locate", {"precise": True})], ["In Oslo."])
    asked = await posted(app, BODY)
    (call,) = only(asked, "tool-input-available")
    part = {"type": "tool-locate", "toolCallId": call["toolCallId"], "state": "output-available", "input": {}}
    told = await posted(app, answered(asked[0]["messageId"], {**part, "output": {"city": "Oslo"}}))
    assert text(told) == "In Oslo."


async def test_a_tool_sends_data_of_its_own() -> None:
    app = app_of(block("docs/data.md", "emit_data("), [Call("get_weather", {"city": "Oslo"})], ["21 °C."])
    (part,) = only(await posted(app, BODY), "data-weather")
    assert (part["id"], part["data"]) == ("Oslo", {"city": "Oslo", "degrees": 21})


@pytest.mark.filterwarnings("ignore:The `plugins` argument is deprecated:DeprecationWarning")  # of ADK's AgentTool
async def test_the_card_of_an_agent_shows_its_work() -> None:
    scope = run(block("docs/sub-agents.md", "def look_up"))
    scope["weather"].model = ScriptedLlm(turns=[Call("look_up", {"city": "Oslo"}), "18 degrees."])
    scope["root_agent"].model = ScriptedLlm(turns=[Call("weather", {"request": "Oslo?"}), "Nice."])
    app = FastAPI()
    app.include_router(chat_router(scope["root_agent"]))
    answer = await posted(app, BODY)
    message = only(answer, "tool-output-available")[-1]["output"]
    assert [part["type"] for part in message["parts"]] == ["step-start", "tool-look_up", "step-start", "text"]
    assert message["metadata"]["result"] == {"result": "18 degrees."}


@pytest.mark.filterwarnings("ignore:The `plugins` argument is deprecated:DeprecationWarning")  # of ADK's AgentTool
async def test_a_route_of_ones_own_shows_the_work_of_an_agent() -> None:
    code = CONVERTER["Starlette"].replace("runner.run_async(", "run_events(runner, ")
    scope = run(f"from stream_protocol.serving import run_events\n{code}")
    weather = LlmAgent(name="weather", model=ScriptedLlm(turns=["18 degrees."]))
    scope["root_agent"].tools = [AgentTool(weather)]
    scope["root_agent"].model = ScriptedLlm(turns=[Call("weather", {"request": "Oslo?"}), "Nice."])
    answer = await posted(scope["app"], BODY)
    message = only(answer, "tool-output-available")[-1]["output"]
    assert [part["type"] for part in message["parts"]] == ["step-start", "text"]
    assert message["metadata"]["result"] == {"result": "18 degrees."}


async def test_chats_in_a_file_outlive_their_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        scope = run(block("docs/persistence.md", "SqliteSessionService"))
        scope["root_agent"].model = scripted_agent().model
        async with httpx.AsyncClient(transport=httpx.ASGITransport(scope["app"]), base_url="http://app") as client:
            if not (tmp_path / "chat.db").exists():
                await client.post("/api/chat", json=BODY)
            stored = (await client.get("/api/chat/c1")).json()["messages"]
    assert [message["role"] for message in stored] == ["user", "assistant"]


async def test_the_server_of_the_skill_asks_before_it_pays_and_keeps_its_chats(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    scope = run(block("skills/adk-ui-stream/SKILL.md", "chat_router("))
    scope["root_agent"].model = run(block("skills/adk-ui-stream/SKILL.md", "ScriptedLlm("))["model"]
    asked = await posted(scope["app"], BODY)
    (request,) = only(asked, "tool-approval-request")
    ran = await posted(scope["app"], answered(asked[0]["messageId"], approval(request, approved=True)))
    assert text(ran) == "Paid."
    assert (tmp_path / "chat.db").exists()
