"""A model gives one id to several calls of a response: each call has its own agent, progress, approval and result.

Each case is the same live, after a reload on another worker, and in the replay of every recorded form.
"""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent, ParallelAgent
from google.adk.models import LlmRequest
from google.adk.plugins import BasePlugin
from google.adk.tools import AgentTool, FunctionTool, LongRunningFunctionTool, ToolContext

from stream_protocol.agents import emit_data, for_users, mcp_progress, report_progress
from stream_protocol.recording import ChatRecorder, load_recording, replay
from stream_protocol.serving import ChatService, create_app
from stream_protocol.testing import Call, ScriptedLlm
from tests.serving.chat_client import Page
from tests.serving.support import chunks
from tests.serving.test_same_ids import WHOLE, TwoWorkers
from tests.tools import OLD_ADK

pytestmark = pytest.mark.filterwarnings("ignore:The `plugins` argument is deprecated:DeprecationWarning")

ID = "0"


def echo(request: LlmRequest) -> str:
    """Answer with the text of the request."""
    return f"About {(request.contents[-1].parts or [])[-1].text}."


def inner(name: str, *tools: Any) -> AgentTool:
    return AgentTool(LlmAgent(name=name, description=name, model=ScriptedLlm(respond=echo), tools=[*tools]))


def asked(tool: str, about: str) -> Call:
    return Call(tool, {"request": about}, id=ID)


def root(*turns: Any, tools: Any, name: str = "root") -> LlmAgent:
    return LlmAgent(name=name, model=ScriptedLlm(turns=[*turns]), tools=[*tools])


def texts(part: Any) -> tuple[Any, Any, Any]:
    """Return the call's input, the text of its agent's message, and its result."""
    output = part["output"]
    [text] = [each["text"] for each in output["parts"] if each["type"] == "text"]
    return part["input"]["request"], text, output["metadata"]["result"]["result"]


def own(about: str) -> tuple[str, str, str]:
    return about, f"About {about}.", f"About {about}."


@pytest.mark.parametrize("second", ["news", "weather"])
async def test_each_call_of_a_response_shows_its_own_agent(second: str, tmp_path: Path) -> None:
    agent = root([asked("news", "Oslo"), asked(second, "Rome")], "Done.", tools=[inner("news"), inner("weather")])
    workers = TwoWorkers(agent, WHOLE)
    await workers.page.send("go")
    await workers.agree(tmp_path)
    assert workers.call_ids() == ["0", "0.2"]
    assert [texts(part) for part in workers.tool_parts()] == [own("Oslo"), own("Rome")]
    for call_id, about in (("0", "Oslo"), ("0.2", "Rome")):  # and the second one's text is never in the first
        shown = [each for each in chunks_of(workers.page, "tool-output-available") if each["toolCallId"] == call_id]
        assert {each["text"] for one in shown for each in one["output"]["parts"] if "text" in each} == {
            f"About {about}."
        }
    await workers.aclose()


def chunks_of(page: Page, kind: str) -> list[Any]:
    return [chunk for response in page.responses for chunk in response if chunk["type"] == kind]


async def test_equal_calls_show_an_agent_each(tmp_path: Path) -> None:
    workers = TwoWorkers(root([asked("news", "Oslo")] * 3, "Done.", tools=[inner("news")]), WHOLE)
    await workers.page.send("go")
    await workers.agree(tmp_path)
    assert [texts(part) for part in workers.tool_parts()] == [own("Oslo")] * 3
    await workers.aclose()


async def test_a_later_response_and_a_later_message_may_use_the_id_again(tmp_path: Path) -> None:
    turns = [[asked("news", "a"), asked("news", "b")], [asked("news", "c"), asked("news", "d")], "Done."]
    workers = TwoWorkers(root(*turns, *turns, tools=[inner("news")]), WHOLE)
    for words in ("one", "two"):
        await workers.page.send(words)
        await workers.agree(tmp_path)
    assert [texts(part) for part in workers.tool_parts()] == [own(about) for about in "abcdabcd"]
    await workers.aclose()


