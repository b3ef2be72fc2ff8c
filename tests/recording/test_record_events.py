"""The contents of our recordings, and the way their files are written."""

import errno
import os
import resource
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from google.adk.events import Event, EventActions
from google.adk.version import __version__ as adk_version
from google.genai import types
from pydantic import BaseModel

from stream_protocol import StreamProtocolError, iter_chunks
from stream_protocol.recording import record
from stream_protocol.recording.write._recording_lines import event_json
from tests.batch import batch
from tests.conformance.fixtures import VERSIONS, Fixture, RunRaisedError, fixture_names, load_fixture
from tests.processes import started
from tests.recording.recordings import Ticks, Written, drained, files, lines, said, source, texts, turns

EVENTS = [said("Hi", author="user", id="u", timestamp=1.0), said("Hello.", id="a", timestamp=2.0)]
ACTIONS: dict[str, Any] = {
    "stateDelta": {},
    "artifactDelta": {},
    "requestedAuthConfigs": {},
    "requestedToolConfirmations": {},
}


async def test_a_file_is_a_header_and_for_each_turn_its_events_its_chunks_and_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "chat.jsonl"
    monkeypatch.setattr("stream_protocol.recording.write._turn_writer.monotonic", Ticks())
    await drained(record(source(EVENTS), path, request={"id": "c1", "messages": []}, send_state=True))
    event = {"invocationId": "e-1", "actions": ACTIONS, "nodeInfo": {"path": ""}}
    user = {**event, "author": "user", "id": "u", "timestamp": 1.0}
    agent = {**event, "author": "root", "id": "a", "timestamp": 2.0}
    about = {"request": {"id": "c1", "messages": []}, "message_id": "e-1", "options": {"send_state": True}}
    by = {"providerMetadata": {"adk": {"author": "root"}}}
    assert lines(path) == [
        {"adk_ui_stream_recording": 1, "adk": adk_version, "ai_sdk": 6},
        {"turn": about, "at": 0},
        {"event": {**user, "content": {"role": "user", "parts": [{"text": "Hi"}]}}, "at": 0.5},
        {"chunk": {"type": "start", "messageId": "e-1"}, "at": 1.0},
        {"event": {**agent, "content": {"role": "model", "parts": [{"text": "Hello."}]}}, "at": 1.5},
        {"chunk": {"type": "start-step"}, "at": 2.0},
        {"chunk": {"type": "text-start", "id": "0", **by}, "at": 2.5},
        {"chunk": {"type": "text-delta", "id": "0", "delta": "Hello."}, "at": 3.0},
        {"chunk": {"type": "text-end", "id": "0"}, "at": 3.5},
        {"chunk": {"type": "finish-step"}, "at": 4.0},
        {"chunk": {"type": "finish", "finishReason": "stop"}, "at": 4.5},
        {"end": "finish", "at": 5.0},
    ]


async def recorded(fixture: Fixture, path: Path, ai_sdk: Any) -> list[Written]:
    for turn in fixture.turns:

        async def run(turn: Any = turn) -> AsyncIterator[Event]:
            for event in turn.run():
                yield event

        options = fixture.options_for(ai_sdk)
        try:
            await drained(record(run(), path, **turn.place(), **options))
        except RunRaisedError:
            assert turn.raised is not None
    return turns(path)


def replayed(turn: Written, place: dict[str, Any], fixture: Fixture, ai_sdk: Any) -> list[Any]:
    def run() -> Iterator[Event]:
        yield from turn.events
        if turn.end == "error":
            raise RunRaisedError

    return list(iter_chunks(run(), **place, message_id=turn.message_id, **fixture.options_for(ai_sdk)))


@batch(name=fixture_names())
async def test_the_events_of_a_recording_give_its_chunks_again(name: str, tmp_path: Path) -> None:
    fixture = load_fixture(name)
    for ai_sdk in VERSIONS:
        past: dict[str | None, list[Event]] = {}
        written = await recorded(fixture, tmp_path / f"{name}.v{ai_sdk}.jsonl", ai_sdk)
        for turn, given in zip(written, fixture.turns, strict=True):
            message = past.setdefault(turn.message_id, [])
            place = {"past": message, "taken_ids": given.taken_ids}
            assert replayed(turn, place, fixture, ai_sdk) == turn.chunks
            message += turn.events


@batch(name=[name for name in fixture_names() if "credential" not in name and name != "steering"])
async def test_what_holds_no_secret_is_written_as_it_was(name: str, tmp_path: Path) -> None:
    fixture = load_fixture(name)
    written = await recorded(fixture, tmp_path / f"{name}.jsonl", 6)
    assert [turn.events for turn in written] == [turn.events for turn in fixture.turns]
    assert [turn.chunks for turn in written] == fixture.convert(6)


