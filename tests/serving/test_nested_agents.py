"""Agents that ``AgentTool`` runs: their message is shown in the call, live, after a reload and in a recording.

The model of the outer agent gets only the result.
"""

import asyncio
import copy
import json
import threading
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent, SequentialAgent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.apps import App
from google.adk.events import Event
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins import BasePlugin
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.adk.tools import AgentTool, FunctionTool, ToolContext
from google.genai import types
from pydantic import Field
from typing_extensions import override

from stream_protocol.agents import client_tool, emit_data
from stream_protocol.recording import ChatRecorder, load_recording, replay
from stream_protocol.serving import ChatService, create_app
from stream_protocol.serving.adk_runner import _nested_runs
from stream_protocol.testing import Call, ScriptedLlm, Step, Thought, token_usage
from tests.serving.chat_client import Page
from tests.serving.support import HANG, Exchange, begin, chat, chunks, client, only, said, stream, types as kinds
from tests.tools import OLD_ADK

pytestmark = [
    pytest.mark.filterwarnings("ignore:The `plugins` argument is deprecated:DeprecationWarning"),  # of ADK's AgentTool
    pytest.mark.filterwarnings("ignore:SequentialAgent is deprecated:DeprecationWarning"),
]

Turn = list[Step] | Step


def look(city: str) -> dict[str, Any]:
    """Tells the weather."""
    return {"city": city, "wind": None}


def agent(name: str, *turns: Turn, tools: tuple[Any, ...] = (), **more: Any) -> LlmAgent:
    model = ScriptedLlm(turns=[*turns])
    return LlmAgent(name=name, description=name, model=model, tools=[*tools], **more)


def called(name: str) -> Call:
    return Call(name, {"request": "go"})


def two_side_by_side() -> LlmAgent:
    """Return an orchestrator with two agents and four levels of nesting."""
    deepest = agent("deepest", "The bottom.")
    deep = agent("deep", called("deepest"), "Quite deep.", tools=(AgentTool(deepest),))
    weather = agent(
        "weather",
        [Thought("I look it up."), Call("look", {"city": "Oslo"})],
        called("deep"),
        ["It is 18 degrees in Oslo.", token_usage(prompt=5, answer=7)],
        tools=(look, AgentTool(deep)),
    )
    news = agent("news", "Nothing is new.")
    return agent(
        "root", [called("weather"), called("news")], "Done.", "Again.", tools=(AgentTool(weather), AgentTool(news))
    )


def outputs(answer: list[dict[str, Any]], tool: str) -> list[Any]:
    """Return the outputs of the tool's only call, in their order."""
    [call_id] = [chunk["toolCallId"] for chunk in only(answer, "tool-input-start") if chunk["toolName"] == tool]
    return [chunk["output"] for chunk in only(answer, "tool-output-available") if chunk["toolCallId"] == call_id]


def part(message: Any, kind: str) -> Any:
    return next(one for one in message["parts"] if one["type"] == kind)


async def test_each_call_has_the_message_of_its_own_agent_and_history_has_the_same() -> None:
    page = Page(create_app(two_side_by_side()))
    await page.send("hi")
    weather, news = (part(page.messages[-1], f"tool-{name}")["output"] for name in ("weather", "news"))
    assert [one["type"] for one in weather["parts"]] == [
        *("step-start", "reasoning", "tool-look", "step-start", "tool-deep", "step-start", "text")
    ]
    assert part(weather, "tool-look")["output"] == {"city": "Oslo", "wind": None}
    assert weather["metadata"]["result"] == {"result": "It is 18 degrees in Oslo."}
    assert weather["metadata"]["usage"]["totalTokens"] == 12
    assert [one["text"] for one in news["parts"] if one["type"] == "text"] == ["Nothing is new."]
    deepest = part(part(weather, "tool-deep")["output"], "tool-deepest")["output"]
    assert part(deepest, "text")["text"] == "The bottom."
    assert deepest["metadata"]["result"] == {"result": "The bottom."}
    assert await page.stored() == page.messages


