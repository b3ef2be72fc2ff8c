"""Recordings of this package, as a writer or a crash left them."""

import json
from pathlib import Path
from typing import Any

import pytest

from stream_protocol.recording import RecordedTurn, Recording, load_recording, replay, replay_messages

HEADER = {"adk_ui_stream_recording": 1, "adk": "2.13.0", "ai_sdk": 6, "chat": "c1"}
REQUEST = {"id": "c1", "messages": []}


def turn(message_id: str | None, **fields: Any) -> dict[str, Any]:
    return {"turn": {"request": REQUEST, "message_id": message_id, **fields}, "at": 0}


def event(words: str, at: float, author: str = "root") -> dict[str, Any]:
    content = {"role": "user" if author == "user" else "model", "parts": [{"text": words}]}
    return {"event": {"id": words, "author": author, "invocationId": "e-1", "content": content}, "at": at}


START = {"type": "start", "messageId": "m1"}
CALL = {"functionCall": {"id": "A", "name": "ask", "args": {}}}


def recorded(folder: Path, *lines: Any, tail: str = "") -> Recording:
    file = folder / "recording"
    file.write_text("".join(json.dumps(line) + "\n" for line in (HEADER, *lines)) + tail)
    return load_recording(file)


def turns(folder: Path, *lines: Any, tail: str = "") -> list[RecordedTurn]:
    return list(recorded(folder, *lines, tail=tail).turns())


def test_a_turn_has_its_request_its_events_their_times_and_its_chunks(tmp_path: Path) -> None:
    lines = [
        turn("m1"),
        event("hi", 0, "user"),
        event("yo", 0.5),
        {"chunk": START, "at": 0.6},
        {"end": "finish", "at": 1},
    ]
    [found] = turns(tmp_path, *lines)
    assert (found.message_id, found.request, found.at) == ("m1", REQUEST, (0.0, 0.5))
    assert [item.id for item in found.events] == ["hi", "yo"]
    assert (found.chunks, found.end, found.past) == ((START,), "finish", ())


def test_turns_are_where_the_recording_says_and_not_where_the_events_do(tmp_path: Path) -> None:
    first, second, third = turns(
        tmp_path, turn("m1"), event("one", 0), turn("m1"), event("two", 0), turn("m2"), event("three", 0)
    )
    assert [item.message_id for item in (first, second, third)] == ["m1", "m1", "m2"]
    assert ([e.id for e in second.past], third.past) == (["one"], ())


def asked(message_id: str, user_message_id: str) -> list[Any]:
    """Return a turn whose only event calls a tool. The model counts its calls from 0 in each response."""
    request = {"id": "c1", "messages": [{"id": user_message_id, "role": "user", "parts": []}]}
    call = {"functionCall": {"id": "0", "name": "ask", "args": {}}}
    content = {"role": "model", "parts": [call]}
    event_of_call = {"id": message_id, "author": "root", "invocationId": message_id, "content": content}
    return [{"turn": {"request": request, "message_id": message_id}, "at": 0}, {"event": event_of_call, "at": 0}]


def call_ids(folder: Path, *user_message_ids: str) -> list[str]:
    """Return the ids of the calls in a replay of requests with these user messages."""
    lines = [line for number, each in enumerate(user_message_ids) for line in asked(f"m{number}", each)]
    chunks = [json.loads(item[6:]) for item in replay(recorded(folder, *lines)) if b"[DONE]" not in item]
    return [chunk["toolCallId"] for chunk in chunks if chunk["type"] == "tool-input-available"]


def test_calls_after_an_edited_message_are_numbered_as_if_the_removed_calls_had_not_been(tmp_path: Path) -> None:
    assert call_ids(tmp_path, "u1", "u2", "u3") == ["0", "0.2", "0.3"]
    assert call_ids(tmp_path, "u1", "u2", "u2", "u3") == ["0", "0.2", "0.2", "0.3"]
    assert call_ids(tmp_path, "u1", "u2", "u1", "u2", "u4") == ["0", "0.2", "0", "0.2", "0.3"]