class Weather(BaseModel):
    degrees: int
    wind: int | None = None


@pytest.mark.parametrize(
    "value",
    [{"result": Weather(degrees=3)}, {"raw": b"\xff\xfe"}, {"n": float("nan")}, {"big": 2**70}, {"s": {"b", "a"}}],
)
def test_a_tools_value_is_written_as_the_converter_shows_it(value: dict[str, Any]) -> None:
    call = types.Part(function_call=types.FunctionCall(id="A", name="f", args={}))
    response = types.Part(function_response=types.FunctionResponse.model_construct(id="A", name="f", response=value))
    events = [
        Event(invocation_id="e", author="root", content=types.Content(role="model", parts=[part]))
        for part in (call, response)
    ]
    again = [Event.model_validate(event_json(event)) for event in events]
    assert list(iter_chunks(again)) == list(iter_chunks(events))


def test_a_value_that_json_cannot_say_is_null_and_harms_nothing() -> None:
    circle: dict[str, Any] = {"ok": 1}
    circle["self"] = circle
    event = Event(author="root", actions=EventActions.model_construct(state_delta=circle))
    assert event_json(event)["actions"]["stateDelta"] == {"ok": 1, "self": None}


async def test_further_turns_go_to_the_same_file(tmp_path: Path) -> None:
    path = tmp_path / "new" / "chat.jsonl"
    await drained(record(source(EVENTS), path))
    await drained(record(source(EVENTS[1:]), path))
    assert [(len(turn.events), turn.end) for turn in turns(path)] == [(2, "finish"), (1, "finish")]
    assert path.stat().st_mode & 0o777 == 0o600


async def test_a_run_that_raises_ends_in_an_error_and_still_raises(tmp_path: Path) -> None:
    async def failing() -> AsyncIterator[Event]:
        yield EVENTS[0]
        raise OSError("hunter2")

    with pytest.raises(OSError, match="hunter2"):
        await drained(record(failing(), tmp_path / "chat.jsonl"))
    (turn,) = turns(tmp_path / "chat.jsonl")
    assert (turn.end, turn.chunks[-1]) == ("error", {"type": "error", "errorText": "An error occurred."})
    assert "hunter2" not in (tmp_path / "chat.jsonl").read_text()


async def test_a_reader_that_leaves_closes_the_run_and_is_an_abort(tmp_path: Path) -> None:
    closed = []

    async def endless() -> AsyncIterator[Event]:
        try:
            while True:
                yield said("x", partial=True)
        finally:
            closed.append(True)

    async with aclosing(record(endless(), tmp_path / "chat.jsonl")) as events:
        async for _ in events:
            break
    (turn,) = turns(tmp_path / "chat.jsonl")
    assert (turn.end, turn.chunks[-1], closed) == ("abort", {"type": "abort"}, [True])


async def test_a_run_without_events_is_a_turn(tmp_path: Path) -> None:
    await drained(record(source([]), tmp_path / "chat.jsonl"))
    (turn,) = turns(tmp_path / "chat.jsonl")
    assert (turn.message_id, turn.events, turn.end) == (None, [], "finish")


def test_contradictory_options_are_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(StreamProtocolError, match="hidden_tools"):
        record(source([]), tmp_path / "chat.jsonl", hidden_tools="none")
    assert list(tmp_path.iterdir()) == []