async def test_the_message_has_the_id_of_its_call_and_grows_token_by_token() -> None:
    answer = await stream(
        create_app(agent("root", called("news"), "Done.", tools=(AgentTool(agent("news", "One two three four.")),))),
        chat(said("hi")),
    )
    shown = outputs(answer, "news")
    assert {one["id"] for one in shown} == {only(answer, "tool-input-start")[0]["toolCallId"]}
    texts = [part(one, "text")["text"] for one in shown]
    assert [*dict.fromkeys(texts)] == ["One", "One two", "One two three", "One two three four."]
    assert ["metadata" in one for one in shown] == [False] * (len(shown) - 1) + [True]


class Gate:
    """A tool that waits in its thread until the test opens the gate."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self.open = threading.Event()

    def hold(self) -> str:
        """Waits."""
        self.reached.set()
        assert self.open.wait(HANG)
        return "held"


async def test_what_happens_inside_is_seen_while_it_happens() -> None:
    gate = Gate()
    slow = agent("slow", ["Let me see.", Call("hold", {})], "Seen.", tools=(gate.hold,))
    root = agent("root", called("slow"), "Done.", tools=(AgentTool(slow),))
    async with begin(create_app(root), chat(said("hi"))) as answer:
        assert await answer.status() == 200
        output: Any = {"parts": []}
        while "input-available" not in [one.get("state") for one in output["parts"]]:
            output = (await answer.until("tool-output-available"))["output"]
        assert part(output, "text")["text"] == "Let me see."
        gate.open.set()
        while "metadata" not in output:
            output = (await answer.until("tool-output-available"))["output"]
        assert part(output, "tool-hold")["output"] == {"result": "held"}


async def test_flat_and_hidden_show_the_call_and_its_output_and_store_nothing_more() -> None:
    for chosen in ("flat", "hidden", {"weather": "flat", "news": "hidden"}):
        service = ChatService(two_side_by_side(), nested_agents=chosen)  # type: ignore[arg-type]  # of a loop
        answer = await stream(create_app(service), chat(said("hi")))
        assert outputs(answer, "weather") == [{"result": "It is 18 degrees in Oslo."}]
        assert "adk_ui_stream_nested" not in json.dumps([event.custom_metadata for event in await _stored(service)])
    one = await stream(create_app(ChatService(two_side_by_side(), nested_agents={"weather": "flat"})), chat(said("hi")))
    assert outputs(one, "weather") == [{"result": "It is 18 degrees in Oslo."}]
    assert outputs(one, "news")[-1]["metadata"]["result"] == {"result": "Nothing is new."}


async def test_a_tool_that_is_hidden_inside_is_hidden_in_the_message() -> None:
    answer = await stream(create_app(ChatService(two_side_by_side(), hidden_tools={"look"})), chat(said("hi")))
    assert "tool-look" not in json.dumps(outputs(answer, "weather"))


async def test_without_the_plugins_the_call_shows_input_and_output() -> None:
    root = agent("root", called("news"), "Done.", tools=(AgentTool(agent("news", "New."), include_plugins=False),))
    assert outputs(await stream(create_app(root), chat(said("hi"))), "news") == [{"result": "New."}]


async def _stored(service: ChatService) -> list[Event]:
    session = await service.runner.session_service.get_session(app_name="root", user_id="local", session_id="c1")
    assert session is not None
    return session.events


# The prompt


class Listener(BaseLlm):
    """Passes each request on to a model, and keeps it."""

    inner: ScriptedLlm
    asked: list[str] = Field(default_factory=list)

    @override
    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        self.asked.append(llm_request.model_dump_json(include={"contents", "config"}, exclude_none=True))
        async for response in self.inner.generate_content_async(llm_request, stream):
            yield response


@pytest.mark.parametrize("history", ["server", "client"])
async def test_the_prompts_are_the_same_with_and_without_and_have_only_the_result(history: Any) -> None:
    asked = []
    for chosen in ("nested", "hidden"):
        root = two_side_by_side()
        root.model = Listener(model="listener", inner=root.model)  # type: ignore[arg-type]  # a ScriptedLlm
        page = Page(create_app(ChatService(root, nested_agents=chosen, history=history)))
        await page.send("hi")
        await page.send("and now?")
        assert isinstance(root.model, Listener)
        assert len(root.model.asked) == 3
        asked.append([_without_ids(one) for one in root.model.asked])
    assert asked[0] == asked[1]
    assert "I look it up." not in "".join(asked[0])
    assert '{"result": "It is 18 degrees in Oslo."}' in asked[0][-1]


def _without_ids(prompt: str) -> str:
    """Return the prompt without the ids that ADK generates."""
    contents = json.loads(prompt)
    for content in contents["contents"]:
        for one in content["parts"]:
            for call in (one.get("function_call"), one.get("function_response")):
                if call is not None:
                    call.pop("id", None)
    return json.dumps(contents)


# Results with and without streaming


class EndsInPieces(BaseLlm):
    """A model of an app's own class, whose stream has no aggregated event at its end."""

    @override
    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        for text in ("One ", "two.") if stream else ("One two.",):
            content = types.Content(role="model", parts=[types.Part(text=text)])
            yield LlmResponse(content=content, partial=True if stream else None)


