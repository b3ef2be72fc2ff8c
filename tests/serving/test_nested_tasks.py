"""Task agents and stopped agents in their calls: live, after a reload, in a recording, and in the prompt."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.adk.tools import AgentTool, FunctionTool

from stream_protocol import SSE_DONE
from stream_protocol.agents import client_tool
from stream_protocol.recording import ChatRecorder, load_recording, replay
from stream_protocol.serving import ChatService, ServiceLimits, create_app
from stream_protocol.testing import Call, ScriptedLlm, Step, Thought, Wait
from tests.comparable_messages import comparable
from tests.serving.chat_client import Page
from tests.serving.support import HANG, begin, chat, client, only, said, stream
from tests.tools import OLD_ADK

pytestmark = pytest.mark.filterwarnings("ignore:The `plugins` argument is deprecated:DeprecationWarning")

Turn = list[Step] | Step


def look(city: str) -> dict[str, str]:
    """Tells the weather."""
    return {"city": city}


def agent(name: str, *turns: Turn, **more: Any) -> LlmAgent:
    return LlmAgent(name=name, description=name, model=ScriptedLlm(turns=[*turns]), **more)


def booker(*turns: Turn, tools: tuple[Any, ...] = (look,), **more: Any) -> LlmAgent:
    """Return an agent that calls the task agent ``booker``."""
    task = agent("booker", *turns, tools=[*tools], mode="task", **more)
    return agent("root", [Call("booker", {"request": "go"})], "All done.", "Again.", sub_agents=[task])


FINISH = Call("finish_task", {"result": "Booked."})
LOOK = Call("look", {"city": "Oslo"})
ASKING: tuple[Turn, ...] = ([Thought("Hm."), "I look. ", LOOK], "Which day?", ["Fine. ", LOOK], ["I book. ", FINISH])


def shown(message: Any) -> list[str]:
    return [one.get("text") or one["type"] for one in message["parts"] if one["type"] != "step-start"]


def card(message: Any, tool: str = "booker") -> Any:
    [part] = [one for one in message["parts"] if one["type"] == f"tool-{tool}"]
    assert part["state"] == "output-available"
    assert not part.get("preliminary")
    return part["output"]


@pytest.mark.parametrize("ai_sdk", [6, 7])
async def test_a_task_without_a_question_is_shown_in_its_call(ai_sdk: Any) -> None:
    page = Page(create_app(ChatService(booker(["Found. ", LOOK], ["I book. ", FINISH]), ai_sdk=ai_sdk)), ai_sdk=ai_sdk)
    await page.send("hi")
    assert shown(page.messages[-1]) == ["tool-booker", "All done."]
    output = card(page.messages[-1])
    assert shown(output) == ["Found. ", "tool-look", "I book. "]
    assert output["metadata"]["result"] == {"result": "Booked."}
    assert await page.stored() == page.messages


@pytest.mark.parametrize("ai_sdk", [6, 7])
async def test_a_question_is_text_of_the_message_and_ends_the_card(ai_sdk: Any) -> None:
    page = Page(create_app(ChatService(booker(*ASKING), ai_sdk=ai_sdk)), ai_sdk=ai_sdk)
    await page.send("hi")
    assert shown(page.messages[-1]) == ["tool-booker", "Which day?"]
    output = card(page.messages[-1])
    assert shown(output) == ["Hm.", "I look. ", "tool-look", "Which day?"]
    assert "result" not in output["metadata"]
    assert await page.stored() == page.messages
    await page.send("Monday")
    assert shown(page.messages[-1]) == ["Fine. ", "tool-look", "I book. ", "All done."]
    assert await page.stored() == page.messages


async def test_the_card_grows_token_by_token_and_the_question_comes_whole() -> None:
    answer = await stream(create_app(booker("Which day is it?", FINISH)), chat(said("hi")))
    outputs = [chunk["output"] for chunk in only(answer, "tool-output-available")]
    texts = [*dict.fromkeys(shown(one)[0] for one in outputs)]
    assert (texts[0], texts[-1]) == ("Which", "Which day is it?")
    assert len(texts) > 2
    assert [chunk["delta"] for chunk in only(answer, "text-delta")] == ["Which day is it?"]


async def test_the_prompts_are_those_of_a_flat_task() -> None:
    prompts = []
    for chosen in ("nested", "flat", "hidden"):
        root = booker(*ASKING)
        page = Page(create_app(ChatService(root, nested_agents=chosen)))
        await page.send("hi")
        await page.send("Monday")
        models = [one.model for one in (root, *root.sub_agents) if isinstance(one, LlmAgent)]
        asked = [request for model in models if isinstance(model, ScriptedLlm) for request in model.requests]
        prompts.append([_without_ids(request.model_dump(mode="json", include={"contents"})) for request in asked])
    assert prompts[0] == prompts[1] == prompts[2]


def _without_ids(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_ids(item) for key, item in value.items() if key != "id"}
    return [_without_ids(item) for item in value] if isinstance(value, list) else value


async def test_hidden_shows_the_question_and_the_result() -> None:
    page = Page(create_app(ChatService(booker(*ASKING), nested_agents="hidden")))
    await page.send("hi")
    assert shown(page.messages[-1]) == ["tool-booker", "Which day?"]
    assert card(page.messages[-1]) == {"agent": "booker"}
    assert await page.stored() == page.messages
    whole = await stream(create_app(ChatService(booker(FINISH), nested_agents="hidden")), chat(said("hi")))
    assert only(whole, "tool-output-available")[-1]["output"] == {"result": "Booked."}


@pytest.mark.skipif(OLD_ADK, reason="In ADK 2.11 an agent that is a tool gives no result once it has asked")
async def test_a_client_tool_inside_a_task_is_answered_in_its_card() -> None:
    tools = (client_tool("locate", "Where the user is."),)
    page = Page(create_app(booker(["One moment.", Call("locate", {})], ["There. ", FINISH], tools=tools)))
    await page.send("hi")
    [asked] = page.parts("input-available")
    page.answer("locate", {"lat": 1})
    await page.submit()
    output = card(page.messages[-1])
    [inside] = [one for one in output["parts"] if one["type"] == "tool-locate"]
    assert (inside["toolCallId"], inside["output"]) == (asked["toolCallId"], {"lat": 1})
    assert output["metadata"]["result"] == {"result": "Booked."}
    assert await page.stored() == page.messages


@pytest.mark.skipif(OLD_ADK, reason="In ADK 2.11 an agent that is a tool gives no result once it has asked")
@pytest.mark.parametrize("approved", [True, False])
async def test_an_approval_inside_a_task_is_answered_in_its_card(approved: bool) -> None:
    def pay() -> str:
        """Pays."""
        return "paid"

    tools = (FunctionTool(pay, require_confirmation=True),)
    page = Page(create_app(booker(["One moment.", Call("pay", {})], ["So be it. ", FINISH], tools=tools)))
    await page.send("hi")
    page.approve(approved)
    await page.submit()
    output = card(page.messages[-1])
    [inside] = [one for one in output["parts"] if one["type"] == "tool-pay"]
    assert inside["state"] == ("output-available" if approved else "output-denied")
    assert await page.stored() == page.messages


@pytest.mark.skipif(OLD_ADK, reason="In ADK 2.11 an agent that is a tool gives no result once it has asked")
async def test_a_task_inside_a_task_is_in_its_card() -> None:
    deep = agent("deep", ["Deep. ", LOOK], Call("finish_task", {"result": "Found."}), tools=[look], mode="task")
    page = Page(create_app(booker(Call("deep", {"request": "go"}), ["I book. ", FINISH], sub_agents=[deep])))
    await page.send("hi")
    output = card(page.messages[-1])
    assert shown(output) == ["tool-deep", "I book. "]
    assert shown(card(output, "deep")) == ["Deep. ", "tool-look"]
    assert card(output, "deep")["metadata"]["result"] == {"result": "Found."}
    assert await page.stored() == page.messages


@pytest.mark.skipif(OLD_ADK, reason="In ADK 2.11 an agent that is a tool gives no result once it has asked")
async def test_a_question_from_a_task_inside_a_task_is_text_of_the_message() -> None:
    deep = agent("deep", "How deep?", Call("finish_task", {"result": "Found."}), mode="task")
    page = Page(create_app(booker(Call("deep", {"request": "go"}), ["I book. ", FINISH], sub_agents=[deep])))
    await page.send("hi")
    assert shown(page.messages[-1]) == ["tool-booker", "How deep?"]
    assert await page.stored() == page.messages
    await page.send("Very")
    assert shown(page.messages[-1])[-1] == "All done."
    assert await page.stored() == page.messages


async def test_a_recording_replays_a_task_byte_by_byte(tmp_path: Path) -> None:
    service = ChatService(booker(*ASKING), recorder=ChatRecorder(tmp_path))
    page = Page(create_app(service))
    await page.send("hi")
    await page.send("Monday")
    recorded, replayed = _recorded(tmp_path)
    assert replayed == recorded
    assert "I look. " in json.dumps([one["output"] for one in recorded if one["type"] == "tool-output-available"])


def _recorded(folder: Path) -> tuple[list[Any], list[Any]]:
    """Return the recorded chunks of all turns, and the replayed ones."""
    (file,) = folder.glob("*.jsonl")
    recorded = [line["chunk"] for line in map(json.loads, file.read_text().splitlines()) if "chunk" in line]
    sent = [event for event in replay(load_recording(file)) if event != SSE_DONE]
    return recorded, [json.loads(event.removeprefix(b"data: ")) for event in sent]


async def test_the_client_sends_a_chat_with_an_open_task_back() -> None:
    page = Page(create_app(ChatService(booker(*ASKING), history="client")))
    await page.send("hi")
    await page.send("Monday")
    assert shown(page.messages[-1]) == ["All done."]


# Stops

KINDS: dict[str, dict[str, Any]] = {"tool": {}, "single_turn": {"mode": "single_turn"}, "task": {"mode": "task"}}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("store", ["memory", "sqlite"])
async def test_a_stopped_agents_card_has_what_was_seen(kind: str, store: str, tmp_path: Path) -> None:
    inner = agent("inner", ["I look.", LOOK], ["Half of ", Wait(asyncio.Event()), " it."], tools=[look], **KINDS[kind])
    calls = {"tools": [AgentTool(inner)]} if kind == "tool" else {"sub_agents": [inner]}
    root = agent("root", ["Let me.", Call("inner", {"request": "go"})], "Other.", **calls)
    sessions = SqliteSessionService(str(tmp_path / "s.db")) if store == "sqlite" else None
    service = ChatService(root, session_service=sessions)
    app = create_app(service)
    async with begin(app, chat(said("hi"))) as answer:
        assert await answer.status() == 200
        seen: Any = {"parts": []}
        while shown(seen)[-1:] != ["Half of "] and shown(seen)[-1:] != ["Half"]:
            seen = (await answer.until("tool-output-available"))["output"]
        await service.stop("c1", user_id="local")
        while "stopped" not in seen.get("metadata", {}):
            seen = (await answer.until("tool-output-available"))["output"]
        await answer.until("abort")
    assert shown(seen) == ["I look.", "tool-look", "Half of "]
    async with client(app) as http:
        message = (await http.get("/api/chat/c1")).json()["messages"][-1]
    assert card(message, "inner") == seen
    if OLD_ADK and kind == "single_turn":
        return  # ADK 2.11 gives the next message to the agent that was stopped
    await stream(app, chat(said("hi"), said("and now?", "u2")))
    assert isinstance(root.model, ScriptedLlm)
    prompt = root.model.requests[-1].model_dump_json(include={"contents"})
    assert "Half of" not in prompt
    assert "I look." not in prompt
    assert prompt.count('"function_response":{') == 1


@pytest.mark.parametrize("mode", ["single_turn", "task"])
async def test_a_question_in_a_card_stays_open_beside_a_question_of_the_caller(mode: Any) -> None:
    where = client_tool("where", "Where the user is.")
    inner = agent("inner", ["I ask. ", Call("where", {})], tools=[where], mode=mode)
    calls: Turn = [Call("inner", {"request": "go"}), Call("where", {})]
    page = Page(create_app(agent("root", calls, tools=[where], sub_agents=[inner])))
    await page.send("hi")
    output = card(page.messages[-1], "inner")
    assert shown(output) == ["I ask. ", "tool-where"]
    assert [part["state"] for part in output["parts"] if part["type"] == "tool-where"] == ["input-available"]
    assert "metadata" not in output, "the agent has no result yet"
    assert comparable(await page.stored()) == comparable(page.messages)


async def test_a_question_in_a_card_stays_open_when_its_task_agent_replies() -> None:
    where = client_tool("where", "Where the user is.")
    asking: list[Turn] = [[Call("where", {}), LOOK], "Tell me the day, or show me the place."]
    page = Page(create_app(booker(*asking, tools=(look, where))))
    await page.send("hi")
    [question] = [part for part in card(page.messages[-1])["parts"] if part["type"] == "tool-where"]
    assert question["state"] == "input-available"
    assert comparable(await page.stored()) == comparable(page.messages)


async def test_a_question_in_a_card_is_unanswered_if_the_user_went_on() -> None:
    where = client_tool("where", "Where the user is.")
    page = Page(create_app(booker([Call("where", {})], ["I guess. ", FINISH], tools=(look, where))))
    await page.send("hi")
    await page.send("guess")
    [_, message, *_] = await page.stored()
    [question] = [part for part in card(message)["parts"] if part["type"] == "tool-where"]
    assert question["errorText"] == "The user went on without an answer."


@pytest.mark.parametrize("reply", [[], ["I wait."]], ids=["asks", "replies"])
async def test_after_a_new_message_a_card_shows_no_open_question(reply: list[Turn]) -> None:
    """The card has ended (``replies``), or is preliminary (``asks``)."""
    where = client_tool("where", "Where the user is.")
    turns: list[Turn] = [[Call("where", {}), *([LOOK] if reply else [])], *reply, "As you like."]
    page = Page(create_app(booker(*turns, tools=(look, where))))
    await page.send("hi")
    await page.send("skip it")
    message = (await page.stored())[1]
    [outer] = [part for part in message["parts"] if part["type"] == "tool-where"]
    [booking] = [part for part in message["parts"] if part["type"] == "tool-booker"]
    assert outer["errorText"] == "The user went on without an answer."
    assert [part for part in booking["output"]["parts"] if part["type"] == "tool-where"] == [outer]
    assert comparable(await page.stored()) == comparable(page.messages)


@pytest.mark.parametrize("is_answered", [False, True])
async def test_after_the_next_message_the_history_tells_how_a_question_in_a_card_ended(is_answered: bool) -> None:
    where = client_tool("where", "Where the user is.")
    asking: list[Turn] = [[Call("where", {}), LOOK], "Tell me the day, or show me the place.", ["I see. ", FINISH]]
    page = Page(create_app(booker(*asking, tools=(look, where))))
    await page.send("hi")
    if is_answered:
        page.answer("where", {"at": "Oslo"})
        await page.submit()
    await page.send("go on")
    [_, message, *_] = await page.stored()
    [question] = [part for part in card(message)["parts"] if part["type"] == "tool-where"]
    assert question in message["parts"]
    assert question.get("output") == ({"at": "Oslo"} if is_answered else None)
    assert question.get("errorText") == (None if is_answered else "The user went on without an answer.")
    assert comparable(await page.stored()) == comparable(page.messages)


@pytest.mark.parametrize("used", ["c0", "c1"], ids=["by the card's call", "by another call"])
async def test_a_question_in_a_card_may_have_an_id_of_another_call(used: str) -> None:
    where = client_tool("where", "Where the user is.")
    turns: list[Turn] = [[Call("where", {}, id=used), LOOK], "Which day?", "As you like."]
    task = agent("booker", *turns, tools=[look, where], mode="task")
    calls: list[Turn] = [Call("look", {"city": "Rome"}, id="c1"), Call("booker", {"request": "go"}, id="c0")]
    page = Page(create_app(agent("root", *calls, "Done.", tools=[look], sub_agents=[task])))
    await page.send("hi")
    await page.send("skip it")
    message = (await page.stored())[1]
    [outer] = [part for part in message["parts"] if part["type"] == "tool-where"]
    assert outer["toolCallId"] == f"{used}.2"
    assert [part for part in card(message)["parts"] if part["type"] == "tool-where"] == [outer]
    assert comparable(await page.stored()) == comparable(page.messages)


@pytest.mark.parametrize("kind", ["tool", "single_turn"])
async def test_after_a_failed_run_the_card_is_the_same_live_and_stored(kind: str) -> None:
    failed = asyncio.Event()

    async def explode() -> str:
        """Raises as soon as the agent beside it has said something."""
        await failed.wait()
        raise RuntimeError("boom")

    async def signal() -> str:
        """Lets the other tool fail, and waits."""
        failed.set()
        await asyncio.Event().wait()
        return "never"

    inner = agent("inner", ["I look.", Call("signal", {})], "Never said.", tools=[signal], **KINDS[kind])
    calls = {"tools": [explode, AgentTool(inner)]} if kind == "tool" else {"tools": [explode], "sub_agents": [inner]}
    page = Page(create_app(agent("root", [Call("inner", {"request": "go"}), Call("explode", {})], "Other.", **calls)))
    await asyncio.wait_for(page.send("hi"), HANG)
    assert comparable(await page.stored()) == comparable(page.messages)


@pytest.mark.usefixtures("patient_clock")
@pytest.mark.parametrize("kind", KINDS)
async def test_a_time_limit_keeps_what_was_seen(kind: str) -> None:
    inner = agent("inner", ["Half of", Wait(asyncio.Event())], **KINDS[kind])
    calls = {"tools": [AgentTool(inner)]} if kind == "tool" else {"sub_agents": [inner]}
    root = agent("root", [Call("inner", {"request": "go"})], **calls)
    page = Page(create_app(ChatService(root, limits=ServiceLimits(run_timeout=0.2))))
    await asyncio.wait_for(page.send("hi"), HANG)
    assert shown(card(page.messages[-1], "inner")) == ["Half of"]
    assert await page.stored() == page.messages
