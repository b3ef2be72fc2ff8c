"""Recordings of ADK events are read, and other files are refused."""

import io
import json
import os
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest
import yaml
from google.adk.events import Event
from google.adk.sessions import Session
from google.genai import types

from stream_protocol import SSE_DONE
from stream_protocol.recording import Recording, RecordingError, load_recording, replay
from tests.opened_files import open_as


def event(text: str, **fields: Any) -> Event:
    content = types.Content(role="model", parts=[types.Part(text=text)])
    return Event(invocation_id="e-1", author="root", content=content, **fields)


EVENTS = [event("one"), event("two")]
SESSION = Session(id="s", app_name="a", user_id="u", events=EVENTS)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "recording"


def events_in(recording: Recording) -> list[Event]:
    return [event for turn in recording.turns() for event in turn.events]


@pytest.mark.parametrize("by_alias", [True, False])
@pytest.mark.parametrize("exclude_none", [True, False])
@pytest.mark.parametrize(
    "form", ["jsonl", "jsonl with blank lines", "jsonl of Windows", "session", "session on lines", "array", "on lines"]
)
def test_every_form_of_json_gives_the_same_events(form: str, by_alias: bool, exclude_none: bool, file: Path) -> None:
    events = [item.model_dump(mode="json", by_alias=by_alias, exclude_none=exclude_none) for item in EVENTS]
    session = SESSION.model_dump(mode="json", by_alias=by_alias, exclude_none=exclude_none)
    lines = [json.dumps(item) for item in events]
    text = {
        "jsonl": "\n".join(lines),
        "jsonl with blank lines": "\n\n" + "\n \n".join(lines) + "\n\n",
        "jsonl of Windows": "\ufeff" + "\r\n".join(lines) + "\r\n",
        "session": json.dumps(session),
        "session on lines": json.dumps(session, indent=1),
        "array": json.dumps(events),
        "on lines": json.dumps(events, indent=1),
    }[form]
    file.write_bytes(text.encode())
    assert events_in(load_recording(file)) == EVENTS


# files that are not recordings