class Shouting(BasePlugin):
    """Changes each response of a model."""

    async def after_model_callback(self, *, callback_context: Any, llm_response: LlmResponse) -> LlmResponse:
        parts = (llm_response.content and llm_response.content.parts) or []
        content = types.Content(role="model", parts=[types.Part(text=(one.text or "") + "!") for one in parts])
        return llm_response.model_copy(update={"content": content})


def exclaim(callback_context: Any, llm_response: LlmResponse) -> LlmResponse:
    parts = (llm_response.content and llm_response.content.parts) or []
    content = types.Content(role="model", parts=[types.Part(text=(one.text or "") + "!") for one in parts])
    return llm_response.model_copy(update={"content": content})


SAYS = "One two three."
CASES: dict[str, tuple[Callable[[], Any], bool]] = {
    "a model that ends with its aggregate": (lambda: agent("inner", SAYS), True),
    "several agents": (
        lambda: SequentialAgent(name="inner", sub_agents=[agent("a", "First."), agent("b", SAYS)]),
        True,
    ),
    "an output schema": (lambda: agent("inner", '{"city": "Oslo"}', output_schema={"type": "object"}), True),
    "a model that does not": (lambda: LlmAgent(name="inner", model=EndsInPieces(model="own")), False),
    "a callback that reads each piece": (lambda: agent("inner", SAYS, after_model_callback=exclaim), False),
    "a planner that does": (lambda: agent("inner", SAYS, planner=_planner()), False),
}


def _planner() -> Any:
    from google.adk.planners import PlanReActPlanner  # noqa: PLC0415 - only here

    return PlanReActPlanner()


@pytest.mark.parametrize("case", CASES)
async def test_the_result_is_the_same_byte_by_byte_and_streams_where_that_is_sure(case: str) -> None:
    make, streams = CASES[case]
    results = []
    for chosen in ("nested", "hidden"):
        root = agent("root", called("inner"), "Done.", tools=(AgentTool(make()),))
        service = ChatService(root, nested_agents=chosen)
        answer = await stream(create_app(service), chat(said("hi")))
        [response] = [one for event in await _stored(service) for one in event.get_function_responses()]
        results.append(json.dumps(response.response))
        if chosen == "nested":
            partial = [one for one in outputs(answer, "inner")[:-1] if '"streaming"' in json.dumps(one)]
            assert bool(partial) is streams
    assert results[0] == results[1]


