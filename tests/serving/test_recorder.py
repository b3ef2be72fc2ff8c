"""Recorded chats of a service: the files have the sent chunks, and replay to the same chunks."""

import asyncio
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.adk.tools.tool_context import ToolContext
from starlette.requests import Request

from stream_protocol import SSE_DONE, ChatRequest, parse_chat_request
from stream_protocol.recording import ChatRecorder, FileRecorder, load_recording, replay, replay_messages
from stream_protocol.recording.write._recorder import file_name
from stream_protocol.serving import ChatService, RunOverrides, create_app
from stream_protocol.testing import Call, ScriptedLlm, Thought, Wait
from stream_protocol.wire import is_tool_part
from tests.recording.recordings import Written, files, lines, turns
from tests.serving.chat_client import Page
from tests.serving.support import begin, chat, post, said, stream


def pay(amount: int) -> dict[str, int]:
    """Pays."""
    return {"paid": amount}


def where(question: str) -> None:
    """Only the page knows."""


def explode() -> None:
    """Raises."""
    raise RuntimeError("hunter2")


TOOLS: list[Any] = [FunctionTool(pay, require_confirmation=True), LongRunningFunctionTool(where), explode]


class Chat:
    """A page whose service records, and the page's responses."""

    def __init__(self, folder: Path, *script: Any, agent: LlmAgent | None = None, **options: Any) -> None:
        root = agent or LlmAgent(name="root", model=ScriptedLlm(turns=script), tools=list(TOOLS))
        self.folder = folder
        self.service = ChatService(root, recorder=ChatRecorder(folder), **options)
        self.app = create_app(self.service)
        self.page = Page(self.app, ai_sdk=options.get("ai_sdk", 6))
        self.streams: list[list[Any]] = []

    async def post(self, **more: Any) -> None:
        """Posts the page's messages, and collects the response."""
        self.streams.append(await stream(self.app, self.page.body(**more)))
        self.page.take(self.streams[-1])

    async def say(self, text: str) -> None:
        self.page.messages.append(said(text, f"u{len(self.page.messages)}"))
        await self.post()

    def recorded(self) -> list[Written]:
        (path,) = files(self.folder)
        return turns(path)


def replayed(folder: Path) -> list[list[Any]]:
    """The replay of the only file, turn by turn, without any option."""
    (path,) = files(folder)
    responses: list[list[Any]] = [[]]
    for event in replay(load_recording(path)):
        if event == SSE_DONE:
            responses.append([])
        else:
            responses[-1].append(json.loads(event.removeprefix(b"data: ")))
    return responses[:-1]


async def approve(chat: Chat) -> None:
    await chat.say("pay")
    chat.page.approve(approved=True, reason="fine")
    await chat.post()
    await chat.say("and now?")


async def deny(chat: Chat) -> None:
    await chat.say("pay")
    chat.page.approve(approved=False, reason="no")
    await chat.post()


async def answer_in_the_page(chat: Chat) -> None:
    await chat.say("where?")
    chat.page.answer("where", "Oslo")
    await chat.post()


async def talk(chat: Chat) -> None:
    await chat.say("hi")
    await chat.say("again")


PAY, WHERE = Call("pay", {"amount": 3}), Call("where", {"question": "you?"})
WAYS: dict[str, tuple[Callable[[Chat], Any], list[Any]]] = {
    "text": (talk, [["Hel", "lo."], [Thought("Hm."), "Again."]]),
    "an approval": (approve, [["Let me.", PAY], "Paid.", "Nothing."]),
    "a denial": (deny, [PAY, "Not paid."]),
    "a client tool": (answer_in_the_page, [WHERE, "There."]),
    "both, with a streamed call": (approve, [Call("pay", {"amount": 3}, streamed=True), "Paid.", "Bye."]),
}


@pytest.mark.parametrize("ai_sdk", [6, 7])
@pytest.mark.parametrize("way", WAYS)
async def test_what_is_recorded_is_what_went_out_and_replays_as_that(way: str, ai_sdk: Any, tmp_path: Path) -> None:
    act, script = WAYS[way]
    chat = Chat(tmp_path, *script, ai_sdk=ai_sdk)
    await act(chat)
    recorded = chat.recorded()
    assert [turn.chunks for turn in recorded] == chat.streams
    assert replayed(tmp_path) == chat.streams
    assert {turn.events[0].author for turn in recorded} == {"user"}
    assert [turn.end for turn in recorded] == ["finish"] * len(chat.streams)
    assert [turn.times for turn in recorded] == [sorted(turn.times) for turn in recorded]


