"""If a run uses a call id more than once, each tool call gets its own result, in every execution."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import pytest
from google.adk.agents import BaseAgent, LlmAgent, ParallelAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.models import LlmRequest
from google.adk.tools import AgentTool
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.tool_context import ToolContext

from stream_protocol.serving import create_app
from stream_protocol.testing import Call, ScriptedLlm, Turn
from tests.durable.older_release import make_older
from tests.durable.shared_state import USER, SharedState, begin, ended, history
from tests.serving.chat_client import Page
from tests.serving.support import HANG, soon

WHOLE: Final = RunConfig(streaming_mode=StreamingMode.NONE)
"""In a streamed response, ADK drops a call whose id another call of the response has."""

ID: Final = "call_0"


class ToolRecorder:
    """Tools that return their arguments, and record that they began. ``slow`` waits at the shared gate."""

    def __init__(self, shared: SharedState) -> None:
        self.shared = shared
        self.began: list[str] = []

    async def read(self, text: str) -> str:
        self.began.append(f"read {text}")
        return f"read {text}"

    async def send(self, text: str) -> str:
        self.began.append(f"send {text}")
        return f"sent {text}"

    async def slow(self, text: str) -> str:
        self.began.append(f"slow {text}")
        await self.shared.wait()
        return f"slowly {text}"

    async def sign(self, text: str) -> str:
        self.began.append(f"sign {text}")
        return f"signed {text}"

    def agent(self, *turns: Turn, name: str = "root", **more: Any) -> LlmAgent:
        """Return a model with these turns, one for each model response in the request."""

        def respond(request: LlmRequest) -> Turn:
            return turns[sum(content.role == "model" for content in request.contents)]

        tools: list[Any] = [self.read, self.send, self.slow, FunctionTool(self.sign, require_confirmation=True)]
        return LlmAgent(name=name, model=ScriptedLlm(respond=respond), tools=tools, **more)


@pytest.fixture
def shared(tmp_path: Path, engine_url: str) -> SharedState:
    return SharedState(tmp_path, engine_url)


@pytest.fixture
def recorder(shared: SharedState) -> ToolRecorder:
    return ToolRecorder(shared)


def call(tool: str, text: str) -> Call:
    return Call(tool, {"text": text}, id=ID)


async def executed(
    recorder: ToolRecorder, *makes: Callable[[], BaseAgent], kept: int = 0, begun: int = 0
) -> list[tuple[str, str, str]]:
    """Return the calls in the client with their results: see ``message_after``."""
    return results(await message_after(recorder, *makes, kept=kept, begun=begun))


async def message_after(
    recorder: ToolRecorder, *makes: Callable[[], BaseAgent], kept: int = 0, begun: int = 0
) -> dict[str, Any]:
    """Run servers one after the other, with these agents. Return the assistant message in the client.

    All servers except the last end when a tool waits, so the given numbers of calls are stored and of tools have begun.
    The last server lets all tools end.
    """
    first, last = makes[:-1], makes[-1]
    for number, make in enumerate(first):
        async with recorder.shared.service(make(), run_config=WHOLE) as service:
            if not number:
                _ = await begin(service)
            await soon(recorder.shared.reached)
            await until_kept(kept)
            async with asyncio.timeout(HANG):
                while len(recorder.began) < begun:  # noqa: ASYNC110 - there is no event to wait for
                    await asyncio.sleep(0.01)
        recorder.shared.reached.clear()
    recorder.shared.gate.set()
    async with recorder.shared.service(last(), run_config=WHOLE) as service:
        if not first:
            _ = await begin(service)
        await ended(service)
        _, answer = await history(service)
    return answer


async def until_kept(number: int) -> None:
    """Wait until this number of model and tool calls have results."""
    from dbos import DBOS  # noqa: PLC0415 - may be missing

    async with asyncio.timeout(HANG):
        while len(await DBOS.list_workflows_async(status="SUCCESS", load_output=False)) < number:  # noqa: ASYNC110 - there is no event to wait for
            await asyncio.sleep(0.01)


def results(message: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [
        (part["type"].removeprefix("tool-"), part["input"]["text"], part["output"]["result"])
        for part in message["parts"]
        if part.get("state") == "output-available"
    ]


SEQUENCES: Final[dict[str, Sequence[tuple[str, str]]]] = {
    "the same tool": [("read", "a"), ("read", "b"), ("slow", "c")],
    "another tool": [("read", "a"), ("send", "a"), ("slow", "a")],
    "the same call": [("read", "a"), ("read", "a"), ("send", "a"), ("slow", "a")],
}

SAID: Final = {"read": "read", "send": "sent", "slow": "slowly", "sign": "signed"}


@pytest.mark.parametrize("crashes", [0, 1, 2])
@pytest.mark.parametrize("kind", SEQUENCES)
async def test_each_call_of_a_sequence_gets_its_own_result(kind: str, crashes: int, recorder: ToolRecorder) -> None:
    calls = SEQUENCES[kind]
    turns = [call(tool, text) for tool, text in calls]
    recorder.shared.idempotent.append("slow")
    gave = await executed(recorder, *[lambda: recorder.agent(*turns, "Done.")] * (crashes + 1))
    assert gave == [(tool, text, f"{SAID[tool]} {text}") for tool, text in calls]
    once = [f"{tool} {text}" for tool, text in calls if tool != "slow"]
    assert [began for began in recorder.began if not began.startswith("slow")] == once


@pytest.mark.parametrize("crashes", [0, 1])
async def test_calls_of_one_answer_get_their_own_results(crashes: int, recorder: ToolRecorder) -> None:
    calls = [("read", "a"), ("send", "a"), ("slow", "a"), ("read", "b"), ("read", "a")]
    turns = [call(tool, text) for tool, text in calls]
    recorder.shared.idempotent.append("slow")
    gave = await executed(recorder, *[lambda: recorder.agent(turns, "Done.")] * (crashes + 1), kept=5)
    assert gave == [(tool, text, f"{SAID[tool]} {text}") for tool, text in calls]
    assert sorted(began for began in recorder.began if not began.startswith("slow")) == [
        "read a",
        "read a",
        "read b",
        "send a",
    ]


async def test_a_call_that_did_not_end_is_not_mistaken_for_its_siblings(recorder: ToolRecorder) -> None:
    turns = [call("slow", "a"), call("read", "a"), call("slow", "b")]
    gave = await executed(recorder, *[lambda: recorder.agent(turns, "Done.")] * 2, kept=2, begun=3)
    assert gave == [("read", "a", "read a")]
    assert recorder.began.count("read a") == 1
    assert {recorder.began.count(f"slow {text}") for text in "ab"} == {1}


async def test_siblings_that_begin_in_another_order_get_their_own_results(recorder: ToolRecorder) -> None:
    turns = [call("read", "a"), call("send", "a"), call("read", "b"), call("slow", "a")]
    recorder.shared.idempotent.append("slow")

    def agent_that_begins(*order: str) -> LlmAgent:
        began = {name: asyncio.Event() for name in order}

        async def wait_for_turn(tool: BaseTool, args: dict[str, Any], tool_context: ToolContext) -> None:
            name = f"{tool.name} {args['text']}"
            if index := order.index(name):
                await began[order[index - 1]].wait()
            asyncio.get_running_loop().call_soon(began[name].set)

        return recorder.agent(turns, "Done.", before_tool_callback=wait_for_turn)

    gave = await executed(
        recorder,
        lambda: agent_that_begins("read a", "send a", "read b", "slow a"),
        lambda: agent_that_begins("slow a", "read b", "send a", "read a"),
        kept=4,
    )
    assert gave == [
        ("read", "a", "read a"),
        ("send", "a", "sent a"),
        ("read", "b", "read b"),
        ("slow", "a", "slowly a"),
    ]
    assert [recorder.began.count(began) for began in ("read a", "read b", "send a")] == [1, 1, 1]


@pytest.mark.filterwarnings("ignore:ParallelAgent is deprecated:DeprecationWarning")
async def test_agents_at_once_that_use_one_id_get_their_own_results(recorder: ToolRecorder) -> None:
    recorder.shared.idempotent.append("slow")

    def agents() -> ParallelAgent:
        return ParallelAgent(
            name="both",
            sub_agents=[
                recorder.agent(call("send", "a"), call("slow", "a"), "Done.", name="left"),
                recorder.agent(call("send", "b"), call("slow", "a"), "Done.", name="right"),
            ],
        )

    gave = await executed(recorder, agents, agents, kept=6)  # three model calls and three tool calls each
    assert sorted(gave) == [("send", "a", "sent a"), ("send", "b", "sent b"), *2 * [("slow", "a", "slowly a")]]
    assert {recorder.began.count(f"send {text}") for text in "ab"} == {1}


async def test_a_callback_that_changes_arguments_each_time_runs_no_tool_twice(recorder: ToolRecorder) -> None:
    stamps = iter(range(100))

    def stamp(tool: BaseTool, args: dict[str, Any], tool_context: ToolContext) -> None:
        args["text"] = f"{args['text']} {next(stamps)}"

    turns = [call("send", "a"), call("send", "b"), call("slow", "c")]
    gave = await executed(recorder, *[lambda: recorder.agent(*turns, "Done.", before_tool_callback=stamp)] * 2)
    assert gave == [("send", "a", "sent a 0"), ("send", "b", "sent b 1")]
    assert recorder.began == ["send a 0", "send b 1", "slow c 2"]


@pytest.mark.parametrize("crashes", [0, 1])
async def test_a_call_without_an_id_runs_once(crashes: int, recorder: ToolRecorder) -> None:
    turns = [Call("send", {"text": "a"}), Call("send", {"text": "a"}), Call("slow", {"text": "a"})]
    recorder.shared.idempotent.append("slow")
    gave = await executed(recorder, *[lambda: recorder.agent(*turns, "Done.")] * (crashes + 1))
    assert gave == [("send", "a", "sent a"), ("send", "a", "sent a"), ("slow", "a", "slowly a")]
    assert recorder.began.count("send a") == 2


@pytest.mark.parametrize("crashes", [0, 1])
async def test_a_confirmed_call_and_later_ones_under_its_id_run_once_each(crashes: int, recorder: ToolRecorder) -> None:
    recorder.shared.idempotent.append("slow")
    turns = [call("sign", "a"), call("send", "a"), call("sign", "b"), call("slow", "c")]
    async with recorder.shared.service(recorder.agent(*turns, "Done."), run_config=WHOLE) as service:
        page = Page(create_app(service, identify=lambda _: USER))
        await page.send("go")
        page.approve(approved=True)
        await page.submit()
        page.approve(approved=True)
        sending = asyncio.create_task(page.submit())
        await soon(recorder.shared.reached)
        if not crashes:
            recorder.shared.gate.set()
            await sending
    await asyncio.gather(sending, return_exceptions=True)
    recorder.shared.gate.set()
    async with recorder.shared.service(recorder.agent(*turns, "Done."), run_config=WHOLE) as service:
        await ended(service)
        _, answer = await history(service)
    assert results(answer) == [
        ("sign", "a", "signed a"),
        ("send", "a", "sent a"),
        ("sign", "b", "signed b"),
        ("slow", "c", "slowly c"),
    ]
    assert recorder.began[:3] == ["sign a", "send a", "sign b"]


async def test_a_run_of_an_older_release_keeps_the_results_of_its_tools(recorder: ToolRecorder) -> None:
    turns = [call("send", "a"), Call("slow", {"text": "b"}, id="call_1"), call("send", "c")]
    recorder.shared.idempotent.append("slow")
    async with recorder.shared.service(recorder.agent(*turns, "Done."), run_config=WHOLE, launched=False) as service:
        _ = await begin(service)
        await soon(recorder.shared.reached)
    make_older(recorder.shared)
    gave = await executed(recorder, lambda: recorder.agent(*turns, "Done."))
    assert gave == [("send", "a", "sent a"), ("slow", "b", "slowly b"), ("send", "c", "sent c")]
    assert recorder.began == ["send a", "slow b", "slow b", "send c"]


@pytest.mark.filterwarnings("ignore:The `plugins` argument is deprecated:DeprecationWarning")  # of ADK's AgentTool
async def test_agents_inside_calls_with_one_id_are_shown_on_their_own_cards_after_a_recovery(
    recorder: ToolRecorder,
) -> None:
    def make() -> BaseAgent:
        def respond(request: LlmRequest) -> Turn:
            return f"About {(request.contents[-1].parts or [])[-1].text}."

        news = LlmAgent(name="news", description="news", model=ScriptedLlm(respond=respond))
        asked = [Call("news", {"request": about}, id=ID) for about in ("Oslo", "Rome")]
        root = recorder.agent(asked, call("slow", "d"), "Done.")
        root.tools.append(AgentTool(news))
        return root

    message = await message_after(recorder, make, make, kept=4, begun=1)
    outputs = [part["output"] for part in message["parts"] if part["type"] == "tool-news"]
    texts = [[part["text"] for part in output["parts"] if part["type"] == "text"] for output in outputs]
    assert texts == [["About Oslo."], ["About Rome."]]
    assert [output["metadata"]["result"]["result"] for output in outputs] == ["About Oslo.", "About Rome."]
    assert recorder.began == ["slow d"]
