"""Steering: a run takes in a message of the user before its next model call."""

import asyncio
from typing import Any

import pytest
from google.adk.agents import LlmAgent, SequentialAgent
from google.adk.apps import App
from google.adk.plugins import BasePlugin
from google.adk.tools import AgentTool
from google.genai import types as genai

from stream_protocol.recording import ChatRecorder, load_recording, replay
from stream_protocol.testing import Call, Wait
from tests.serving.steering import ReadLlm, SteeredApp, folded, rest
from tests.serving.support import (
    answered,
    approval,
    begin,
    chat,
    chunks,
    client,
    only,
    said,
    soon,
    stream,
    text,
    types,
)

pytestmark = pytest.mark.usefixtures("patient_clock")

DELIVERED = {"type": "delivered", "id": "s1"}
PARTS = [{"type": "text", "text": "Stop at one."}]
OLD_PART = {"type": "data-adk-steering", "id": "s1", "data": {"id": "s1", "parts": PARTS}}
NEW_PART = {"type": "steering-message", "id": "s1", "parts": PARTS}


async def steered(app: SteeredApp, *texts: str) -> list[dict[str, Any]]:
    """The response of a run that is steered while its tool runs."""
    async with begin(app.app, chat(said("Dig two."))) as answer:
        await answer.status()
        await soon(app.digging)
        for number, each in enumerate(texts, 1):
            assert (await app.steer(each, f"s{number}"))["type"] == "delivered"
        app.may_end.set()
        response = await rest(answer)
    await app.service.runs.free()
    return response


@pytest.mark.parametrize(
    ("ai_sdk", "part"),
    [(6, OLD_PART), ("6.0.326", OLD_PART), (7, OLD_PART), ("7.0.162", OLD_PART), ("7.0.163", NEW_PART)],
)
async def test_a_message_during_a_tool_is_read_after_its_result(ai_sdk: Any, part: Any) -> None:
    app = SteeredApp(Call("dig", {}), "Dug one.", "Again.", ai_sdk=ai_sdk)
    response = await steered(app, "Stop at one.")
    assert app.model.read == [["Dig two."], ["Dig two.", "call dig", "result dig", "Stop at one."]]
    assert only(response, part["type"]) == [part]
    at = types(response).index(part["type"])
    assert types(response)[at - 2 : at + 2] == ["tool-output-available", "finish-step", part["type"], "start-step"]
    major = 7 if str(ai_sdk).startswith("7") else 6
    user, assistant = await app.history()
    assert user["parts"] == said("Dig two.")["parts"]
    assert assistant == folded(response, major)
    assert part["type"] in types(assistant["parts"])

    assert text(await stream(app.app, chat(said("And now?", "u2")))) == "Again."
    assert app.model.read[-1] == ["Dig two.", "call dig", "result dig", "Stop at one.", "Dug one.", "And now?"]
    assert [message["role"] for message in await app.history()] == ["user", "assistant"] * 2


async def test_the_stored_event_is_the_users_in_the_runs_invocation() -> None:
    app = SteeredApp(Call("dig", {}), "Dug one.")
    await steered(app, "Stop at one.")
    events = await app.stored()
    (event,) = [event for event in events if event.content and event.content.parts[0].text == "Stop at one."]  # type: ignore[index]
    assert (event.author, event.invocation_id, event.branch) == ("user", events[0].invocation_id, None)
    assert event.custom_metadata == {"adk_ui_stream": {"steering": {"id": "s1", "call": "root//2"}}}


async def test_two_messages_are_read_in_their_order() -> None:
    app = SteeredApp(Call("dig", {}), "Dug.")
    response = await steered(app, "Deeper.", "No, wider.")
    assert app.model.read[1][-2:] == ["Deeper.", "No, wider."]
    assert [chunk["id"] for chunk in only(response, "data-adk-steering")] == ["s1", "s2"]
    assert types(response).count("start-step") == 2


async def test_a_message_while_a_text_streams_is_read_after_the_text() -> None:
    app = SteeredApp(["One ", Wait(0.2), "two.", Call("dig", {})], "Three.")
    app.may_end.set()
    async with begin(app.app, chat(said("Count."))) as answer:
        await answer.status()
        await answer.until("text-delta")
        assert await app.steer("Stop at one.") == DELIVERED
        response = await rest(answer)
    assert app.model.read[1][-2:] == ["result dig", "Stop at one."]
    assert only(response, "data-adk-steering") == [OLD_PART]


