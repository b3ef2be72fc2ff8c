"""The recorded turn that a request gets, and the error if there is none."""

import base64
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from google.adk.events import Event
from google.genai import types
from starlette.types import ASGIApp

from stream_protocol.recording import load_recording, replay
from stream_protocol.replay_server import _played_chats as chats
from tests.replay_server.fixture_recordings import replay_app, write_recordings
from tests.serving.support import approval, chat, chunks, client, only, post, said, stream, text


@pytest.fixture
def app(tmp_path: Path) -> ASGIApp:
    return replay_app(
        write_recordings(
            tmp_path, "two_turns", "approval_twice", "approval_several", "client_tool", "streamed_arguments"
        )
    )


def shown(message_id: str, *parts: Mapping[str, Any]) -> dict[str, Any]:
    """A message of the assistant, as a page sends it back."""
    return {"id": message_id, "role": "assistant", "parts": [{"type": "step-start"}, *parts]}


async def refusal(app: ASGIApp, body: Mapping[str, Any]) -> str:
    """The error of a request that no recording matches: one plain line."""
    response = await post(app, body)
    assert response.status_code == 409, response.text
    assert response.headers["content-type"].startswith("text/plain")
    assert "\n" not in response.text
    return response.text


async def test_the_messages_of_a_recording_are_answered_as_they_were(app: ASGIApp) -> None:
    first = await stream(app, chat(said("hi"), chat_id="two_turns"))
    assert first[0] == {"type": "start", "messageId": "e-0001"}
    second = await stream(app, chat(said("hi"), shown("e-0001"), said("hi again", "u2"), chat_id="two_turns"))
    assert second[0] == {"type": "start", "messageId": "e-0005"}
    assert text(first) != text(second)


async def test_a_client_that_sends_only_its_last_message_goes_on_where_its_chat_is(app: ASGIApp) -> None:
    await stream(app, chat(said("hi"), chat_id="two_turns"))
    second = await stream(app, chat(said("hi again", "u2"), chat_id="two_turns"))
    assert second[0]["messageId"] == "e-0005"
    async with client(app) as http:
        messages = (await http.get("/api/chat/two_turns")).json()["messages"]
    assert [message["id"] for message in messages] == ["u1", "e-0001", "u2", "e-0005"]


async def test_another_server_knows_from_the_request_where_a_chat_is(tmp_path: Path, app: ASGIApp) -> None:
    elsewhere = await stream(app, chat(said("hi"), shown("e-0001"), said("hi again", "u2"), chat_id="two_turns--new"))
    assert elsewhere[0]["messageId"] == "e-0005"


async def test_a_chat_that_begins_again_begins_at_the_first_turn(app: ASGIApp) -> None:
    for message_id in ("u1", "v1"):
        again = await stream(app, chat(said("hi", message_id), chat_id="two_turns"))
        assert again[0]["messageId"] == "e-0001"
    async with client(app) as http:
        messages = (await http.get("/api/chat/two_turns")).json()["messages"]
    assert [message["id"] for message in messages] == ["v1", "e-0001"]


async def test_chats_beside_each_other_have_nothing_in_common(app: ASGIApp) -> None:
    for chat_id in ("two_turns--a", "two_turns--b"):
        await stream(app, chat(said("hi"), chat_id=chat_id))
    await stream(app, chat(said("hi"), shown("e-0001"), said("hi again", "u2"), chat_id="two_turns--a"))
    async with client(app) as http:
        messages = (await http.get("/api/chat/two_turns--b")).json()["messages"]
    assert len(messages) == 2


async def test_a_chat_of_another_name_plays_the_recording_that_holds_its_messages(app: ASGIApp) -> None:
    assert only(await stream(app, chat(said("weather?"))), "tool-input-start")
    assert (await stream(app, chat(said("hi"), chat_id="c2")))[0]["messageId"] == "e-0001"


async def test_what_is_regenerated_is_played_again(app: ASGIApp) -> None:
    first = await stream(app, chat(said("hi"), chat_id="two_turns"))
    assert await stream(app, chat(said("hi"), chat_id="two_turns", trigger="regenerate-message")) == first


