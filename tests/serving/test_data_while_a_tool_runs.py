"""``emit_data`` and ``report_progress``: what a client sees while the tool runs, after a reload, and in a replay."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.run_config import RunConfig
from google.adk.models import LlmRequest
from google.adk.runners import InMemoryRunner
from google.adk.tools import AgentTool, ToolContext
from google.adk.tools.function_tool import FunctionTool
from google.genai import types

from stream_protocol import stream_chunks
from stream_protocol.agents import emit_data, mcp_progress, report_progress
from stream_protocol.recording import ChatRecorder, load_recording, replay
from stream_protocol.serving import ChatService, create_app
from stream_protocol.serving.base import ServiceTimes
from stream_protocol.testing import Call, ScriptedLlm
from tests.serving.chat_client import Page
from tests.serving.support import HANG, Exchange, begin, chat, chunks, only, said, stream

RARELY = ServiceTimes(progress=10_000)
"""After its first report, only the last one of a call is sent."""


def agent(*tools: Any, turns: tuple[Any, ...] = (Call("work", {}), "Done."), **more: Any) -> LlmAgent:
    return LlmAgent(name="root", model=ScriptedLlm(turns=[*turns]), tools=[*tools], **more)


def sent(answer: list[Any]) -> list[Any]:
    return [{**chunk, "type": chunk["type"][5:]} for chunk in answer if chunk["type"].startswith("data-")]


def replayed(recordings: Path) -> list[Any]:
    (file,) = recordings.glob("*.jsonl")
    return chunks(b"".join(replay(load_recording(file))).decode())


async def shown_everywhere(service: ChatService, recordings: Path) -> list[Any]:
    """The data of a response, which must be the same live, in history, and in the replay of the recording."""
    page = Page(create_app(service))
    await page.send("hi")
    assert await page.stored() == page.messages
    assert replayed(recordings) == page.responses[0]
    return sent(page.responses[0])


# emit_data


async def test_each_part_is_sent_once_and_at_its_place(tmp_path: Path) -> None:
    def work(tool_context: ToolContext) -> str:
        """Works."""
        emit_data(tool_context, "step", "first")
        emit_data(tool_context, "state", 1, id="s")
        emit_data(tool_context, "step", "second")
        emit_data(tool_context, "state", 2, id="s")
        return "worked"

    service = ChatService(agent(work), recorder=ChatRecorder(tmp_path))
    assert await shown_everywhere(service, tmp_path) == [
        {"type": "step", "data": "first"},
        {"type": "state", "data": 1, "id": "s"},
        {"type": "step", "data": "second"},
        {"type": "state", "data": 2, "id": "s"},
    ]


@pytest.mark.parametrize("last", ["a", "b"])
async def test_of_parallel_calls_with_one_id_the_stored_one_is_shown_in_the_end(last: str) -> None:
    turn = {"a": threading.Event(), "b": threading.Event()}
    turn["b" if last == "a" else "a"].set()

    def work(name: str, tool_context: ToolContext) -> str:
        """Works."""
        assert turn[name].wait(HANG)
        emit_data(tool_context, "state", name, id="s")
        turn["a" if name == "b" else "b"].set()
        return "worked"

    turns = ([Call("work", {"name": "a"}), Call("work", {"name": "b"})], "Done.")
    page = Page(create_app(agent(work, turns=turns)))
    await page.send("hi")
    assert sent(page.responses[0])[-1]["data"] == "b"
    assert len(sent(page.responses[0])) == (3 if last == "a" else 2)
    assert sorted(map(str, await page.stored())) == sorted(map(str, page.messages))


async def test_a_transient_part_is_sent_and_in_no_message(tmp_path: Path) -> None:
    def work(tool_context: ToolContext) -> str:
        """Works."""
        emit_data(tool_context, "toast", "working", transient=True)
        return "worked"

    service = ChatService(agent(work), recorder=ChatRecorder(tmp_path))
    assert await shown_everywhere(service, tmp_path) == [{"type": "toast", "data": "working", "transient": True}]


async def test_a_callbacks_data_comes_with_its_event_and_transient_data_at_once(tmp_path: Path) -> None:
    def ask(callback_context: CallbackContext, llm_request: LlmRequest) -> None:
        emit_data(callback_context, "toast", "asking", transient=True)
        emit_data(callback_context, "asked", 1)

    service = ChatService(agent(turns=("Done.",), before_model_callback=ask), recorder=ChatRecorder(tmp_path))
    await shown_everywhere(service, tmp_path)
    assert [chunk["type"] for chunk in replayed(tmp_path)] == [
        *("start", "data-toast", "start-step", "text-start", "text-delta", "data-asked", "text-end", "finish-step"),
        "finish",
    ]


async def test_threads_that_a_tool_starts_by_itself_are_heard() -> None:
    seen = threading.Event()

    def work(tool_context: ToolContext) -> str:
        """Works in threads of its own, which know no context variable."""
        with ThreadPoolExecutor() as pool:
            pool.submit(emit_data, tool_context, "step", 1).result()
            assert seen.wait(HANG)
        return "worked"

    async with begin(create_app(agent(work)), chat(said("hi"))) as answer:
        assert await answer.status() == 200
        assert (await answer.until("data-step"))["data"] == 1
        seen.set()
        assert (await answer.until("tool-output-available"))["output"] == {"result": "worked"}


@pytest.mark.filterwarnings("ignore:The `plugins` argument is deprecated:DeprecationWarning")  # of ADK's AgentTool
@pytest.mark.parametrize("include_plugins", [True, False])
async def test_data_from_inside_an_agent_tool_is_heard_at_once_and_stored_with_its_call(include_plugins: bool) -> None:
    seen = threading.Event()

    def work(tool_context: ToolContext) -> str:
        """Works."""
        emit_data(tool_context, "step", 1)
        report_progress(tool_context, 1, 2)
        assert seen.wait(HANG)
        return "worked"

    inner = LlmAgent(name="inner", model=ScriptedLlm(turns=[Call("work", {}), "Inner."]), tools=[work])
    tool = AgentTool(inner, include_plugins=include_plugins)
    root = agent(tool, turns=(Call("inner", {"request": "go"}), "Done."))
    app = create_app(ChatService(root, nested_agents="flat"))
    page = Page(app)
    page.messages.append(said("hi"))
    async with begin(app, chat(said("hi"))) as answer:
        assert await answer.status() == 200
        read = [await answer.chunk()]
        while read[-1]["type"] != "data-adk-progress":
            read.append(await answer.chunk())
        seen.set()
        while read[-1]["type"] != "finish":
            read.append(await answer.chunk())
    page.take(read)
    (call,) = only(read, "tool-input-available")
    assert sent(read) == [
        {"type": "step", "data": 1},
        {
            "type": "adk-progress",
            "id": call["toolCallId"],
            "data": {"toolCallId": call["toolCallId"], "progress": 1, "total": 2},
        },
    ]
    assert await page.stored() == page.messages


async def test_without_a_service_data_comes_with_the_event() -> None:
    def work(tool_context: ToolContext) -> str:
        """Works."""
        emit_data(tool_context, "step", 1)
        emit_data(tool_context, "toast", "working", transient=True)
        report_progress(tool_context, 1)
        report_progress(tool_context, 2, 3, "more")
        return "worked"

    runner = InMemoryRunner(agent=agent(work))
    await runner.session_service.create_session(app_name=runner.app_name, user_id="u", session_id="s")
    words = types.Content(role="user", parts=[types.Part(text="hi")])
    answer = [
        chunk
        async for chunk in stream_chunks(
            runner.run_async(user_id="u", session_id="s", new_message=words, run_config=RunConfig())
        )
    ]
    kinds = [chunk["type"] for chunk in answer]
    assert kinds.index("tool-output-available") < kinds.index("data-step") < kinds.index("data-adk-progress")
    assert [chunk.get("data") for chunk in sent(answer)] == [
        1,
        {"toolCallId": sent(answer)[1]["id"], "progress": 2, "total": 3, "message": "more"},
    ]


# report_progress


@pytest.mark.slow
async def test_the_first_report_is_seen_while_the_tool_runs_and_the_last_one_before_its_result() -> None:
    seen = threading.Event()

    def work(tool_context: ToolContext) -> str:
        """Works."""
        report_progress(tool_context, 0, 100_000, "begins")
        assert seen.wait(HANG)
        for number in range(1, 100_001):
            report_progress(tool_context, number, 100_000)
        return "worked"

    service = ChatService(agent(work), times=RARELY)
    page = Page(create_app(service))
    page.messages.append(said("hi"))
    async with begin(page.app, chat(said("hi"))) as answer:
        assert await answer.status() == 200
        read = [await answer.chunk()]
        while read[-1]["type"] != "data-adk-progress":
            read.append(await answer.chunk())
        seen.set()
        while read[-1]["type"] != "finish":
            read.append(await answer.chunk())
    page.take(read)
    (call,) = only(read, "tool-input-available")
    call_id = call["toolCallId"]
    assert sent(read) == [
        {
            "type": "adk-progress",
            "id": call_id,
            "data": {"toolCallId": call_id, "progress": 0, "total": 100_000, "message": "begins"},
        },
        {
            "type": "adk-progress",
            "id": call_id,
            "data": {"toolCallId": call_id, "progress": 100_000, "total": 100_000},
        },
    ]
    kinds = [chunk["type"] for chunk in read]
    assert kinds[kinds.index("tool-output-available") - 1] == "data-adk-progress"
    assert await page.stored() == page.messages


async def test_a_report_that_waits_is_sent_when_its_pause_is_over() -> None:
    seen = threading.Event()

    def work(tool_context: ToolContext) -> str:
        """Works."""
        for number in range(10):
            report_progress(tool_context, number)
        assert seen.wait(HANG)
        return "worked"

    async with begin(create_app(agent(work)), chat(said("hi"))) as answer:
        assert await answer.status() == 200
        while (await answer.until("data-adk-progress"))["data"]["progress"] != 9:
            pass
        seen.set()
        assert (await answer.until("tool-output-available"))["output"] == {"result": "worked"}


async def test_parallel_calls_have_a_progress_each() -> None:
    both = threading.Barrier(2, timeout=HANG)

    def work(number: int, tool_context: ToolContext) -> str:
        """Works."""
        both.wait()
        report_progress(tool_context, number, message=f"call {number}")
        both.wait()
        return "worked"

    turns = ([Call("work", {"number": 1}), Call("work", {"number": 2})], "Done.")
    answer = await stream(create_app(agent(work, turns=turns)), chat(said("hi")))
    inputs = {call["toolCallId"]: call["input"]["number"] for call in only(answer, "tool-input-available")}
    assert {part["id"]: part["data"]["progress"] for part in sent(answer)} == inputs
    assert len(sent(answer)) == 2


async def test_a_long_message_is_cut() -> None:
    def work(tool_context: ToolContext) -> str:
        """Works."""
        report_progress(tool_context, 1, message="m" * 10_000)
        return "worked"

    (part,) = sent(await stream(create_app(agent(work)), chat(said("hi"))))
    assert part["data"]["message"] == "m" * 499 + "…"


async def test_a_hidden_call_has_no_card_for_its_progress() -> None:
    def work(tool_context: ToolContext) -> str:
        """Works."""
        report_progress(tool_context, 1)
        return "worked"

    answer = await stream(create_app(ChatService(agent(work), hidden_tools=["work"])), chat(said("hi")))
    assert sent(answer) == []


async def test_a_tool_that_was_approved_reports_under_the_id_that_the_client_knows() -> None:
    def work(tool_context: ToolContext) -> str:
        """Works."""
        report_progress(tool_context, 1, 1)
        return "worked"

    tool = FunctionTool(work, require_confirmation=True)
    page = Page(create_app(agent(tool)))
    await page.send("hi")
    page.approve(approved=True)
    await page.submit()
    (call,) = page.parts("output-available")
    (part,) = [part for part in page.messages[-1]["parts"] if part["type"] == "data-adk-progress"]
    assert part["id"] == part["data"]["toolCallId"] == call["toolCallId"]
    assert await page.stored() == page.messages


async def test_a_client_that_comes_while_the_tool_runs_sees_its_progress() -> None:
    seen = threading.Event()

    def work(tool_context: ToolContext) -> str:
        """Works."""
        report_progress(tool_context, 1, 2)
        assert seen.wait(HANG)
        return "worked"

    app = create_app(agent(work))
    async with begin(app, chat(said("hi"))) as first:
        assert await first.status() == 200
        shown = await first.until("data-adk-progress")
        async with Exchange(app, path="/api/chat/c1/stream", method="GET").begin(b"") as second:
            assert await second.status() == 200
            assert await second.until("data-adk-progress") == shown
            seen.set()
            assert (await second.until("tool-output-available"))["output"] == {"result": "worked"}


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"progress": "half"}, "`progress` must be a finite number from 0"),
        ({"progress": -1}, "`progress` must be a finite number from 0"),
        ({"progress": True}, "`progress` must be a finite number from 0"),
        ({"progress": float("nan")}, "`progress` must be a finite number from 0"),
        ({"progress": 1, "total": float("inf")}, "`total` must be a finite number from 0"),
        ({"progress": 1, "message": 5}, "`message`"),
    ],
)
async def test_what_is_no_progress_is_refused(arguments: dict[str, Any], error: str) -> None:
    refused: list[str] = []

    def work(tool_context: ToolContext) -> str:
        """Works."""
        with pytest.raises(ValueError, match=error) as raised:
            report_progress(tool_context, **arguments)
        refused.append(str(raised.value))
        return "worked"

    answer = await stream(create_app(agent(work)), chat(said("hi")))
    assert len(refused) == 1
    assert sent(answer) == []


async def test_a_callback_has_no_call_whose_progress_it_could_report() -> None:
    refused: list[str] = []

    def before(callback_context: CallbackContext) -> None:
        with pytest.raises(ValueError, match="the context of a tool") as raised:
            report_progress(callback_context, 1)
        refused.append(str(raised.value))
        assert mcp_progress("work", callback_context=callback_context) is None

    await stream(create_app(agent(turns=("Done.",), before_agent_callback=before)), chat(said("hi")))
    assert len(refused) == 1


def test_what_is_no_context_is_refused() -> None:
    with pytest.raises(ValueError, match="the context of a tool"):
        report_progress("tool", 1)  # type: ignore[arg-type]


async def test_data_of_a_tool_that_raises_is_shown_and_not_stored() -> None:
    def work(tool_context: ToolContext) -> str:
        """Fails."""
        emit_data(tool_context, "step", 1)
        raise ValueError("no")

    page = Page(create_app(agent(work)))
    await page.send("hi")
    assert [chunk["data"] for chunk in sent(page.responses[0])] == [1]
    (stored,) = [message for message in await page.stored() if message["role"] == "assistant"]
    assert [part["type"] for part in stored["parts"]] == ["step-start", "tool-work"]
