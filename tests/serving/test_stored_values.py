"""Values of tools that are not plain JSON: the same live and after a reload, with every store, and for the model."""

import asyncio
import copy
import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.sessions import BaseSessionService
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.adk.tools.tool_context import ToolContext
from google.adk.workflow import Workflow, node
from pydantic import BaseModel, Field

from stream_protocol import iter_chunks
from stream_protocol.recording import ChatRecorder, load_recording, replay
from stream_protocol.serving import ChatService, create_app
from stream_protocol.testing import Call, ScriptedLlm
from stream_protocol.wire.client import parse_sse, reduce_chunks
from tests.comparable_messages import comparable
from tests.serving.chat_client import Page
from tests.serving.support import post


class Opaque:
    """Has no JSON form."""


class Kind(Enum):
    BIG = "big"


@dataclass
class Point:
    x: int
    y: int | None = None


class Item(BaseModel):
    name: str | None = None
    unit_price: float | None = Field(default=None, alias="unitPrice")
    since: datetime | None = datetime(2026, 1, 2, tzinfo=UTC)
    kind: Kind | None = Kind.BIG
    where: Point | None = Point(1)
    parts: list["Item | None"] = []
    secret: str = Field(default="x", exclude=True)


def deep(levels: int) -> Any:
    value: Any = None
    for _ in range(levels):
        value = [value]
    return value


def circle() -> Any:
    value: list[Any] = []
    value.append(value)
    return value


RETURNED: dict[str, Callable[[], Any]] = {
    "model": lambda: Item(name="a"),
    "models": lambda: [Item(parts=[Item(), None]), {"deeper": Item()}],
    "data_class": lambda: Point(1),
    "in_a_dict": lambda: {"item": Item(), "none": None},
    "numbers": lambda: [math.nan, math.inf, 2**70, -(2**70), 1e15, 0.1],
    "texts": lambda: ["\0", "\ud800", "\u2028", "é"],
    "keys": lambda: {"a": {1: "a", None: "b"}, "__proto__": "c", "\0": "d"},
    "dates": lambda: [date(2026, 1, 2), datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC)],
    "sets": lambda: {3, 1, 2},
    "raw": lambda: b"\xfb\xff\xfe",
    "nothing": lambda: None,
    "quite_deep": lambda: deep(150),
}
REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "opaque": (Opaque, f"A value of type {__name__}.Opaque at $['result'] has no JSON form."),
    "opaque_in_it": (
        lambda: {"a": [Opaque()]},
        f"A value of type {__name__}.Opaque at $['a'][0] has no JSON form.",
    ),
    "circular": (circle, "contains itself"),
    "too_deep": (lambda: deep(200), "nested deeper than 180 levels"),
    "far_too_deep": (lambda: deep(400), "stands deeper than 246 levels"),
}


def tool(name: str, returns: Callable[[], Any]) -> Any:
    async def run() -> Any:
        return returns()

    run.__name__, run.__doc__ = name, "Returns something."
    return run


class Chat:
    """A chat that is recorded, whose readings must agree."""

    def __init__(self, target: Any, folder: Path, sessions: BaseSessionService) -> None:
        self.folder = folder
        self.service = ChatService(target, session_service=sessions, recorder=ChatRecorder(folder / "recorded"))
        self.page = Page(create_app(self.service))

    async def send(self, text: str = "go") -> Any:
        """Returns the newest message, which is that of each reading."""
        await self.page.send(text)
        await self.assert_readings_agree()
        return self.page.messages[-1]

    async def assert_readings_agree(self) -> None:
        live = self.page.messages
        assert comparable(await self.page.stored()) == comparable(live)
        (recorded,) = (self.folder / "recorded").iterdir()
        turn = sum(message["role"] == "user" for message in live)
        recorded_parts = reduce_chunks(parse_sse(replay(load_recording(recorded), turn=turn)))["parts"]
        assert recorded_parts == live[-1]["parts"]
        session = await self.service.runner.session_service.get_session(
            app_name=self.service.runner.app_name, user_id="local", session_id="c1"
        )
        assert session is not None
        events = [event for event in session.events if event.invocation_id == session.events[-1].invocation_id]
        for dictionaries in (
            [event.model_dump() for event in events],
            [event.model_dump(mode="json", by_alias=True, exclude_none=True) for event in events],
        ):
            assert values(reduce_chunks(iter_chunks(dictionaries))) == values(live[-1])


def values(message: Any) -> list[Any]:
    parts = [part for part in message["parts"] if "state" in part and "toolCallId" in part]
    return [(part["type"], part["state"], part.get("output"), part.get("errorText")) for part in parts]


async def test_every_store_keeps_what_the_page_was_shown(sessions: BaseSessionService, tmp_path: Path) -> None:
    calls = [Call(name) for name in RETURNED]
    root = LlmAgent(
        name="root", model=ScriptedLlm(turns=[calls, "Done."]), tools=[tool(*row) for row in RETURNED.items()]
    )
    message = await Chat(root, tmp_path, sessions).send()
    outputs = {part["type"].removeprefix("tool-"): part["output"] for part in message["parts"] if "output" in part}
    assert outputs.keys() == RETURNED.keys()
    item: dict[str, Any] = {
        "name": None,
        "unitPrice": None,
        "since": "2026-01-02T00:00:00+00:00",
        "kind": "big",
        "where": {"x": 1, "y": None},
        "parts": [],
    }
    assert outputs["model"] == {"result": {**item, "name": "a"}}
    assert outputs["models"] == {"result": [{**item, "parts": [item, None]}, {"deeper": item}]}
    assert outputs["data_class"] == {"result": {"x": 1, "y": None}}
    assert outputs["in_a_dict"] == {"item": item, "none": None}
    assert outputs["numbers"] == {"result": [None, None, str(2**70), str(-(2**70)), 1e15, 0.1]}
    assert outputs["texts"] == {"result": ["\ufffd", "\ufffd", "\u2028", "é"]}