async def test_so_it_is_for_a_client_that_sends_only_its_last_message(app: ASGIApp) -> None:
    await stream(app, chat(said("hi"), chat_id="two_turns"))
    for trigger in ("submit-message", "regenerate-message"):
        again = await stream(app, chat(said("hi again", "u2"), chat_id="two_turns", trigger=trigger))
        assert again[0]["messageId"] == "e-0005"
    async with client(app) as http:
        messages = (await http.get("/api/chat/two_turns")).json()["messages"]
    assert [message["id"] for message in messages] == ["u1", "e-0001", "u2", "e-0005"]


async def test_messages_that_were_recorded_twice_get_their_second_answer_when_they_are_regenerated(
    tmp_path: Path,
) -> None:
    write_events(
        tmp_path / "a.jsonl",
        *(
            spoken(types.Part(text=words), author=author, invocation_id=f"e-{number}")
            for number, answer in enumerate(("One.", "Two."))
            for author, words in (("user", "hi"), ("root", answer))
        ),
    )
    app = replay_app(tmp_path)
    told = [text(await stream(app, chat(said("hi"), trigger=trigger))) for trigger in TRIGGERS]
    assert told == ["One.", "Two.", "Two."]


async def test_approvals_and_outputs_are_known_by_the_ids_of_their_calls(app: ASGIApp) -> None:
    (asked,) = only(await stream(app, chat(said("pay 5, then 6"), chat_id="approval_twice")), "tool-approval-request")
    message = shown("e-0001", approval(asked, approved=True))
    (second,) = only(await stream(app, chat(said("x"), message, chat_id="approval_twice")), "tool-approval-request")
    assert second["toolCallId"] != asked["toolCallId"]
    answered = shown("e-0001", approval(asked, approved=True), approval(second, approved=True))
    assert text(await stream(app, chat(said("x"), answered, chat_id="approval_twice")))


async def test_an_answer_that_is_sent_again_is_answered_again(app: ASGIApp) -> None:
    body = chat(said("a colour"), shown("e-0001", output({"colour": "blue"})), chat_id="client_tool")
    assert await stream(app, body) == await stream(app, body)


def output(value: Any, call_id: str = "adk-0004") -> dict[str, Any]:
    return {"type": "tool-pick", "toolCallId": call_id, "state": "output-available", "input": {}, "output": value}


def failed(text: str) -> dict[str, Any]:
    return {
        "type": "tool-pick",
        "toolCallId": "adk-0004",
        "state": "output-error",
        "input": {},
        "errorText": text,
    }


TRIGGERS = ("submit-message", "regenerate-message", "regenerate-message")
ASKED = {"toolCallId": "adk-0004", "approvalId": "adk-0007"}


@pytest.mark.parametrize(
    ("chat_id", "messages", "turn", "place", "values"),
    [
        ("two_turns", [said("hello")], 1, "messages[-1].parts[0].text", ('"hi"', '"hello"')),
        ("two_turns", [said("hi again")], 2, "messages[-2].id", ('"e-0001"', "nothing")),
        (
            "two_turns",
            [said("hi"), shown("e-0001"), said("hi again"), shown("e-0005"), said("bye")],
            2,
            "messages[-1].parts[0].text",
            ("nothing", '"bye"'),
        ),
        (
            "two_turns",
            [{**said("hi"), "parts": [*said("hi")["parts"], {"type": "text", "text": "you"}]}],
            1,
            "messages[-1].parts[1].text",
            ("nothing", '"you"'),
        ),
        ("two_turns", [said("hi"), shown("e-0001")], 1, "messages[-1].role", ('"user"', '"assistant"')),
        (
            "approval_twice",
            [said("pay"), shown("e-0001", approval(ASKED, approved=False))],
            2,
            "messages[-1].parts[1].approval.approved",
            ("true", "false"),
        ),
        (
            "approval_twice",
            [said("pay"), shown("e-0001", approval({**ASKED, "approvalId": "other"}, approved=True))],
            2,
            "messages[-1].parts[1].approval.approved",
            ("nothing", "true"),
        ),
        (
            "approval_several",
            [said("pay"), shown("e-0001", approval({**ASKED, "approvalId": "adk-0010"}, approved=True))],
            2,
            "messages[-1].parts (the answer to adk-0011)",
            ('{"confirmed": false}', "nothing"),
        ),
        (
            "client_tool",
            [said("a colour"), shown("e-0001", output({"colour": "red"}))],
            2,
            "messages[-1].parts[1].output",
            ('{"colour": "blue"}', '{"colour": "red"}'),
        ),
        (
            "client_tool",
            [said("a colour"), shown("e-0001", failed("No."))],
            2,
            "messages[-1].parts[1].errorText",
            ('{"colour": "blue"}', '{"error": "No."}'),
        ),
    ],
)
async def test_a_request_that_its_recording_does_not_hold_is_told_where_it_differs(
    app: ASGIApp,
    chat_id: str,
    messages: Sequence[Mapping[str, Any]],
    turn: int,
    place: str,
    values: tuple[str, str],
) -> None:
    told = await refusal(app, chat(*messages, chat_id=chat_id))
    difference = f"{place}: recorded {values[0]}, received {values[1]}."
    assert (
        told == f"No recorded turn matches. Nearest: turn {turn} of {chat_id}.jsonl; first difference at {difference}"
    )