@pytest.mark.filterwarnings("ignore:ParallelAgent is deprecated:DeprecationWarning")
async def test_agents_in_parallel_use_the_id_for_agents_of_their_own(tmp_path: Path) -> None:
    agents = [
        root([asked("news", f"{name} a"), asked("news", f"{name} b")], "Done.", tools=[inner("news")], name=name)
        for name in ("one", "two")
    ]
    workers = TwoWorkers(ParallelAgent(name="both", sub_agents=[*agents]), WHOLE)
    await workers.page.send("go")
    await workers.agree(tmp_path)
    found = sorted(texts(part) for part in workers.tool_parts())
    assert found == [own(f"{name} {each}") for name in ("one", "two") for each in "ab"]
    await workers.aclose()


async def test_an_agent_inside_gives_one_id_to_its_calls_too(tmp_path: Path) -> None:
    middle = root([asked("news", "Oslo"), asked("news", "Rome")], "Both.", tools=[inner("news")], name="middle")
    workers = TwoWorkers(root([asked("middle", "x")], "Done.", tools=[AgentTool(middle)]), WHOLE)
    await workers.page.send("go")
    await workers.agree(tmp_path)
    [part] = workers.tool_parts()
    inside = [each for each in part["output"]["parts"] if each["type"] == "tool-news"]
    assert [texts(each) for each in inside] == [own("Oslo"), own("Rome")]
    await workers.aclose()


async def test_without_their_messages_each_call_has_its_own_result() -> None:
    for chosen in ("flat", "hidden"):
        agent = root(
            [asked("news", "Oslo"), asked("weather", "Rome")], "Done.", tools=[inner("news"), inner("weather")]
        )
        page = Page(create_app(ChatService(agent, nested_agents=chosen, run_config=WHOLE)))
        await page.send("go")
        found = [(part["type"], part["output"]) for part in page.messages[-1]["parts"] if "toolCallId" in part]
        assert found == [("tool-news", {"result": "About Oslo."}), ("tool-weather", {"result": "About Rome."})]
        assert await page.stored() == page.messages


# Progress and data


class Reporting:
    """Tools that report at the same time, and return when both have reported."""

    def __init__(self, parties: int = 2) -> None:
        self.both = asyncio.Barrier(parties)

    async def work(self, number: int, tool_context: ToolContext) -> str:
        """Works."""
        await self.both.wait()
        report_progress(tool_context, number, message=f"call {number}")
        emit_data(tool_context, "step", number, id=f"step {number}")
        await self.both.wait()
        return f"worked {number}"

    async def remote(self, number: int, tool_context: ToolContext) -> str:
        """Works on an MCP server."""
        send = mcp_progress("remote", callback_context=tool_context)
        assert send is not None
        await send(number, None, message=f"call {number}")
        return f"worked {number}"


def progress(page: Page) -> dict[str, Any]:
    parts = [part for part in page.messages[-1]["parts"] if part["type"] == "data-adk-progress"]
    assert len({part["id"] for part in parts}) == len(parts)
    return {part["id"]: part["data"]["progress"] for part in parts}


@pytest.mark.parametrize("tool", ["work", "remote"])
async def test_each_call_of_a_response_has_its_own_progress(tool: str, tmp_path: Path) -> None:
    reporting = Reporting()
    calls = [Call(tool, {"number": number}, id=ID) for number in (1, 2)]
    agent = root(calls, "Done.", tools=[reporting.work, reporting.remote])
    workers = TwoWorkers(agent, WHOLE)
    await workers.page.send("go")
    assert progress(workers.page) == {"0": 1, "0.2": 2}
    reports = chunks_of(workers.page, "data-adk-progress")
    assert {chunk["id"]: chunk["data"]["message"] for chunk in reports} == {"0": "call 1", "0.2": "call 2"}
    assert len(reports) == 2, "both were sent while the tools ran, and are not sent again"
    await workers.agree(tmp_path)
    await workers.aclose()