def test_a_killed_process_leaves_every_event_that_it_had_passed_on(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(f"""
import asyncio, itertools
from stream_protocol.recording import record
from tests.recording.recordings import said, source
async def main():
    events = source(said(str(n), partial=True) for n in itertools.count())
    async for event in record(events, {str(tmp_path / "c.jsonl")!r}):
        print(event.content.parts[0].text, flush=True)
asyncio.run(main())
""")
    with started("program", cwd=tmp_path) as process:
        seen = [process.read_line().strip() for _ in range(50)]
        process.kill()
    whole = (tmp_path / "c.jsonl").read_bytes().rpartition(b"\n")[0] + b"\n"
    (tmp_path / "whole.jsonl").write_bytes(whole)
    (turn,) = turns(tmp_path / "whole.jsonl")
    assert seen == [str(n) for n in range(50)]
    assert texts(turn)[:50] == seen
    assert turn.end is None


@pytest.mark.parametrize("lost", [1, 60, 2000])
async def test_a_turn_after_one_that_was_cut_off_takes_away_the_cut_line_alone(tmp_path: Path, lost: int) -> None:
    path = tmp_path / "chat.jsonl"
    await drained(record(source(EVENTS), path))
    kept = path.read_bytes()[:-lost].rpartition(b"\n")
    path.write_bytes(b"".join(kept))
    await drained(record(source(EVENTS), path))
    assert path.read_bytes().startswith(kept[0] + kept[1])
    assert turns(path)[-1].end == "finish"


async def test_a_cut_line_may_be_long(tmp_path: Path) -> None:
    path = tmp_path / "chat.jsonl"
    await drained(record(source(EVENTS), path))
    before = path.read_bytes()
    path.write_bytes(before + b'{"event": "' + b"x" * 300_000)
    await drained(record(source(EVENTS), path))
    assert path.read_bytes().startswith(before + b'{"turn"')


@pytest.mark.parametrize("content", [b'{"events": []}', b'{"adk_ui_stream_recording":2,"adk":"9"}\n', b"\x00" * 9])
async def test_a_file_that_is_no_recording_is_left_as_it_is(
    tmp_path: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "chat.jsonl"
    path.write_bytes(content)
    assert await drained(record(source(EVENTS), path)) == EVENTS
    assert path.read_bytes() == content
    assert [record.message for record in caplog.records] == [f"This chat is not recorded any further: {path}"]


async def test_two_runs_at_once_do_not_mix(tmp_path: Path) -> None:
    path = tmp_path / "chat.jsonl"
    first, second = (record(source([said(text)] * 3), path) for text in ("one", "two"))
    async for one in first:
        assert one == said("one", id=one.id, timestamp=one.timestamp)
        await anext(second)
    await drained(second)
    assert {file.name: set(texts(turns(file)[0])) for file in files(tmp_path)} == {
        "chat.jsonl": {"one"},
        "chat.2.jsonl": {"two"},
    }


async def test_more_runs_at_once_than_files_are_not_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("stream_protocol.recording.write._turn_writer.MAX_FILES", 2)
    runs = [record(source(EVENTS), tmp_path / "chat.jsonl") for _ in range(3)]
    for run in runs:
        assert await anext(run) == EVENTS[0]
    assert "2 processes write" in caplog.text
    assert [await drained(run) for run in runs] == [EVENTS[1:]] * 3
    assert [turns(path)[0].end for path in files(tmp_path)] == ["finish"] * 2


@contextmanager
def disk_of(size: int) -> Iterator[None]:
    """Limit the size of all files to this number of bytes: the next write is partial, and later writes fail."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("size", [10, 200, 1000, 1700])
async def test_a_full_disk_ends_the_recording_and_not_the_run(
    tmp_path: Path, size: int, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "chat.jsonl"
    events = [said(str(number), partial=True) for number in range(20)]
    with disk_of(size):
        assert await drained(record(source(events), path)) == events
    assert len(caplog.records) == 1
    await drained(record(source(EVENTS), path))
    assert turns(path)[-1].end == "finish"


@pytest.mark.parametrize("code", [errno.EACCES, errno.EROFS, errno.ENOSPC])
async def test_a_file_that_cannot_be_opened_harms_nothing(
    tmp_path: Path, code: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refused(*_: Any, **__: Any) -> int:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr("stream_protocol.recording.write._turn_writer.os.open", refused)
    assert await drained(record(source(EVENTS), tmp_path / "chat.jsonl")) == EVENTS
    assert len(caplog.records) == 1


async def test_a_folder_that_vanishes_harms_nothing(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "chat.jsonl"
    passed = []
    async for event in record(source(EVENTS), path):
        passed.append(event)
        shutil.rmtree(path.parent, ignore_errors=True)
    assert passed == EVENTS


async def test_a_hook_that_raises_ends_the_recording_and_not_the_run(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def explode(_chunk: Any) -> None:
        raise RuntimeError

    assert await drained(record(source(EVENTS), tmp_path / "c.jsonl", transform=explode)) == EVENTS
    assert len(caplog.records) == 1


async def test_dictionaries_are_recorded_and_given_on_as_they_are(tmp_path: Path) -> None:
    given = [event.model_dump(mode="json", exclude_none=True, by_alias=True) for event in EVENTS]
    assert [each async for each in record(source(EVENTS), tmp_path / "events")] == EVENTS
    assert [each async for each in record(source(given), tmp_path / "dictionaries")] == given
    (expected,), (written,) = turns(tmp_path / "events"), turns(tmp_path / "dictionaries")
    assert (written.events, written.chunks, written.end) == (expected.events, expected.chunks, expected.end)


async def test_what_is_no_event_ends_the_recording_and_not_the_run(tmp_path: Path) -> None:
    given: list[Any] = [{"error": "boom"}, *EVENTS]
    assert [each async for each in record(source(given), tmp_path / "chat")] == given
    assert not (tmp_path / "chat").exists()