async def test_an_app_that_does_not_stream_has_no_streams_inside() -> None:
    root = agent("root", called("inner"), "Done.", tools=(AgentTool(agent("inner", SAYS)),))
    service = ChatService(root, run_config=RunConfig(streaming_mode=StreamingMode.NONE))
    shown = outputs(await stream(create_app(service), chat(said("hi"))), "inner")
    assert {part(one, "text")["text"] for one in shown} == {SAYS}


class Redacting(BasePlugin):
    """Removes a word from each event."""

    async def on_event_callback(self, *, invocation_context: InvocationContext, event: Event) -> Event | None:
        parts = (event.content and event.content.parts) or []
        if not any("secret" in (one.text or "") for one in parts):
            return None
        clean = [types.Part(text=(one.text or "").replace("secret", "***")) for one in parts]
        return event.model_copy(update={"content": types.Content(role="model", parts=clean)})


async def test_what_an_apps_plugin_has_removed_is_neither_shown_nor_stored() -> None:
    root = agent("root", called("inner"), "Done.", tools=(AgentTool(agent("inner", "A secret thing.")),))
    app = App(name="root", root_agent=root, plugins=[Redacting(name="redacting")])
    service = ChatService(app)
    answer = await stream(create_app(service), chat(said("hi")))
    assert part(outputs(answer, "inner")[-1], "text")["text"] == "A *** thing."
    assert "secret" not in json.dumps(answer)
    assert "secret" not in json.dumps([event.model_dump(mode="json") for event in await _stored(service)])


# Questions


@pytest.mark.skipif(OLD_ADK, reason="In ADK 2.11 an agent that is a tool gives no result once it has asked")
async def test_a_question_inside_is_refused_in_one_sentence_and_never_shown_as_one() -> None:
    def pay() -> str:
        """Pays."""
        return "paid"

    asking = {
        "locate": client_tool("locate", "Where the user is."),
        "pay": FunctionTool(pay, require_confirmation=True),
    }
    for name, tool in asking.items():
        inner = agent("inner", ["One moment.", Call(name, {})], "Never said.", tools=(tool,))
        answer = await stream(
            create_app(agent("root", called("inner"), "Sorry.", tools=(AgentTool(inner),))), chat(said("hi"))
        )
        shown = outputs(answer, "inner")
        assert "approval-requested" not in json.dumps(shown)
        refused = part(shown[-1], f"tool-{name}")
        assert refused["state"] == "output-error"
        assert refused["errorText"] == (
            "This needs an answer from you, and an agent that runs as a tool cannot wait for one."
        )
        assert "AgentTool cannot resume" in json.dumps(shown[-1]["metadata"]["result"])
        assert "tool-approval-request" not in kinds(answer)
        assert kinds(answer)[-1] == "finish"


# Agents that run in the same session


def single_turn(*turns: Turn, tools: tuple[Any, ...] = ()) -> LlmAgent:
    inner = agent("inner", *turns, tools=tools, mode="single_turn")
    return agent("root", called("inner"), "Done.", sub_agents=[inner])


def pay(amount: int) -> str:
    """Pays."""
    return f"paid {amount}"


async def test_a_single_turn_agent_is_shown_in_its_call_and_the_message_has_nothing_of_it() -> None:
    page = Page(create_app(single_turn([Thought("Hm."), Call("look", {"city": "Oslo"})], "It is 18.", tools=(look,))))
    await page.send("hi")
    assert [one["type"] for one in page.messages[-1]["parts"]] == ["step-start", "tool-inner", "step-start", "text"]
    output = part(page.messages[-1], "tool-inner")["output"]
    assert [one["type"] for one in output["parts"]] == ["step-start", "reasoning", "tool-look", "step-start", "text"]
    assert output["metadata"]["result"] == {"result": "It is 18."}
    assert await page.stored() == page.messages