async def test_every_store_keeps_a_reply_with_a_broken_character(sessions: BaseSessionService, tmp_path: Path) -> None:
    said: list[Any] = ["a \ud83d", Call("nothing", {"x": "b \ud83d"})]
    tools = [tool("nothing", lambda: None)]
    root = LlmAgent(name="root", model=ScriptedLlm(turns=[said, "Done \ud83d."]), tools=tools)
    message = await Chat(root, tmp_path, sessions).send()
    assert [part["text"] for part in message["parts"] if part["type"] == "text"] == ["a \ufffd", "Done \ufffd."]


async def test_every_store_refuses_what_is_not_json_and_the_run_goes_on(
    sessions: BaseSessionService, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    calls = [Call(name) for name in REFUSED]
    tools = [tool(name, returns) for name, (returns, _) in REFUSED.items()]
    model = ScriptedLlm(turns=[calls, "Sorry.", "On."])
    chat = Chat(LlmAgent(name="root", model=model, tools=tools), tmp_path, sessions)
    message = await chat.send()
    told = {part["type"].removeprefix("tool-"): part.get("errorText", "") for part in message["parts"]}
    for name, (_, why) in REFUSED.items():
        assert told[name].startswith(f"The result of the tool {name} is not JSON. ")
        assert why in told[name]
        assert told[name] in caplog.messages
    assert message["parts"][-1]["text"] == "Sorry."
    read = [part.function_response for content in model.requests[-1].contents for part in content.parts or []]
    assert [response.response for response in read if response is not None] == [
        {"error": told[name]} for name in REFUSED
    ]
    await chat.send("again")


async def keep_opaque(tool_context: ToolContext) -> str:
    """Writes into the state."""
    tool_context.state["cart"] = Opaque()
    return "kept"


async def keep_plain(tool_context: ToolContext) -> str:
    """Writes into the state."""
    await asyncio.sleep(0)
    tool_context.state["total"] = 3
    tool_context.state["temp:client"] = Opaque()
    return "kept"


async def test_every_store_refuses_state_that_is_not_json(sessions: BaseSessionService, tmp_path: Path) -> None:
    model = ScriptedLlm(turns=[[Call("keep_opaque"), Call("keep_plain")], "Sorry.", "On."])
    chat = Chat(LlmAgent(name="root", model=model, tools=[keep_opaque, keep_plain]), tmp_path, sessions)
    opaque, plain = values(await chat.send())
    assert opaque[1:] == (
        "output-error",
        None,
        (
            'The tool keep_opaque set the state key "cart" to a value that cannot be stored. '
            f"A value of type {__name__}.Opaque at $ has no JSON form."
        ),
    )
    assert plain[1:3] == ("output-available", {"result": "kept"})
    session = await sessions.get_session(app_name="root", user_id="local", session_id="c1")
    assert session is not None
    assert {key: value for key, value in session.state.items() if not key.startswith("_")} == {"total": 3}
    await chat.send("again")


async def test_every_store_goes_on_if_an_agents_callback_wrote_such_state(
    sessions: BaseSessionService, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def before_agent(callback_context: Any) -> None:
        callback_context.state["client"] = Opaque()

    root = LlmAgent(name="root", model=ScriptedLlm(turns=["Hi.", "On."]), before_agent_callback=before_agent)
    chat = Chat(root, tmp_path, sessions)
    assert (await chat.send())["parts"][-1]["text"] == "Hi."
    await chat.send("again")
    assert sum('root set the state key "client"' in text for text in caplog.messages) == 2


async def test_every_store_keeps_the_outputs_of_nodes(sessions: BaseSessionService, tmp_path: Path) -> None:
    @node
    async def price() -> Any:
        return {"item": Item(), "opaque": Opaque()}

    @node
    async def think(node_input: Any) -> Any:
        assert isinstance(node_input["opaque"], Opaque)  # nodes of the run have the object itself
        return [math.nan, {1}]

    chat = Chat(Workflow(name="flow", edges=[("START", price, think)]), tmp_path, sessions)
    message = await chat.send()
    outputs = [part["data"]["output"] for part in message["parts"] if part["type"] == "data-adk-output"]
    (first, *_, last) = outputs
    assert first["opaque"] is None
    assert first["item"].keys() >= {"name", "since", "parts"}
    assert last == [None, [1]]


async def test_an_answer_that_a_store_could_not_read_again_is_refused(sessions: BaseSessionService) -> None:
    def where() -> None:
        """Only the page knows."""

    model = ScriptedLlm(turns=[Call("where"), "There."])
    root = LlmAgent(name="root", model=model, tools=[LongRunningFunctionTool(where)])
    page = Page(create_app(ChatService(root, session_service=sessions)))
    await page.send("go")
    asked = copy.deepcopy(page.messages)
    page.answer("where", deep(180))  # one more is around it
    refused = await post(page.app, page.body())
    assert (refused.status_code, refused.text) == (422, "The answer is nested deeper than 180 levels.")
    page.messages = asked
    page.answer("where", deep(179))
    await page.submit()
    assert page.messages[-1]["parts"][-1]["text"] == "There."
    assert comparable(await page.stored()) == comparable(page.messages)