async def test_a_call_that_reports_while_the_first_with_its_id_is_silent(tmp_path: Path) -> None:
    def silent() -> str:
        """Says nothing."""
        return "quiet"

    def loud(tool_context: ToolContext) -> str:
        """Reports."""
        report_progress(tool_context, 7)
        return "loud"

    calls = [Call(name, id=ID) for name in ("silent", "loud")]
    workers = TwoWorkers(root(calls, calls, "Done.", tools=[silent, loud]), WHOLE)
    await workers.page.send("go")
    assert progress(workers.page) == {"0.2": 7, "0.4": 7}
    await workers.agree(tmp_path)
    await workers.aclose()


@pytest.mark.filterwarnings("ignore:ParallelAgent is deprecated:DeprecationWarning")
async def test_agents_in_parallel_report_under_the_id_each_on_its_card(tmp_path: Path) -> None:
    reporting = Reporting(4)
    agents = [
        root([Call("work", {"number": n}, id=ID) for n in (base, base + 1)], "Ok.", tools=[reporting.work], name=name)
        for name, base in (("one", 10), ("two", 20))
    ]
    workers = TwoWorkers(ParallelAgent(name="both", sub_agents=[*agents]), WHOLE)
    await workers.page.send("go")
    inputs = {part["toolCallId"]: part["input"]["number"] for part in workers.tool_parts()}
    assert progress(workers.page) == inputs
    await workers.agree(tmp_path)
    await workers.aclose()


@pytest.mark.parametrize("nested", ["nested", "flat"])
async def test_progress_inside_an_agent_is_on_the_card_of_its_own_call(nested: Any, tmp_path: Path) -> None:
    def report(about: str, tool_context: ToolContext) -> str:
        """Reports."""
        report_progress(tool_context, 1, message=about)
        return "reported"

    def respond(request: LlmRequest) -> Any:
        texts = [part.text for content in request.contents for part in content.parts or () if part.text]
        is_done = any(part.function_response for content in request.contents for part in content.parts or ())
        return "Done." if is_done else Call("report", {"about": texts[-1]}, id=ID)

    news = LlmAgent(name="news", description="news", model=ScriptedLlm(respond=respond), tools=[report])
    agent = root([asked("news", "Oslo"), asked("news", "Rome")], "Done.", tools=[AgentTool(news)])
    service = ChatService(agent, nested_agents=nested, run_config=WHOLE, recorder=ChatRecorder(tmp_path))
    page = Page(create_app(service))
    await page.send("go")
    assert await page.stored() == page.messages
    calls = [part for part in page.messages[-1]["parts"] if part["type"] == "tool-news"]
    cards = [part["output"]["parts"] for part in calls] if nested == "nested" else [page.messages[-1]["parts"]]
    found = [part["data"]["message"] for parts in cards for part in parts if part["type"] == "data-adk-progress"]
    assert found == ["Oslo", "Rome"]
    if nested == "flat":
        own_ids = [part["id"] for part in page.messages[-1]["parts"] if part["type"] == "data-adk-progress"]
        assert own_ids == ["0", "0.2"]
    (file,) = tmp_path.glob("*.jsonl")  # noqa: ASYNC240 - a small folder
    assert chunks(b"".join(replay(load_recording(file), nested_agents=nested)).decode()) == page.responses[0]


# Results, failures and approvals


