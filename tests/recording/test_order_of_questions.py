"""Questions and results keep the order in which the client received them, in each way to read a chat."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import pytest
from google.adk.agents import BaseAgent, LlmAgent, ParallelAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.auth.auth_schemes import AuthScheme
from google.adk.auth.auth_tool import AuthConfig
from google.adk.events import Event, EventActions
from google.adk.runners import Runner
from google.adk.sessions import BaseSessionService, DatabaseSessionService, InMemorySessionService, Session
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.adk.tools.tool_confirmation import ToolConfirmation
from google.adk.tools.tool_context import ToolContext
from google.genai import types
from pydantic import TypeAdapter

from stream_protocol import iter_chunks
from stream_protocol.check import check_file
from stream_protocol.recording import ChatRecorder, load_recording, record, replay, replay_messages
from stream_protocol.serving import ChatService, create_app
from stream_protocol.testing import Call, ScriptedLlm, StreamMatcher
from stream_protocol.wire import SSE_DONE, encode_sse
from stream_protocol.wire.client import parse_sse
from tests.batch import batch
from tests.comparable_messages import comparable
from tests.properties.conversations import OWN_IDS, with_ids
from tests.readings import STORES, WRITERS
from tests.recording.recordings import drained, source, turns as written_turns
from tests.serving.chat_client import Page
from tests.stream_order import outcomes

pytestmark = [
    pytest.mark.filterwarnings("ignore:.EXPERIMENTAL.:UserWarning"),
    pytest.mark.filterwarnings("ignore:ParallelAgent is deprecated:DeprecationWarning"),
]

_SCHEME: AuthScheme = TypeAdapter(AuthScheme).validate_python({"type": "apiKey", "in": "header", "name": "x-key"})
CONFIG: Final = AuthConfig(auth_scheme=_SCHEME, credential_key="k")


def pay(amount: int) -> dict[str, int]:
    """Pays."""
    return {"paid": amount}


def look(city: str) -> dict[str, str]:
    """Looks."""
    return {"city": city}


async def dig(depth: int) -> dict[str, int]:
    """Takes a few turns of the loop."""
    for _ in range(5):
        await asyncio.sleep(0)
    return {"depth": depth}


def explode() -> None:
    """Raises."""
    raise RuntimeError("no luck")


def where(question: str) -> None:
    """Only the page knows."""


async def pay_if_small(amount: int, tool_context: ToolContext) -> dict[str, Any]:
    """Asks by itself."""
    if tool_context.tool_confirmation is None:
        tool_context.request_confirmation(hint="Pay?")
        return {"status": "asked"}
    return {"confirmed": tool_context.tool_confirmation.confirmed}


async def calendar(tool_context: ToolContext) -> dict[str, Any]:
    """Needs a key."""
    if tool_context.get_auth_response(CONFIG) is None:
        tool_context.request_credential(CONFIG)
        return {"status": "asked"}
    return {"entries": 3}


LOOK, LOOK_2 = Call("look", {"city": "Oslo"}), Call("look", {"city": "Rome"})
PAY, PAY_2 = Call("pay", {"amount": 1}), Call("pay", {"amount": 2})
DIG, WHERE, SMALL = Call("dig", {"depth": 1}), Call("where", {"question": "?"}), Call("pay_if_small", {"amount": 3})
KEY = Call("calendar")

MIXES: Final[dict[str, list[Any]]] = {
    "one plain and one that asks": [[LOOK, PAY]],
    "one that asks and one plain": [[PAY, LOOK]],
    "two of each": [[LOOK, LOOK_2, PAY, PAY_2]],
    "two of each, alternating": [[PAY, LOOK, PAY_2, LOOK_2]],
    "only calls that ask": [[PAY, PAY_2]],
    "one that asks": [[PAY]],
    "an async one": [[PAY, DIG, LOOK]],
    "one that fails": [[Call("explode"), PAY]],
    "one of the page and one plain": [[WHERE, LOOK]],
    "one of the page, one plain, one that asks": [[WHERE, LOOK, PAY]],
    "one of the page and one that asks": [[PAY, WHERE]],
    "one that asks by itself": [[SMALL]],
    "one that asks by itself, and one plain": [[LOOK, SMALL]],
    "both kinds of questions": [[SMALL, PAY]],
    "a credential": [[KEY]],
    "a credential, and one plain": [[LOOK, KEY]],
    "a credential, and an approval": [[KEY, PAY]],
    "a credential, an approval, and one plain": [[PAY, KEY, LOOK]],
    "a credential, an approval, one of the page, and one plain": [[WHERE, PAY, LOOK, KEY]],
    "again after an approval": [[LOOK, PAY], [PAY_2, LOOK_2], [PAY, PAY_2]],
    "again after an approval, with a credential": [[PAY], [KEY, LOOK, PAY_2], [LOOK, PAY]],
    "text before it": [["Let me see. ", LOOK, PAY], ["And ", PAY_2]],
}


def agent(name: str, script: list[Any]) -> LlmAgent:
    tools: list[Any] = [
        FunctionTool(pay, require_confirmation=True),
        LongRunningFunctionTool(where),
        *(look, dig, explode, pay_if_small, calendar),
    ]
    left = iter(script)
    return LlmAgent(name=name, model=ScriptedLlm(respond=lambda _request: next(left, "Done.")), tools=tools)


class AnsweringPage(Page):
    """A client that answers all questions."""

    history: Sequence[Any] = ()
    """The stored messages of the chat at the end."""

    async def converse(self, *, approves: bool = True) -> None:
        """Send a message, and answer all calls."""
        await self.send("go")
        while waiting := [*self.parts("approval-requested"), *self.parts("input-available")]:
            for part in waiting:
                match part["type"]:
                    case "tool-where":
                        self.answer("where", "here")
                    case "tool-adk_request_credential":
                        self.answer("adk_request_credential", {"apiKey": "hunter2"})
                    case _ if part["state"] == "approval-requested":
                        self.approve(approves, None if approves else "Too much.")
            await self.submit()


async def conversation(
    root: BaseAgent, folder: Path, service: BaseSessionService, mode: StreamingMode, *, approves: bool = True
) -> tuple[AnsweringPage, Session]:
    """Run a chat with this agent, recorded in the folder ``runs``."""
    runner = Runner(app_name="app", agent=root, session_service=service)
    recorder = ChatRecorder(folder / "runs")
    chats = ChatService(runner, recorder=recorder, run_config=RunConfig(streaming_mode=mode))
    page = AnsweringPage(create_app(chats))
    await page.converse(approves=approves)
    session = await service.get_session(app_name="app", user_id="local", session_id=page.chat_id)
    assert session is not None
    page.history = await page.stored()
    assert comparable(page.history) == comparable(page.messages)
    await chats.aclose()
    return page, session


def responses(path: Path, session: str | None = None) -> list[list[Any]]:
    """Return the chunks of each turn of a replay."""
    stream = b"".join(replay(load_recording(path, session=session)))
    return [[*parse_sse(one)] for one in stream.split(SSE_DONE)[:-1]]


@asynccontextmanager
async def service_of(store: str, folder: Path) -> AsyncIterator[BaseSessionService]:
    service = STORES[store](folder / "chat.db") if store in STORES else InMemorySessionService()
    yield service
    if isinstance(service, DatabaseSessionService):
        await service.close()


@pytest.mark.parametrize(
    ("store", "mode"),
    [
        ("memory", StreamingMode.NONE),
        pytest.param("sqlite", StreamingMode.SSE, marks=pytest.mark.samples),
        pytest.param("memory", StreamingMode.SSE, marks=pytest.mark.samples),
        pytest.param("sqlalchemy", StreamingMode.NONE, marks=pytest.mark.samples),
    ],
)
@batch(mix=MIXES)
async def test_every_reading_has_the_order_of_the_live_stream(
    mix: list[Any], store: str, mode: StreamingMode, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("mix")
    async with service_of(store, folder) as service:
        page, session = await conversation(agent("root", mix), folder, service, mode)
    (recorded,) = (folder / "runs").iterdir()
    assert [turn.chunks for turn in written_turns(recorded)] == page.responses
    assert responses(recorded) == page.responses
    assert replay_messages(load_recording(recorded).stream_turns()) == page.history
    said = [*map(outcomes, page.responses)]
    for form, write in WRITERS.items():
        write(session, folder / form)
        assert [*map(outcomes, responses(folder / form))] == said, form
    if store in STORES:
        assert [*map(outcomes, responses(folder / "chat.db"))] == said
        assert list(check_file(folder / "chat.db")) == []


@batch(approves=[True, False], mix=["two of each, alternating", "again after an approval", "both kinds of questions"])
async def test_an_answer_changes_no_order(approves: bool, mix: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("mix")
    root = agent("root", MIXES[mix])
    page, session = await conversation(root, folder, InMemorySessionService(), StreamingMode.SSE, approves=approves)
    (recorded,) = (folder / "runs").iterdir()
    assert responses(recorded) == page.responses
    assert replay_messages(load_recording(recorded).stream_turns()) == page.history
    assert ("Too much." in json.dumps(page.history)) is not approves
    WRITERS["dump"](session, folder / "dump")
    assert [*map(outcomes, responses(folder / "dump"))] == [*map(outcomes, page.responses)]


@pytest.mark.parametrize("store", ["memory", *STORES])
async def test_agents_in_parallel_keep_their_own_order(store: str, tmp_path: Path) -> None:
    names = ("left", "middle", "right")
    scripts = [[[LOOK, PAY]], [[DIG, PAY_2, LOOK_2]], [[PAY, PAY_2]]]
    own = [agent(name, with_ids(script, name + OWN_IDS)) for name, script in zip(names, scripts, strict=True)]
    root = ParallelAgent(name="together", sub_agents=[*own])
    async with service_of(store, tmp_path) as service:
        page, session = await conversation(root, tmp_path, service, StreamingMode.NONE)
    (recorded,) = (tmp_path / "runs").iterdir()
    assert responses(recorded) == page.responses
    WRITERS["lines"](session, tmp_path / "lines")
    live = outcomes(chunk for response in page.responses for chunk in response)
    for file in ("lines", *(["chat.db"] if store in STORES else [])):
        replayed = outcomes(chunk for response in responses(tmp_path / file) for chunk in response)
        assert replayed != []
        for name in names:
            mine, its = ([one for one in said if one[1].startswith(name)] for said in (live, replayed))
            assert its == mine


def tells(*parts: types.Part, **fields: Any) -> Event:
    return Event(author="root", invocation_id="e-1", content=types.Content(parts=[*parts]), **fields)


def response(call_id: str) -> types.Part:
    return types.Part(function_response=types.FunctionResponse(id=call_id, name="pay", response={}))


def asks(*call_ids: str) -> Event:
    args = [
        {"originalFunctionCall": {"id": one, "name": "pay", "args": {}}, "toolConfirmation": {}} for one in call_ids
    ]
    own = [
        types.FunctionCall(id=f"q-{one}", name="adk_request_confirmation", args=its)
        for one, its in zip(call_ids, args, strict=True)
    ]
    return tells(
        *(types.Part(function_call=call) for call in own), long_running_tool_ids={f"q-{one}" for one in call_ids}
    )


CALLS: Final = tells(*(types.Part(function_call=types.FunctionCall(id=one, name="pay", args={})) for one in "ab"))
WAITS: Final = EventActions(requested_tool_confirmations={one: ToolConfirmation() for one in "ab"})
SAYS: Final = tells(types.Part(text="Sure?"))
"""A text of an agent. The events below have orders that ADK does not produce."""


@batch(
    events=[
        [CALLS, tells(response("a"), response("b"), actions=WAITS), asks("a", "b")],
        [CALLS, asks("a", "b"), tells(response("a"), response("b"), actions=WAITS)],
        [CALLS, asks("a"), tells(response("a"), response("b"), actions=WAITS), asks("b")],
        [CALLS, tells(response("a"), response("b"), actions=WAITS), SAYS, asks("a", "b")],
    ]
)
async def test_a_recording_of_runs_replays_in_the_order_in_which_it_was_recorded(
    events: list[Event], tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.mktemp("recorded") / "file"
    await drained(record(source(events), file))
    assert b"".join(replay(load_recording(file))) == b"".join([*map(encode_sse, iter_chunks(events)), SSE_DONE])


@batch(mix=MIXES)
async def test_an_agent_that_has_not_changed_passes_the_test_against_its_recording(
    mix: list[Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("mix")
    await conversation(agent("root", mix), folder, InMemorySessionService(), StreamingMode.NONE)
    (recorded,) = (folder / "runs").iterdir()
    recording = load_recording(recorded)
    StreamMatcher(update=True, on_write=Path.exists)(recording)
    other = tmp_path_factory.mktemp("again")
    page, _ = await conversation(agent("root", mix), other, InMemorySessionService(), StreamingMode.SSE)
    matches = StreamMatcher(update=False, on_write=Path.exists)
    matches(recording, chunks=[chunk for response in page.responses for chunk in response])