async def test_an_equal_message_is_delivered_once() -> None:
    app = SteeredApp(Call("dig", {}), "Dug one.", "Next.")
    async with begin(app.app, chat(said("Dig two."))) as answer:
        await answer.status()
        await soon(app.digging)
        outcomes = await asyncio.gather(*(app.steer("Stop at one.") for _ in range(3)))
        assert outcomes == [DELIVERED] * 3
        app.may_end.set()
        await answer.until("data-adk-steering")
        assert await app.steer("Stop at one.") == DELIVERED
        await rest(answer)
    await app.service.runs.free()
    assert await app.steer("Stop at one.") == DELIVERED
    assert app.model.read[-1].count("Stop at one.") == 1
    # A page that lost the answer to its steering request may send the message as a new one.
    repeated = await stream(app.app, chat(said("Stop at one.", "s1"), trigger="submit-message"))
    assert text(repeated) == "Dug one."
    assert len(app.model.read) == 2


async def test_a_message_that_comes_too_late_begins_the_next_turn_once() -> None:
    app = SteeredApp(["One ", Wait(0.5), "two."], "Stopped.")
    async with begin(app.app, chat(said("Count."))) as answer:
        await answer.status()
        await answer.until("text-delta")
        assert await app.steer("Stop at one.") == DELIVERED
        response = await rest(answer)
    await app.service.drain()
    assert only(response, "data-adk-steering") == []
    assert app.model.read == [["Count."], ["Count.", "One two.", "Stop at one."]]
    first, one, second, stopped = await app.history()
    assert (first["id"], second["id"], second["parts"]) == ("u1", "s1", PARTS)
    assert "Stopped." in str(stopped["parts"])
    assert "One two." in str(one["parts"])


async def test_more_late_messages_are_taken_in_by_the_next_turn() -> None:
    app = SteeredApp(["One ", Wait(0.5), "two."], "Stopped.")
    async with begin(app.app, chat(said("Count."))) as answer:
        await answer.status()
        await answer.until("text-delta")
        for number in (1, 2, 3):
            assert (await app.steer(f"Late {number}.", f"s{number}"))["type"] == "delivered"
        await rest(answer)
    await app.service.drain()
    assert app.model.read[1:] == [["Count.", "One two.", "Late 1.", "Late 2.", "Late 3."]]
    *_, user, assistant = await app.history()
    assert user["id"] == "s1"
    assert [part["id"] for part in only(assistant["parts"], "data-adk-steering")] == ["s2", "s3"]


async def test_a_message_before_the_run_is_stopped_is_stored_and_not_answered() -> None:
    app = SteeredApp(Call("dig", {}), "Never.")
    async with begin(app.app, chat(said("Dig."))) as answer:
        await answer.status()
        await soon(app.digging)
        assert await app.steer("Stop at one.") == DELIVERED
        async with client(app.app) as http:
            await http.post("/api/chat/c1/stop")
        app.may_end.set()
        await rest(answer)
    await app.service.drain()
    assert len(app.model.read) == 1
    assert [message["id"] for message in await app.history() if message["role"] == "user"] == ["u1", "s1"]


async def test_a_stop_while_the_end_of_a_run_is_stored_stops_the_turn_after_it() -> None:
    """Its response has ended already, but the next turn has not begun."""
    ending, may_end, may_say = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def on_finish(*_: object) -> None:
        ending.set()
        await may_end.wait()

    app = SteeredApp(["One ", Wait(may_say), "two."], "Never.", on_finish=on_finish)
    async with begin(app.app, chat(said("Count."))) as answer:
        await answer.status()
        await answer.until("text-delta")
        assert await app.steer("Stop at one.") == DELIVERED
        may_say.set()
        await soon(ending)
        async with client(app.app) as http:
            assert (await http.post("/api/chat/c1/stop")).status_code == 202
        may_end.set()
        assert types(await rest(answer))[-1] == "finish"
    await app.service.drain()
    assert len(app.model.read) == 1
    assert [message["id"] for message in await app.history() if message["role"] == "user"] == ["u1", "s1"]