@pytest.mark.skipif(OLD_ADK, reason="ADK 2.11 cancels the second call if the first raises")
async def test_the_result_of_the_second_call_is_not_on_the_first_that_raised(tmp_path: Path) -> None:
    returned = asyncio.Event()

    async def work(number: int) -> str:
        """Works."""
        if number == 1:
            await returned.wait()
            raise ValueError("secret")
        returned.set()
        return f"worked {number}"

    workers = TwoWorkers(root([Call("work", {"number": n}, id=ID) for n in (1, 2)], "Done.", tools=[work]), WHOLE)
    await workers.page.send("go")
    await workers.agree(tmp_path)
    assert workers.outputs() == ["The tool failed.", {"result": "worked 2"}]
    await workers.aclose()


@pytest.mark.parametrize("answers", [(1,), (2,), (2, 3), (1, 3)], ids=str)
async def test_a_call_without_a_result_yet_takes_no_result_of_a_later_call(
    answers: tuple[int, ...], tmp_path: Path
) -> None:
    def ask(number: int) -> dict[str, int] | None:
        """Asks somebody, who may answer at once."""
        return {"answered": number} if number in answers else None

    asked = [Call("ask", {"number": n}, id=ID) for n in (1, 2, 3)]
    workers = TwoWorkers(root(asked, "Done.", tools=[LongRunningFunctionTool(ask)]), WHOLE)
    await workers.page.send("go")
    await workers.agree(tmp_path)
    assert workers.outputs() == [{"answered": n} if n in answers else None for n in (1, 2, 3)]
    await workers.aclose()


async def test_of_two_calls_of_a_single_turn_agent_the_first_card_has_the_work_of_both() -> None:
    news = LlmAgent(name="news", description="news", model=ScriptedLlm(respond=echo), mode="single_turn")
    model = ScriptedLlm(turns=[[asked("news", "Oslo"), asked("news", "Rome")], "Done."])
    page = Page(create_app(ChatService(LlmAgent(name="root", model=model, sub_agents=[news]), run_config=WHOLE)))
    await page.send("go")
    first, second = (part["output"] for part in page.messages[-1]["parts"] if part["type"] == "tool-news")
    assert [part["text"] for part in first["parts"] if part["type"] == "text"] == ["About Oslo.", "About Rome."]
    assert first["metadata"]["result"] == {"result": "About Oslo."}
    assert second == {"result": "About Rome."}
    assert await page.stored() == page.messages


async def test_an_approval_has_the_reason_of_its_own_call(tmp_path: Path) -> None:
    @for_users(approval_reason=lambda args: f"Pays {args['amount']}.")
    def pay(amount: int) -> dict[str, int]:
        """Pays."""
        return {"paid": amount}

    def look(amount: int) -> str:
        """Looks."""
        return f"looked {amount}"

    calls = [Call("pay", {"amount": 5}, id=ID), Call("look", {"amount": 6}, id=ID)]
    agent = root(calls, "Paid.", tools=[FunctionTool(pay, require_confirmation=True), look])
    workers = TwoWorkers(agent, WHOLE)
    await workers.page.send("go")
    await workers.agree(tmp_path)
    assert workers.states() == ["approval-requested", "output-available"]
    reasons = [part["data"] for part in workers.page.messages[-1]["parts"] if part["type"] == "data-adk-approval"]
    assert reasons == [{"toolCallId": "0", "reason": "Pays 5."}]
    await workers.aclose()


async def test_an_unknown_tool_takes_no_result_from_the_call_with_its_id(tmp_path: Path) -> None:
    class Explaining(BasePlugin):
        async def on_tool_error_callback(self, *, tool: Any, error: Any, **_: Any) -> dict[str, Any]:
            return {"problem": tool.name}

    def look() -> str:
        """Looks."""
        return "looked"

    agent = root([Call("imagined", id=ID), Call("look", id=ID)], "Done.", tools=[look])
    workers = TwoWorkers(agent, WHOLE, plugins=[Explaining("explaining")])
    await workers.page.send("go")
    await workers.agree(tmp_path)
    assert workers.outputs() == [{"problem": "imagined"}, {"result": "looked"}]
    await workers.aclose()