async def test_the_request_is_recorded_as_it_was_posted(tmp_path: Path) -> None:
    chat = Chat(tmp_path, "Hello.", "Again.")
    await chat.say("hi")
    answer = chat.page.messages.pop()
    await chat.post(trigger="regenerate-message", messageId=answer["id"], model="best", secret="hunter2")
    first, second = (turn.request for turn in chat.recorded())
    assert first == {"id": "c1", "messages": [said("hi", "u0")], "trigger": "submit-message"}
    assert second is not None
    assert (second["trigger"], second["model"], second["secret"]) == ("regenerate-message", "best", "[redacted]")


async def test_a_chat_of_a_task_agent_replays_without_being_told_what_was_hidden(tmp_path: Path) -> None:
    booker = LlmAgent(
        name="booker", model=ScriptedLlm(turns=["For when?", Call("finish_task", {"result": "Booked."})]), mode="task"
    )
    script = ScriptedLlm(turns=[Call("booker", {"request": "a table"}), "Done."])
    chat = Chat(tmp_path, agent=LlmAgent(name="root", model=script, sub_agents=[booker]), nested_agents="flat")
    await chat.say("book")
    recorded = chat.recorded()
    assert recorded[0].options["hidden_tools"] == ["booker"]
    assert replayed(tmp_path) == chat.streams


async def test_a_stopped_run_ends_in_an_abort_and_what_came_later_is_not_recorded(tmp_path: Path) -> None:
    chat = Chat(tmp_path, ["Half", Wait(asyncio.Event()), " more."])
    async with begin(chat.app, {"id": "c1", "messages": [said("go")]}) as exchange:
        await exchange.status()
        await exchange.until("text-delta")
        await chat.service.stop("c1", user_id="local")
        await exchange.until("abort")
    await chat.service.aclose()
    (turn,) = chat.recorded()
    assert (turn.end, turn.chunks[-1]["type"]) == ("abort", "abort")
    assert lines(files(tmp_path)[0])[-1] == {"end": "abort", "at": turn.times[-1]}


async def test_a_failed_run_ends_in_an_error(tmp_path: Path) -> None:
    chat = Chat(tmp_path, Call("explode"))
    await chat.say("go")
    (turn,) = chat.recorded()
    assert (turn.end, turn.chunks) == ("error", chat.streams[0])


async def test_the_answer_to_a_client_tool_beside_a_failed_one_replays(tmp_path: Path) -> None:
    chat = Chat(tmp_path, [WHERE, Call("explode")], "Oslo, then.")
    await chat.say("go")
    chat.page.answer("where", "Oslo")
    await chat.post()
    recorded = chat.recorded()
    assert replayed(tmp_path)[1] == recorded[1].chunks == chat.streams[1]


async def test_a_request_that_is_refused_or_runs_nothing_is_not_recorded(tmp_path: Path) -> None:
    chat = Chat(tmp_path, [PAY, WHERE], "Paid.")
    await chat.say("pay")
    chat.page.approve(approved=True)
    assert await stream(chat.app, chat.page.body())  # the other call is still open
    assert (await post(chat.app, {"id": "c1", "messages": [said("")]})).status_code == 422
    assert len(chat.recorded()) == 1


async def test_secrets_of_a_request_reach_the_tool_and_not_the_file(tmp_path: Path) -> None:
    found = []

    def look(tool_context: ToolContext) -> str:
        """Looks."""
        found.append(tool_context.state["temp:key"])
        return "seen"

    def prepare(_request: Request, _chat: ChatRequest) -> RunOverrides:
        return RunOverrides(secrets={"key": "hunter2"}, state_delta={"plan": "gold", "authToken": "hunter2"})

    agent = LlmAgent(name="root", model=ScriptedLlm(turns=[Call("look"), "Done."]), tools=[look])
    app = create_app(ChatService(agent, recorder=ChatRecorder(tmp_path)), prepare=prepare)
    await stream(app, chat(said("go")))
    (path,) = files(tmp_path)
    text = path.read_text()
    assert found == ["hunter2"]
    assert "hunter2" not in text
    assert 'adk_ui_stream"' not in text
    assert '"plan":"gold"' in text