async def test_of_all_recordings_the_nearest_is_named(app: ASGIApp) -> None:
    assert "Nearest: turn 1 of streamed_arguments.jsonl" in await refusal(app, chat(said("weathers?")))


async def test_a_refused_request_changes_nothing(app: ASGIApp) -> None:
    await stream(app, chat(said("hi"), chat_id="two_turns"))
    await refusal(app, chat(said("hi"), shown("e-0001"), said("what?", "u2"), chat_id="two_turns"))
    left_on_the_page = [said("hi"), shown("e-0001"), said("what?", "u2"), said("hi again", "u3")]
    assert (await stream(app, chat(*left_on_the_page, chat_id="two_turns")))[0]["messageId"] == "e-0005"


def write_events(file: Path, *events: Event) -> None:
    file.write_text("".join(event.model_dump_json(by_alias=True, exclude_none=True) + "\n" for event in events))


def spoken(*parts: types.Part, author: str, invocation_id: str = "e-1") -> Event:
    return Event(invocation_id=invocation_id, author=author, content=types.Content(parts=list(parts)))


async def test_long_words_are_shown_where_they_part(tmp_path: Path) -> None:
    words = "word " * 100
    hello = types.Part(text="Hello.")
    write_events(
        tmp_path / "long.jsonl", spoken(types.Part(text=words + "a"), author="user"), spoken(hello, author="root")
    )
    told = await refusal(replay_app(tmp_path), chat(said(words + "b")))
    assert 'word word a", received …' in told
    assert told.endswith('word word b".')
    assert len(told) < 300


async def test_of_a_long_text_whole_words_are_shown(tmp_path: Path) -> None:
    words = [f"word{number}" for number in range(40)]
    long = types.Part(text=" ".join(words))
    write_events(tmp_path / "a.jsonl", spoken(long, author="user"), spoken(types.Part(text="Hi."), author="root"))
    for place in range(0, 40, 7):
        other = " ".join([*words[:place], "other", *words[place + 1 :]])
        told = await refusal(replay_app(tmp_path), chat(said(other)))
        recorded, _, received = told.partition(" at messages[-1].parts[0].text: recorded ")[2].partition(", received ")
        assert {*recorded.strip('…"').split()} <= {*words}
        assert {*received.removesuffix(".").strip('…"').split()} <= {*words, "other"}
        assert f"word{place}" in recorded
        assert "other" in received


async def test_files_are_compared_by_what_they_hold(tmp_path: Path) -> None:
    picture = types.Part(inline_data=types.Blob(data=b"\xff\xfe\xfd", mime_type="image/png"))
    words = types.Part(text="look")
    write_events(
        tmp_path / "a.jsonl",
        spoken(words, picture, author="user"),
        spoken(types.Part(text="Nice."), author="root"),
    )

    def look(data: bytes) -> dict[str, Any]:
        url = "data:image/png;base64," + base64.b64encode(data).decode()
        return {
            **said("look"),
            "parts": [*said("look")["parts"], {"type": "file", "mediaType": "image/png", "url": url}],
        }

    app = replay_app(tmp_path)
    assert text(await stream(app, chat(look(b"\xff\xfe\xfd")))) == "Nice."
    assert "first difference at messages[-1].parts[1].url" in await refusal(app, chat(look(b"other")))