GOOD = EVENTS[0].model_dump_json()
HEADER = '{"adk_ui_stream_recording": 1}'
CHUNK = '{"type": "start"}'
DEEP = "[" * 100_000
UNKNOWN = "not a recording: pass ADK events as JSON, JSON lines, YAML, an SSE response or an SQLite store"
BAD: dict[str, tuple[str | bytes, str]] = {
    "nothing": ("", "the file is empty"),
    "blank lines": ("\n \r\n", "nothing in it but white space"),
    "rubbish": (bytes(range(256)), "not a text file"),
    "rubbish without a zero": (bytes(range(128, 256)) * 2, "line 1, column 1 is not UTF-8"),
    "rubbish after events": (f"{GOOD}\n".encode() + b"\xc3\x28\n", "line 2, column 1 is not UTF-8"),
    "a picture": (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "not a text file"),
    "UTF-16": (GOOD.encode("utf-16"), "it is UTF-16; save it as UTF-8"),
    "text": ("hello", UNKNOWN),
    "a number": ("3", UNKNOWN),
    "other JSON": ('{"a": 1}', "line 1 is not an ADK event: it has no author"),
    "no list": ('{"events": 3}', "its `events` are of the type int, no list"),
    "a list of numbers": ("[3]", "event 1 is not an ADK event: it is of the type int"),
    "an empty session": ('{"id": "s", "events": []}', "no events in it"),
    "an empty array": ("[]", "no events in it"),
    "an event cut off": (f"{GOOD}\n\n{{", "line 3, column 2 is not JSON"),
    "the only event cut off": (GOOD[:40], "line 1, column 41 is not JSON"),
    "a session cut off": ('{\n"events": [\n', "line 3, column 1 is not JSON"),
    "an event without its author": (f'{GOOD}\n{{"id": "x"}}', "line 2 is not an ADK event: it has no author"),
    "a number among the lines": (f"{GOOD}\n3", "line 2 is not an ADK event: it is of the type int"),
    "a session among the lines": (f'{GOOD}\n{{"events": []}}', "line 2 is not an ADK event: it has no author"),
    "events after a session": (f'{{"events": [{GOOD}]}}\n{GOOD}', "line 2 follows a whole document"),
    "a chunk": (CHUNK, "line 1 is not an ADK event: it is a chunk of a UI message stream"),
    "a chunk among events": (f"{GOOD}\n{CHUNK}", "line 2 is not an ADK event: it is a chunk of a UI message stream"),
    "a stream of chunks": (f"data: {CHUNK}\n\n", "line 1 is not an ADK event: it is a chunk of a UI message stream"),
    "a stream among events": (f"{GOOD}\ndata: {GOOD}\n\n", "line 2, column 1 is not JSON"),
    "events in a capture": (f"data: {GOOD}\n\n{GOOD}\n", "line 3 is JSON without `data:`, in an event stream"),
    "a capture cut off": (f"data: {GOOD}\n\ndata: {GOOD[:20]}", "line 3, column 24 is not JSON"),
    "a deep document": (DEEP, "line 1 is nested too deeply"),
    "a deep line": (f"{GOOD}\n{DEEP}", "line 2 is nested too deeply"),
    "a deep capture": (f"data: {DEEP}\n\n", "line 1 is nested too deeply"),
    "deep YAML": (f"events:\n  {DEEP}", "line 2 is nested too deeply"),
    "YAML that is none": ("app_name: a\nevents: ]\n", "line 2, column 9 is not YAML"),
    "YAML of something else": ("events: 3", "its `events` are of the type int, no list"),
    "YAML with aliases": ("events:\n - &a [1]\n - [*a, *a]", "line 3 has a YAML alias, which no recording of ADK has"),
    "YAML with a code": (
        "events: !!python/object:os.system {}",
        "line 1, column 9 has a YAML tag that is not read",
    ),
    "an endless number": ('{"author": ' + "1" * 10_000 + "}", "line 1, column 12 has a number that is too long"),
    "a later format": (
        '{"adk_ui_stream_recording": 2}',
        "the recording has version 2 of its format; this release reads 1",
    ),
    "no format": (
        '{"adk_ui_stream_recording": "x"}',
        'the recording has version "x" of its format; this release reads 1',
    ),
    "a recording of nothing": (HEADER, "no events in it"),
    "two recordings": (f"{HEADER}\n{HEADER}\n", "line 2 has no place in a recording"),
    "a line that is none": (f"{HEADER}\n{{\n{HEADER}\n", "line 2, column 2 is not JSON"),
    "no object": (f"{HEADER}\n3\n", "line 2 has no place in a recording"),
    "options that cannot be": (
        f'{HEADER}\n{{"turn": {{"options": {{"ai_sdk": 5}}}}}}\n',
        'line 2 has options that cannot be: `ai_sdk` must be 6, 7, or a full version such as "7.0.120", not 5',
    ),
    "a store that is none": (b"SQLite format 3\0" + b"x" * 4000, "the store cannot be read: file is not a database"),
    "a store cut off": (b"SQLite format 3\0", "the store cannot be read: file is not a database"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_recording_is_told_in_one_line(name: str, file: Path) -> None:
    content, reason = BAD[name]
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(RecordingError) as refused:
        load_recording(file)
    assert str(refused.value) == reason
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.parametrize(
    ("path", "reason"),
    [(".", "Is a directory"), ("missing", "No such file or directory"), ("a\0b", "no path of a file")],
)
def test_what_is_no_file_is_told_in_one_line(path: str, reason: str, tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match=f"^{reason}$"):
        load_recording(tmp_path / path)


def test_a_pipe_is_refused_since_it_is_read_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(RecordingError, match="a pipe or device"):
        load_recording(tmp_path / "pipe")


def test_a_file_that_may_not_be_read_is_told(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> NoReturn:
        raise PermissionError(13, "Permission denied")  # root may read any file

    file.write_text(GOOD)
    open_as(monkeypatch, file, refuse)
    with pytest.raises(RecordingError, match=r"^Permission denied$"):
        load_recording(file)


# size


@pytest.mark.parametrize("beginning", [b"", b"{", f"{GOOD}\n".encode(), b"data: ", f"{HEADER}\n".encode(), b"[\n"])
def test_a_line_of_a_gigabyte_is_not_held(beginning: bytes, monkeypatch: pytest.MonkeyPatch, file: Path) -> None:
    class Endless(io.RawIOBase):
        """A stream with the beginning, then a gigabyte of ``x``. Reading all of it at once fails the test."""

        given = 0

        def readable(self) -> bool:
            return True

        def seekable(self) -> bool:
            return True

        def seek(self, *_: Any) -> int:
            self.given = 0
            return 0

        def readinto(self, buffer: Any, /) -> int:
            rest = (beginning[self.given :] or b"x" * len(buffer))[: len(buffer)]
            buffer[: len(rest)] = rest
            self.given += len(rest)
            assert self.given < 2**30, "the whole line was read"
            return len(rest)

    file.write_bytes(b"x")
    monkeypatch.setattr("stream_protocol.recording.read._lines.MAX_LINE", 2**18)
    monkeypatch.setattr("stream_protocol.recording.read._lines.MAX_DOCUMENT", 2**19)
    open_as(monkeypatch, file, lambda: io.BufferedReader(Endless()))
    number = beginning.count(b"\n") + 1
    reason = "not a recording: " if not beginning else "must be read as a whole" if beginning == b"[\n" else None
    with pytest.raises(RecordingError, match=reason or f"line {number} is longer than"):
        load_recording(file)


def test_a_document_is_bounded(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stream_protocol.recording.read._lines.MAX_DOCUMENT", 200)
    file.write_text(json.dumps({"events": [json.loads(GOOD)]}, indent=1))
    with pytest.raises(RecordingError, match=r"^it must be read as a whole and is longer than 0 MiB$"):
        load_recording(file)


FRAGMENT = event("TEXT", partial=True).model_copy(update={"id": "ID", "invocation_id": "INVOCATION"})


def turn_lines(number: int, invocation: int) -> Iterator[str]:
    """Return a turn of about 100 kB, most of it fragments."""
    line = FRAGMENT.model_dump_json(exclude_none=True).replace("INVOCATION", f"e-{invocation}")
    for fragment in range(200):
        yield line.replace("ID", f"{number}-{fragment}").replace("TEXT", f"{fragment} " + "x" * 100) + "\n"


@pytest.mark.processes
@pytest.mark.no_cover  # the allocations are already traced
@pytest.mark.parametrize("invocations", ["one", "many"])
def test_memory_does_not_grow_with_the_file(invocations: str, tmp_path: Path) -> None:
    def file_of(turns: int) -> Path:
        file = tmp_path / f"{turns}"
        with file.open("w") as out:
            for number in range(turns):
                out.writelines(turn_lines(number, number if invocations == "many" else 0))
        return file

    def peak(turns: int) -> int:
        tracemalloc.reset_peak()
        before, _ = tracemalloc.get_traced_memory()
        assert sum(map(len, replay(Recording(files[turns])))) > turns * 10_000
        return tracemalloc.get_traced_memory()[1] - before

    files = {turns: file_of(turns) for turns in (1, 2, 20)}
    tracemalloc.start()
    try:
        peak(1)
        small = peak(2)
        # the converter holds one text, to compare it with its aggregate
        assert peak(20) < small + (2**18 if invocations == "many" else 2**20)
    finally:
        tracemalloc.stop()


# files that change


def test_a_recording_is_read_as_it_is_asked_for(file: Path) -> None:
    file.write_text(f"{GOOD}\n" * 1000 + "{")
    first = next(replay(Recording(file)))
    assert first.startswith(b'data: {"type":"start"')


def test_a_file_that_broke_is_told_and_no_end_is_made_up(file: Path) -> None:
    file.write_text(f"{GOOD}\n{GOOD}\n")
    recording = load_recording(file)
    file.write_text(f"{GOOD}\n" + GOOD[:50])
    stream = replay(recording)
    written: list[bytes] = []
    with pytest.raises(RecordingError, match=r"^line 2, column 44 is not JSON$"):
        written.extend(stream)
    file.unlink()
    with pytest.raises(RecordingError, match=r"^No such file or directory$"):
        next(replay(recording))


def test_a_file_that_vanishes_while_it_is_read_is_read_to_its_end(file: Path) -> None:
    file.write_text((event("x" * 10_000).model_dump_json() + "\n") * 200)
    stream = replay(load_recording(file))
    next(stream)
    file.unlink()
    assert list(stream)[-1] == SSE_DONE


def test_a_disk_that_fails_is_told_in_one_line(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Failing(io.BytesIO):
        def readline(self, size: int | None = -1, /) -> bytes:
            raise OSError(5, "Input/output error")

    file.write_bytes(b"x")
    open_as(monkeypatch, file, lambda: Failing(GOOD.encode()))
    with pytest.raises(RecordingError, match=r"^Input/output error$"):
        load_recording(file)


# turns


def test_a_turn_knows_when_its_events_came(file: Path) -> None:
    times = [100.0, 100.5, 100.25, 102.0]
    file.write_text("\n".join(event("x", timestamp=at).model_dump_json() for at in times))
    [turn] = load_recording(file).turns()
    assert turn.at == (0.0, 0.5, 0.5, 2.0)


def test_a_turn_whose_events_have_no_times_has_none(file: Path) -> None:
    values = [json.loads(line.model_dump_json()) for line in EVENTS]
    file.write_text(json.dumps([{k: v for k, v in value.items() if k != "timestamp"} for value in values]))
    [turn] = load_recording(file).turns()
    assert (turn.at, len(turn.events)) == (None, 2)


def test_events_without_ids_have_the_same_each_time(file: Path) -> None:
    values = [json.loads(event.model_dump_json(exclude={"id"})) for event in EVENTS]
    file.write_text("\n".join(json.dumps(value) for value in values))
    assert [event.id for event in events_in(load_recording(file))] == ["line-1", "line-2"]


@pytest.mark.parametrize("odd", [5, ["5"], {"id": "5"}, "", None])
def test_an_id_that_is_none_is_made_up_the_same_each_time(odd: Any, file: Path) -> None:
    file.write_text("\n".join(json.dumps({**json.loads(event.model_dump_json()), "id": odd}) for event in EVENTS))
    assert [event.id for event in events_in(load_recording(file))] == ["line-1", "line-2"]


def test_a_yaml_list_may_have_its_keys_in_any_order(file: Path) -> None:
    values = [json.loads(event.model_dump_json(exclude_none=True)) for event in EVENTS]
    file.write_text(yaml.safe_dump(values, sort_keys=True))
    assert file.read_text().startswith("- actions:")
    assert events_in(load_recording(file)) == EVENTS


def test_one_turn_is_replayed(file: Path) -> None:
    second = EVENTS[1].model_copy(update={"invocation_id": "e-2"})
    file.write_text(f"{GOOD}\n{second.model_dump_json()}")
    recording = load_recording(file)
    assert list(replay(recording, turn=1)) + list(replay(recording, turn=2)) == list(replay(recording))
    with pytest.raises(RecordingError, match=r"^the recording has 2 turns; turn 3 does not exist$"):
        list(replay(recording, turn=3))


PROGRAM = """
import sys
from stream_protocol.recording import load_recording, replay
print(hash("order"), file=sys.stderr)
sys.stdout.buffer.writelines(replay(load_recording(sys.argv[1])))
"""


@pytest.mark.processes
def test_two_replays_in_two_processes_are_equal_byte_for_byte(file: Path) -> None:
    fixtures = Path(__file__).parents[2] / "frontend-fixtures" / "fixtures"
    turns = sorted(fixtures.glob("*[adkst]/turn*.jsonl"))[:60]
    file.write_bytes(b"".join(turn.read_bytes() for turn in turns))
    here = b"".join(replay(load_recording(file)))
    there = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(file)],
        capture_output=True,
        check=True,
        timeout=120,
        cwd=fixtures.parents[1],
        env={**os.environ, "PYTHONHASHSEED": "1"},
    )
    assert int(there.stderr) != hash("order"), "sets are in another order there"
    assert here == there.stdout
    assert here.count(SSE_DONE) >= 30