@pytest.mark.skipif(OLD_ADK, reason="In ADK 2.11 an agent that is a tool gives no result once it has asked")
async def test_a_client_tool_inside_waits_in_the_card_and_as_a_part_that_the_client_answers() -> None:
    tools = (client_tool("locate", "Where the user is."),)
    page = Page(create_app(single_turn(["One moment.", Call("locate", {})], "You are there.", tools=tools)))
    await page.send("hi")
    [asked] = page.parts("input-available")
    inside = part(part(page.messages[-1], "tool-inner")["output"], "tool-locate")
    assert (inside["toolCallId"], inside["state"]) == (asked["toolCallId"], "input-available")
    page.answer("locate", {"lat": 1})
    await page.submit()
    output = part(page.messages[-1], "tool-inner")["output"]
    assert part(output, "tool-locate")["output"] == {"lat": 1}
    assert output["metadata"]["result"] == {"result": "You are there."}
    assert await page.stored() == page.messages


@pytest.mark.skipif(OLD_ADK, reason="In ADK 2.11 an agent that is a tool gives no result once it has asked")
@pytest.mark.parametrize("approved", [True, False])
async def test_an_approval_inside_waits_in_the_card_and_as_a_part_that_the_client_answers(approved: bool) -> None:
    tools = (FunctionTool(pay, require_confirmation=True),)
    page = Page(create_app(single_turn(["One moment.", Call("pay", {"amount": 5})], "So be it.", tools=tools)))
    await page.send("hi")
    [asked] = page.parts("approval-requested")
    inside = part(part(page.messages[-1], "tool-inner")["output"], "tool-pay")
    assert (inside["approval"]["id"], inside["state"]) == (asked["approval"]["id"], "approval-requested")
    page.approve(approved)
    await page.submit()
    output = part(page.messages[-1], "tool-inner")["output"]
    assert part(output, "tool-pay")["state"] == ("output-available" if approved else "output-denied")
    assert output["metadata"]["result"] == {"result": "So be it."}
    assert await page.stored() == page.messages


async def test_flat_writes_a_single_turn_agent_into_the_message_and_hidden_writes_nothing_of_it() -> None:
    turns: list[Turn] = ["Flat words."]
    flat = await stream(create_app(ChatService(single_turn(*turns), nested_agents="flat")), chat(said("hi")))
    assert [chunk["delta"] for chunk in only(flat, "text-delta")] == ["Flat", " words.", "Done."]
    hidden = await stream(create_app(ChatService(single_turn(*turns), nested_agents="hidden")), chat(said("hi")))
    assert [chunk["delta"] for chunk in only(hidden, "text-delta")] == ["Done."]
    assert outputs(hidden, "inner") == [{"result": "Flat words."}]


@pytest.mark.skipif(OLD_ADK, reason="In ADK 2.11 an agent that is a tool gives no result once it has asked")
async def test_a_question_of_a_hidden_agent_is_asked_all_the_same() -> None:
    tools = (client_tool("locate", "Where the user is."),)
    root = single_turn(["One moment.", Call("locate", {})], "You are there.", tools=tools)
    page = Page(create_app(ChatService(root, nested_agents="hidden")))
    await page.send("hi")
    page.answer("locate", {"lat": 1})
    await page.submit()
    assert part(page.messages[-1], "tool-inner")["output"] == {"result": "You are there."}
    assert "One moment." not in json.dumps(page.messages)
    assert await page.stored() == page.messages


# Failures, stops, edits


async def test_an_agent_that_fails_ends_its_call_with_an_error() -> None:
    inner = agent("inner", ["Half of", RuntimeError("the key is hunter2")])
    page = Page(create_app(agent("root", called("inner"), "Sorry.", tools=(AgentTool(inner),))))
    await page.send("hi")
    assert part(page.messages[-1], "tool-inner")["state"] == "output-error"
    assert "hunter2" not in json.dumps(page.messages)
    assert await page.stored() == page.messages