@pytest.mark.parametrize(
    ("end", "last"),
    [("finish", "finish"), ("error", "error"), ("timeout", "error"), ("abort", "abort"), (None, "finish")],
)
def test_a_replay_ends_as_the_recording_did(end: str | None, last: str, tmp_path: Path) -> None:
    ends = [{"end": end, "at": 1}] if end else []
    stream = list(replay(recorded(tmp_path, turn("m1"), event("one", 0), *ends)))
    assert json.loads(stream[-2][6:])["type"] == last
    assert json.loads(stream[0][6:]) == START


@pytest.mark.parametrize(("end", "waits"), [("error", True), ("timeout", False)])
def test_a_call_that_waits_for_the_user_still_waits_after_an_error_but_not_after_a_timeout(
    end: str, *, waits: bool, tmp_path: Path
) -> None:
    asked = event("ask", 0)
    asked["event"] |= {"longRunningToolIds": ["A"], "content": {"role": "model", "parts": [CALL]}}
    stream = list(replay(recorded(tmp_path, turn("m1"), asked, {"end": end, "at": 1})))
    assert ("tool-output-error" not in {json.loads(chunk[6:])["type"] for chunk in stream[:-1]}) is waits


@pytest.mark.parametrize("end", ["error", "abort"])
def test_a_turn_may_have_no_events(end: str, tmp_path: Path) -> None:
    recording = recorded(tmp_path, turn("m1"), {"end": end, "at": 1})
    [found] = recording.turns()
    assert (found.events, found.end, found.at) == ((), end, ())
    assert json.loads(list(replay(recording))[-2][6:])["type"] == end


def test_a_message_without_a_recorded_id_has_that_of_its_invocation(tmp_path: Path) -> None:
    recording = recorded(tmp_path, turn(None), event("one", 0), turn(None), event("two", 0))
    assert [(found.message_id, found.past) for found in recording.turns()] == [("e-1", ())] * 2
    assert b'"messageId":"e-1"' in next(replay(recording))


def test_the_options_that_were_recorded_count_unless_others_are_given(tmp_path: Path) -> None:
    thought = {**event("hm", 0)}
    thought["event"]["content"]["parts"][0]["thought"] = True
    options = {"send_reasoning": False, "hidden_tools": "all", "ai_sdk": 7, "send_sources": 3, "of_later": 1}
    recording = recorded(tmp_path, turn("m1", options=options), thought, event("yo", 0))
    [found] = recording.turns()
    assert found.options == {"send_reasoning": False, "hidden_tools": "all", "ai_sdk": 7}
    assert b"reasoning" not in b"".join(replay(recording))
    assert b"reasoning" in b"".join(replay(recording, send_reasoning=True))
    assert all(part["type"] != "reasoning" for part in replay_messages(recording.stream_turns())[-1]["parts"])


@pytest.mark.parametrize("tail", ['{"event": {"author": "ro', "{", '{"end": "fini', '{"chunk": {"t\xc3'])
def test_what_a_crash_left_of_the_last_line_is_skipped_with_a_warning(
    tail: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    [found] = turns(tmp_path, turn("m1"), event("one", 0), tail=tail)
    assert ([e.id for e in found.events], found.end) == (["one"], None)
    assert [record.getMessage() for record in caplog.records] == [
        "Skipped the last line of the recording, which is cut off."
    ]


def test_a_last_line_that_only_lacks_its_end_counts(tmp_path: Path) -> None:
    [found] = turns(tmp_path, turn("m1"), tail=json.dumps(event("one", 0)))
    assert [e.id for e in found.events] == ["one"]


def test_lines_of_a_later_release_are_skipped_with_one_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    novel = [{"novel": 1}, {"end": "melted"}]
    [found] = turns(tmp_path, turn("m1"), novel[0], event("one", 0), novel[1])
    assert ([e.id for e in found.events], found.end) == (["one"], None)
    assert {record.levelname for record in caplog.records} == {"WARNING"}