async def test_chats_and_users_have_files_of_their_own_that_only_their_owner_reads(tmp_path: Path) -> None:
    service = ChatService(
        LlmAgent(name="root", model=ScriptedLlm(respond=lambda _: ["Hi."])), recorder=ChatRecorder(tmp_path / "new")
    )
    for user, chat_id in [("ada", "c1"), ("bob", "c1"), ("ada", "c2"), ("ada", "c1")]:
        request = parse_chat_request(chat(said("hi", f"{user}{chat_id}"), chat_id=chat_id))
        async for _ in await service.respond(request, user_id=user):
            pass
    await service.aclose()
    assert sorted(len(turns(path)) for path in files(tmp_path / "new")) == [1, 1, 2]
    assert {path.stat().st_mode & 0o777 for path in files(tmp_path / "new")} == {0o600}
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700
    assert not any("ada" in path.name for path in files(tmp_path / "new"))


@pytest.mark.parametrize(
    "chat_id", ["../../etc/passwd", "..", "a/b", "a\\b", "-rf", "", "x" * 500, "ü\ud800\n", "CON", "c1"]
)
def test_a_files_name_is_one_plain_name_whatever_the_chats_id_is(chat_id: str) -> None:
    name = file_name(chat_id, whose=("app", "ada"))
    assert re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,60}\.jsonl", name)
    assert (
        len({name, *(file_name(chat_id, whose=whose) for whose in [("app", "bob"), ("b", "ada"), ("ap", "pada")])}) == 4
    )


async def test_a_disk_that_fails_is_told_once_for_a_chat_and_no_response_notices(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    chat = Chat(tmp_path, "One.", "Two.", "Three.")
    (tmp_path / file_name("c1", whose=("root", "local"))).mkdir()
    await chat.say("hi")
    await chat.say("again")
    assert [stream[-1]["type"] for stream in chat.streams] == ["finish", "finish"]
    assert [log.name for log in caplog.records if log.levelname == "ERROR"] == [
        "stream_protocol.recording.write._turn_writer"
    ]
    await stream(chat.app, {"id": "c2", "messages": [said("hi", "other")]})
    assert sum(path.is_file() for path in files(tmp_path)) == 1


def test_a_folder_that_cannot_be_made_is_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="file"):
        ChatRecorder(tmp_path / "file" / "folder")


async def test_one_file_takes_all_that_a_service_runs(tmp_path: Path) -> None:
    agent = LlmAgent(name="root", model=ScriptedLlm(turns=["One.", "Two."]))
    app = create_app(ChatService(agent, recorder=FileRecorder(tmp_path / "all.jsonl")))
    streams = [await stream(app, chat(said("hi", text))) for text in ("u1", "u2")]
    assert [turn.chunks for turn in turns(tmp_path / "all.jsonl")] == streams


async def test_a_run_that_is_already_over_when_it_would_begin_leaves_no_file(tmp_path: Path) -> None:
    chat = Chat(tmp_path, "Never.")
    await chat.service.aclose()
    assert (await post(chat.app, {"id": "c1", "messages": [said("hi")]})).status_code == 503
    assert files(tmp_path) == []


async def test_a_denial_that_came_with_a_message_is_in_the_session_alone(tmp_path: Path) -> None:
    """A recording has the input of each run, and no run got this one."""
    recorded = Chat(tmp_path, Call("pay", {"amount": 5}), "As you like.")
    await recorded.say("pay")
    recorded.page.approve(False)
    await recorded.say("less?")
    (part,) = [part for part in (await recorded.page.stored())[1]["parts"] if part["type"] == "tool-pay"]
    assert part["state"] == "output-denied"
    (path,) = files(tmp_path)
    told = replay_messages(load_recording(path).stream_turns())
    assert [each["state"] for each in told[1]["parts"] if is_tool_part(each)] == ["output-error"]