async def test_a_stop_ends_the_call_and_the_next_message_is_answered() -> None:
    gate = Gate()
    inner = agent("inner", ["Let me see", Call("hold", {})], "Seen.", tools=(gate.hold,))
    app = create_app(agent("root", called("inner"), "Other.", tools=(AgentTool(inner),)))
    async with begin(app, chat(said("hi"))) as answer:
        assert await answer.status() == 200
        await answer.until("tool-output-available")
        await asyncio.to_thread(gate.reached.wait, HANG)
        async with begin(app, chat(said("hi"), said("stop that", "u2"))) as second:
            stopped: Any = {}
            while not stopped.get("metadata", {}).get("stopped"):
                stopped = (await answer.until("tool-output-available"))["output"]
            assert part(stopped, "text")["text"] == "Let me see"
            gate.open.set()
            assert await second.status() == 200
            await second.until("finish")


async def test_an_edited_message_runs_the_agent_anew() -> None:
    inner = agent("inner", "First.", "Second.")
    page = Page(
        create_app(agent("root", called("inner"), "Done.", called("inner"), "Done.", tools=(AgentTool(inner),)))
    )
    await page.send("hi")
    await page.edit(page.messages[0]["id"], "hello")
    assert part(part(page.messages[-1], "tool-inner")["output"], "text")["text"] == "Second."
    assert await page.stored() == page.messages


# Stores, recordings, other workers


@pytest.mark.parametrize("make", [InMemorySessionService, SqliteSessionService])
async def test_every_store_gives_the_same_to_another_worker(make: Any, tmp_path: Path) -> None:
    sessions = make(str(tmp_path / "s.db")) if make is SqliteSessionService else make()
    page = Page(create_app(ChatService(two_side_by_side(), session_service=sessions)))
    await page.send("hi")
    other = Page(create_app(ChatService(two_side_by_side(), session_service=sessions)))
    assert await other.stored() == page.messages


async def test_a_recording_replays_byte_by_byte_and_loses_secrets_in_both(tmp_path: Path) -> None:
    def sign_in() -> dict[str, str]:
        """Signs in."""
        return {"password": "hunter2", "user": "ann"}

    inner = agent("inner", Call("sign_in", {}), "Signed in.", tools=(sign_in,))
    root = agent("root", called("inner"), "Done.", tools=(AgentTool(inner),))
    answer = await stream(create_app(ChatService(root, recorder=ChatRecorder(tmp_path))), chat(said("hi")))
    assert "hunter2" in json.dumps(answer)
    written, recorded, replayed = _recorded(tmp_path)
    assert "hunter2" not in written
    assert replayed == recorded
    assert part(outputs(replayed, "inner")[-1], "tool-sign_in")["output"]["user"] == "ann"


def _recorded(folder: Path) -> tuple[str, list[Any], list[Any]]:
    """Return the text of the only recording, its chunks, and the chunks of its replay."""
    (file,) = folder.glob("*.jsonl")
    text = file.read_text()
    recorded = [line["chunk"] for line in map(json.loads, text.splitlines()) if "chunk" in line]
    return text, recorded, chunks(b"".join(replay(load_recording(file))).decode())


async def test_a_recording_has_no_empty_fields_of_events_from_inside(tmp_path: Path) -> None:
    deep = agent("deep", "The bottom, in fragments.")
    inner = agent("inner", called("deep"), "Seen.", tools=(AgentTool(deep),))
    root = agent("root", called("inner"), "Done.", tools=(AgentTool(inner),))
    await stream(create_app(ChatService(root, recorder=ChatRecorder(tmp_path))), chat(said("hi")))
    written, recorded, replayed = _recorded(tmp_path)
    assert "The bottom" in written
    assert ":null" not in written
    assert replayed == recorded