async def test_stop_and_steer_at_once_lose_nothing() -> None:
    app = SteeredApp(Call("dig", {}), "Never.", "Then.")
    async with begin(app.app, chat(said("Dig."))) as answer:
        await answer.status()
        await soon(app.digging)
        async with client(app.app) as http:
            outcome, _ = await asyncio.gather(app.steer("Stop at one."), http.post("/api/chat/c1/stop"))
        app.may_end.set()
        await rest(answer)
    await app.service.drain()
    users = [message["id"] for message in await app.history() if message["role"] == "user"]
    assert users == (["u1", "s1"] if outcome == DELIVERED else ["u1"])
    if outcome != DELIVERED:
        assert outcome in ({"type": "not-delivered", "id": "s1", "reason": why} for why in ("aborted", "finished"))


async def test_an_idle_chat_takes_in_nothing() -> None:
    app = SteeredApp("Hello.", Call("pay", {"amount": 1}), "Paid.")
    await stream(app.app, chat(said("hi")))
    assert await app.steer("Late.") == {"type": "not-delivered", "id": "s1", "reason": "finished"}
    (asked,) = only(await stream(app.app, chat(said("Pay.", "u2"))), "tool-approval-request")
    assert await app.steer("Late.") == {"type": "not-delivered", "id": "s1", "reason": "waiting-for-tool-results"}
    message_id = (await app.history())[-1]["id"]
    paid = await stream(app.app, answered(message_id, approval(asked, approved=True)))
    assert text(paid) == "Paid."
    assert all("Late." not in read for read in app.model.read)


async def test_a_failing_run_gives_its_message_to_the_next_turn() -> None:
    app = SteeredApp(["Half", Wait(0.5), RuntimeError("broken")], "Stopped.")
    async with begin(app.app, chat(said("Dig."))) as answer:
        await answer.status()
        await answer.until("text-delta")
        assert await app.steer("Late.") == DELIVERED
        assert types(await rest(answer))[-1] == "error"
    await app.service.drain()
    assert app.model.read[-1][-1] == "Late."
    assert "Stopped." in str((await app.history())[-1]["parts"])


async def test_a_rewind_removes_the_message() -> None:
    app = SteeredApp(Call("dig", {}), "Dug one.", "Again.")
    await steered(app, "Stop at one.")
    again = await stream(app.app, chat(said("Dig three.", "u1"), trigger="submit-message", messageId="u1"))
    assert text(again) == "Again."
    assert app.model.read[-1] == ["Dig three."]
    assert "Stop at one." not in str(await app.history())


@pytest.mark.filterwarnings("ignore:SequentialAgent is deprecated:DeprecationWarning")
async def test_every_agent_of_a_run_reads_the_message() -> None:
    first = ReadLlm(turns=[Call("dig", {}), "Dug."])
    second = ReadLlm(turns=["Told."])
    app = SteeredApp("Unused.")
    digger = LlmAgent(name="digger", model=first, tools=[app.dig])
    teller = LlmAgent(name="teller", model=second)
    app.use(SequentialAgent(name="root", sub_agents=[digger, teller]))
    response = await steered(app, "Stop at one.")
    assert first.read[1][-1] == "Stop at one."
    assert "Stop at one." in second.read[0]
    assert (await app.history())[1] == folded(response)


@pytest.mark.filterwarnings("ignore:The `plugins` argument is deprecated:DeprecationWarning")  # of ADK's AgentTool
async def test_the_agent_inside_an_agent_tool_does_not_read_it_and_its_caller_does() -> None:
    inner = ReadLlm(turns=[Call("dig", {}), "Dug."])
    app = SteeredApp(Call("digger", {"request": "Dig."}), "Dug one.")
    tool = AgentTool(LlmAgent(name="digger", model=inner, tools=[app.dig]))
    app.use(LlmAgent(name="root", model=app.model, tools=[tool]))
    await steered(app, "Stop at one.")
    assert all("Stop at one." not in read for read in inner.read)
    assert app.model.read[1][-1] == "Stop at one."


async def test_the_apps_plugins_see_the_message_as_a_users_message() -> None:
    class Shouting(BasePlugin):
        async def on_user_message_callback(self, *, invocation_context: Any, user_message: genai.Content) -> Any:
            texts = [part.text or "" for part in user_message.parts or ()]
            return genai.Content(role="user", parts=[genai.Part(text=text.upper()) for text in texts])

    app = SteeredApp(Call("dig", {}), "Dug one.")
    app.use(App(name="root", root_agent=app.agent, plugins=[Shouting(name="shouting")]))
    response = await steered(app, "Stop at one.")
    assert app.model.read[1][-1] == "STOP AT ONE."
    (part,) = only(response, "data-adk-steering")
    assert part["data"]["parts"] == [{"type": "text", "text": "STOP AT ONE."}]
    assert (await app.history())[1] == folded(response)