async def test_a_recording_without_the_users_messages_answers_any(tmp_path: Path) -> None:
    write_events(tmp_path / "a.jsonl", spoken(types.Part(text="Hello."), author="root"))
    assert text(await stream(replay_app(tmp_path), chat(said("whatever")))) == "Hello."


async def test_a_recording_of_ours_is_known_by_its_requests_and_ends_as_it_ended(tmp_path: Path) -> None:
    hello = spoken(types.Part(text="Hello."), author="root")
    lines: Sequence[Mapping[str, Any]] = (
        {"adk_ui_stream_recording": 1, "chat": "c1"},
        {"turn": {"message_id": "m1", "request": chat(said("hi")), "options": {"send_reasoning": False}}, "at": 0},
        {"event": hello.model_dump(mode="json", by_alias=True, exclude_none=True), "at": 0.5},
        {"end": "error", "error": "hunter2", "at": 0.7},
        {"turn": {"message_id": "m2", "request": chat(said("hi"), trigger="regenerate-message")}, "at": 9},
        {"event": hello.model_dump(mode="json", by_alias=True, exclude_none=True), "at": 9.5},
        {"end": "finish", "at": 9.7},
    )
    (tmp_path / "c1.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    app = replay_app(tmp_path)
    failed = await stream(app, chat(said("hi")))
    assert (failed[0]["messageId"], failed[-1]) == ("m1", {"type": "error", "errorText": "An error occurred."})
    assert 'recorded "hi", received "ho"' in await refusal(app, chat(said("ho")))
    again = await stream(app, chat(said("hi"), trigger="regenerate-message"))
    assert (again[0]["messageId"], again[-1]["type"]) == ("m2", "finish")


async def test_only_the_newest_chats_are_remembered(app: ASGIApp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chats, "MAX_CHATS", 2)
    for chat_id in ("a", "b", "c"):
        await stream(app, chat(said("hi"), chat_id=chat_id))
    async with client(app) as http:
        assert [(await http.get(f"/api/chat/{chat_id}")).status_code for chat_id in "abc"] == [404, 200, 200]


async def test_messages_without_ids_stay_as_they_are(app: ASGIApp) -> None:
    await stream(app, chat(said("hi", ""), shown("e-0001"), said("hi again", ""), chat_id="two_turns"))
    async with client(app) as http:
        messages = (await http.get("/api/chat/two_turns")).json()["messages"]
    assert [message["id"] for message in messages] == ["", "e-0001", "", "e-0005"]


async def test_an_empty_message_is_refused_as_everywhere(app: ASGIApp) -> None:
    response = await post(app, chat(said("")))
    assert (response.status_code, response.text) == (422, "The message is empty.")


async def test_a_file_that_has_changed_is_told(tmp_path: Path) -> None:
    app = replay_app(write_recordings(tmp_path, "two_turns"))
    (tmp_path / "two_turns.jsonl").write_text("")
    told = await post(app, chat(said("hi")))
    assert (told.status_code, told.text) == (
        409,
        "two_turns.jsonl has changed since the server was started: restart the server.",
    )


async def test_the_stream_is_what_replay_prints(tmp_path: Path) -> None:
    write_recordings(tmp_path, "streamed_arguments")
    response = await post(replay_app(tmp_path), chat(said("weather?")))
    assert response.content == b"".join(replay(load_recording(tmp_path / "streamed_arguments.jsonl")))
    assert chunks(response.text)


async def test_an_output_whose_call_has_another_id_in_the_page_is_found_by_its_tool(app: ASGIApp) -> None:
    part = {**output({"colour": "blue"}, "adk-0004.2"), "type": "tool-pick_colour"}
    body = chat(said("a colour"), shown("e-0001", part), chat_id="client_tool")
    assert text(await stream(app, body)) == "Blue it is."
