"""The page's context that comes with a steering message. It replaces the context for the rest of the turn."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig
from google.adk.tools import AgentTool
from google.genai import types

from stream_protocol.recording import FileRecorder
from stream_protocol.serving import AuditRecord, PageContext, SharedState
from stream_protocol.testing import Call, ScriptedLlm, Wait
from tests.serving.steering import SteeredApp, rest
from tests.serving.support import HANG, begin, chat, client, said, soon, stream
from tests.serving.test_page_context import nested

pytestmark = pytest.mark.usefixtures("patient_clock")

SCREEN = PageContext({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]})

ORDERS, CART, BANK = ({"path": path} for path in ("/orders", "/cart", "/bank"))


def prompts(model: Any) -> list[list[str]]:
    """Return the texts of each prompt, with a path in place of a context."""
    return [
        [json.loads(text.partition("\n")[2])["path"] if text.startswith("Context from") else text for text in texts]
        for texts in model.read
    ]


async def steer(app: SteeredApp, text: str, message_id: str = "s1", **values: Any) -> Any:
    async with client(app.app) as http:
        return await http.post("/api/chat/c1/steer", json={**said(text, message_id), **values})


async def test_the_context_of_a_steering_message_replaces_that_of_the_turn() -> None:
    app = SteeredApp(Call("dig", {}), Call("dig", {}), "Dug two.", "On.", context=SCREEN)
    async with begin(app.app, chat(said("Dig."), context=ORDERS)) as answer:
        await answer.status()
        await soon(app.digging)
        assert (await steer(app, "Here, too.", context=CART)).json()["type"] == "delivered"
        app.may_end.set()
        await rest(answer)
    await stream(app.app, chat(said("Go on.", "u2")))
    dug = ["Dig.", "call dig", "result dig", "Here, too.", "call dig", "result dig", "Dug two."]
    assert prompts(app.model) == [
        ["/orders", "Dig."],
        ["/cart", *dug[:4]],
        ["/cart", *dug[:6]],
        [*dug, "Go on."],
    ]


@pytest.mark.parametrize(("first", "second"), [(None, CART), (ORDERS, None)])
async def test_a_request_without_a_context_changes_nothing(first: Any, second: Any) -> None:
    app = SteeredApp(Call("dig", {}), "Dug.", context=SCREEN)
    async with begin(app.app, chat(said("Dig."), context=first)) as answer:
        await answer.status()
        await soon(app.digging)
        await steer(app, "Here, too.", context=second)
        app.may_end.set()
        await rest(answer)
    expected = (second or first or {})["path"]
    assert prompts(app.model)[1] == [expected, "Dig.", "call dig", "result dig", "Here, too."]


async def test_the_newest_of_several_contexts_counts_and_the_apps_own_stays() -> None:
    own = types.Content(role="user", parts=[types.Part(text="own")])
    app = SteeredApp(
        Call("dig", {}), "Dug.", context=SCREEN, run_config=RunConfig(model_input_context=[own]), on_busy="steer"
    )
    async with begin(app.app, chat(said("Dig."), context=ORDERS)) as answer:
        await answer.status()
        await soon(app.digging)
        await steer(app, "Here.", context=CART)
        second = asyncio.create_task(stream(app.app, chat(said("Dig."), said("There.", "s2"), context=BANK)))
        await app.accepted(2)
        await steer(app, "Anywhere.", "s3")
        app.may_end.set()
        await rest(answer)
        await asyncio.wait_for(second, HANG)
    assert prompts(app.model)[1][:3] == ["own", "/bank", "Dig."]
    assert prompts(app.model)[1][-3:] == ["Here.", "There.", "Anywhere."]


async def test_a_text_of_the_user_that_looks_like_the_context_stays() -> None:
    copied: list[str] = []

    async def run(text: str) -> SteeredApp:
        app = SteeredApp(Call("dig", {}), "Dug.", context=SCREEN)
        async with begin(app.app, chat(said(text), context=ORDERS)) as answer:
            await answer.status()
            await soon(app.digging)
            await steer(app, text, context=CART)
            app.may_end.set()
            await rest(answer)
        return app

    copied.append((await run("Dig.")).model.read[0][0])
    hostile = await run(copied[0])
    assert prompts(hostile.model)[1] == ["/cart", "/orders", "call dig", "result dig", "/orders"]
    assert hostile.model.read[1][-1] == copied[0]


@pytest.mark.filterwarnings("ignore:The `plugins` argument is deprecated")  # ADK's own
async def test_the_agent_in_a_tool_gets_it_too() -> None:
    inner = ScriptedLlm(turns=["Found."])
    app = SteeredApp(Call("dig", {}), Call("inner", {"request": "search"}), "Done.", context=SCREEN)
    app.agent.tools.append(AgentTool(LlmAgent(name="inner", model=inner)))
    async with begin(app.app, chat(said("Dig."), context=ORDERS)) as answer:
        await answer.status()
        await soon(app.digging)
        await steer(app, "Here, too.", context=CART)
        app.may_end.set()
        await rest(answer)
    (request,) = inner.requests
    assert "/cart" in str(request.contents) and "/orders" not in str(request.contents)  # noqa: PT018 - one fact


async def test_a_late_message_begins_its_turn_with_its_context() -> None:
    may_end = asyncio.Event()
    app = SteeredApp(["One ", Wait(may_end), "two."], "Stopped.", context=SCREEN)
    async with begin(app.app, chat(said("Count."), context=ORDERS)) as answer:
        await answer.status()
        await answer.until("text-delta")
        await steer(app, "Stop at one.", context=CART)
        await steer(app, "Or at two.", "s2", context=BANK)
        may_end.set()
        await rest(answer)
    await app.service.drain()
    assert prompts(app.model)[1] == ["Count.", "One two.", "/bank", "Stop at one.", "Or at two."]


@pytest.mark.parametrize(
    ("values", "status"),
    [
        ({"context": {"path": 1}}, 422),
        ({"context": []}, 422),
        ({"context": {"path": "/" * 20_000}}, 413),
        ({"context": {"path": "/", "more": nested(40)}}, 422),
        ({"state": {"role": "admin"}}, 422),
        ({"state": {"theme": "blue"}}, 422),
        ({"state": {"theme": None}}, 422),
        ({"state": {"user:theme": "dark"}}, 422),
        ({"state": {"_adk_ui_stream:title": "dark"}}, 422),
        ({"state": {"theme": "x" * 70_000}}, 413),
        ({"state": {"theme": nested(40)}}, 422),
        ({"state": []}, 422),
    ],
)
async def test_wrong_values_are_refused_and_nothing_is_stored(values: Any, status: int) -> None:
    records: list[AuditRecord] = []
    shared = SharedState(write={"theme": {"enum": ["light", "dark"]}})
    app = SteeredApp(Call("dig", {}), "Dug.", context=SCREEN, shared_state=shared, on_audit=records.append)
    async with begin(app.app, chat(said("Dig."))) as answer:
        await answer.status()
        await soon(app.digging)
        assert (await steer(app, "Here.", **values)).status_code == status
        app.may_end.set()
        await rest(answer)
    await app.service.aclose()
    assert prompts(app.model)[1] == ["Dig.", "call dig", "result dig"]
    assert [(record.action, record.status) for record in records] == [(next(iter(values)), status)]


async def test_it_is_audited_and_recorded_and_no_part_of_the_chat(tmp_path: Path) -> None:
    records: list[AuditRecord] = []
    app = SteeredApp(
        Call("dig", {}), "Dug.", context=SCREEN, on_audit=records.append, recorder=FileRecorder(tmp_path / "run.jsonl")
    )
    async with begin(app.app, chat(said("Dig."))) as answer:
        await answer.status()
        await soon(app.digging)
        await steer(app, "Here.", context=CART)
        app.may_end.set()
        shown = await rest(answer)
    await app.service.aclose()
    assert [(record.action, record.outcome) for record in records] == [("context", "accepted")]
    assert '"/cart"' in (tmp_path / "run.jsonl").read_text()
    assert "/cart" not in str([shown, await app.history()])


async def test_state_that_comes_by_the_route_is_taken_at_the_next_step() -> None:
    shared = SharedState(write={"theme": {"enum": ["light", "dark"]}})
    app = SteeredApp(Call("dig", {}), "Dug.", shared_state=shared)
    async with begin(app.app, chat(said("Dig."))) as answer:
        await answer.status()
        await soon(app.digging)
        await steer(app, "In the dark.", state={"theme": "dark"})
        app.may_end.set()
        await rest(answer)
    service = app.service.runner.session_service
    session = await service.get_session(app_name="root", user_id="local", session_id="c1")
    assert session is not None
    assert session.state["theme"] == "dark"