async def test_a_file_comes_with_the_message() -> None:
    app = SteeredApp(Call("dig", {}), "Dug one.", ai_sdk="7.0.173")
    file = {"type": "file", "mediaType": "image/png", "filename": "a.png", "url": "data:image/png;base64,aGk="}
    async with begin(app.app, chat(said("Dig two."))) as answer:
        await answer.status()
        await soon(app.digging)
        async with client(app.app) as http:
            body = {"id": "s1", "parts": [{"type": "text", "text": "Like this:"}, file]}
            assert (await http.post("/api/chat/c1/steer", json=body)).json() == DELIVERED
        app.may_end.set()
        response = await rest(answer)
    (part,) = only(response, "steering-message")
    assert part["parts"] == [{"type": "text", "text": "Like this:"}, file]
    assert (await app.history())[1] == folded(response, 7)


async def test_a_steered_run_is_replayed_from_its_recording(tmp_path: Any) -> None:
    app = SteeredApp(Call("dig", {}), "Dug one.", recorder=ChatRecorder(tmp_path))
    response = await steered(app, "Stop at one.")
    (file,) = tmp_path.glob("*.jsonl")
    assert chunks(b"".join(replay(load_recording(file))).decode()) == response


class TestOnBusy:
    """A stock client posts a new message while a run goes on, with ``on_busy="steer"``."""

    async def test_the_run_takes_it_in_and_its_response_is_the_answer(self) -> None:
        app = SteeredApp(Call("dig", {}), "Dug one.", on_busy="steer")
        async with begin(app.app, chat(said("Dig two."))) as answer:
            await answer.status()
            await soon(app.digging)
            second = asyncio.create_task(stream(app.app, chat(said("Dig two."), said("Stop at one.", "s1"))))
            await app.accepted(1)
            app.may_end.set()
            response = await rest(answer)
            assert await asyncio.wait_for(second, 20) == response
        assert only(response, "data-adk-steering") == [OLD_PART]
        assert len(app.model.read) == 2
        assert [message["role"] for message in await app.history()] == ["user", "assistant"]

    async def test_one_that_comes_too_late_is_the_next_turn_and_gets_its_response(self) -> None:
        may_end = asyncio.Event()
        app = SteeredApp(["One ", Wait(may_end), "two."], "Stopped.", on_busy="steer")
        async with begin(app.app, chat(said("Count."))) as answer:
            await answer.status()
            await answer.until("text-delta")
            second = asyncio.create_task(stream(app.app, chat(said("Count."), said("Stop at one.", "s1"))))
            await app.accepted(1)
            may_end.set()
            assert "data-adk-steering" not in types(await rest(answer))
            assert text(await asyncio.wait_for(second, 20)) == "Stopped."
        await app.service.drain()
        assert len(app.model.read) == 2
        assert [message["id"] for message in await app.history()][::2] == ["u1", "s1"]

    async def test_an_edit_interrupts(self) -> None:
        app = SteeredApp(Call("dig", {}), "Dug three.", on_busy="steer")
        async with begin(app.app, chat(said("Dig two."))) as answer:
            await answer.status()
            await soon(app.digging)
            app.may_end.set()
            edited = await stream(app.app, chat(said("Dig three.", "u1"), messageId="u1", trigger="submit-message"))
            assert text(edited) == "Dug three."


async def test_a_message_before_an_approval_closes_it_as_a_new_message_does() -> None:
    may_end = asyncio.Event()
    app = SteeredApp(["I pay. ", Wait(may_end), Call("pay", {"amount": 1})], "Not paid.")
    async with begin(app.app, chat(said("Pay one."))) as answer:
        await answer.status()
        await answer.until("text-delta")
        assert await app.steer("No, do not.") == DELIVERED
        may_end.set()
        assert "tool-approval-request" in types(await rest(answer))
    await app.service.drain()
    assert app.model.read[1] == ["Pay one.", "I pay. ", "call pay", "result pay", "No, do not."]
    _, asked, steered, replied = await app.history()
    assert (asked["parts"][-1]["type"], asked["parts"][-1]["state"]) == ("tool-pay", "output-error")
    assert (steered["id"], replied["parts"][-1]["text"]) == ("s1", "Not paid.")