async def test_data_from_inside_is_in_the_message() -> None:
    def measure(tool_context: ToolContext) -> str:
        """Measures."""
        emit_data(tool_context, "wind", {"knots": 12}, id="w")
        return "measured"

    inner = agent("inner", Call("measure", {}), "Measured.", tools=(measure,))
    page = Page(create_app(agent("root", called("inner"), "Done.", tools=(AgentTool(inner),))))
    await page.send("hi")
    output = part(page.messages[-1], "tool-inner")["output"]
    assert [one["data"] for one in output["parts"] if one["type"] == "data-wind"] == [{"knots": 12}]
    assert await page.stored() == page.messages


async def test_more_than_the_bound_is_counted_and_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_nested_runs, "MAX_KEPT", 4_000)
    turns: list[Turn] = [Call("look", {"city": "x" * 500}) for _ in range(10)]
    inner = agent("inner", *turns, "Done looking.", tools=(look,))
    page = Page(create_app(agent("root", called("inner"), "Done.", tools=(AgentTool(inner),))))
    await page.send("hi")
    output = part(page.messages[-1], "tool-inner")["output"]
    assert 0 < output["metadata"]["omittedEvents"] < 21
    assert output["metadata"]["result"] == {"result": "Done looking."}
    assert len(json.dumps(output)) < 8_000
    assert await page.stored() == page.messages


async def test_agents_deeper_than_the_bound_show_their_calls_and_outputs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_nested_runs, "MAX_DEPTH", 2)
    answer = await stream(create_app(two_side_by_side()), chat(said("hi")))
    deep = part(outputs(answer, "weather")[-1], "tool-deep")["output"]
    assert part(deep, "tool-deepest")["output"] == {"result": "The bottom."}


async def test_text_with_a_null_character_can_be_stored() -> None:
    root = agent("root", called("inner"), "Done.", tools=(AgentTool(agent("inner", "a\0b")),))
    service = ChatService(root)
    await stream(create_app(service), chat(said("hi")))
    assert "\\u0000" not in json.dumps([event.custom_metadata for event in await _stored(service)])


async def test_the_apps_runner_is_not_changed() -> None:
    root = two_side_by_side()
    runner = Runner(app_name="root", agent=root, session_service=InMemorySessionService())
    before = copy.copy(runner.plugin_manager.plugins)
    await stream(create_app(ChatService(runner)), chat(said("hi")))
    assert runner.plugin_manager.plugins == before
    assert "run_on_event_callback" not in vars(runner.plugin_manager)


async def test_preliminary_outputs_are_written_only_while_somebody_reads() -> None:
    first, second = Gate(), Gate()
    turns: list[Turn] = [["One.", Call("first", {})], ["Two.", Call("second", {})], "Three."]
    tools = FunctionTool(first.hold), FunctionTool(second.hold)
    for tool, name in zip(tools, ("first", "second"), strict=True):
        tool.name = name
    service = ChatService(
        agent("root", called("inner"), "Done.", tools=(AgentTool(agent("inner", *turns, tools=tools)),))
    )
    app = create_app(service)
    async with begin(app, chat(said("hi"))) as answer:
        assert await answer.status() == 200
        await answer.until("tool-output-available")
        await asyncio.to_thread(first.reached.wait, HANG)
    first.open.set()
    await asyncio.to_thread(second.reached.wait, HANG)
    async with Exchange(app, "/api/chat/c1/stream", method="GET").begin(b"") as late:  # a page that was reloaded
        assert await late.status() == 200
        seen: list[str] = []
        while "Two." not in seen:
            output = (await late.until("tool-output-available"))["output"]
            seen = [one["text"] for one in output["parts"] if one["type"] == "text"]
        second.open.set()
        await late.until("finish")
    async with client(app) as http:
        [_, message] = (await http.get("/api/chat/c1")).json()["messages"]
    assert part(message, "tool-inner")["output"]["metadata"]["result"] == {"result": "Three."}
