import io
import json
import os
import subprocess
from pathlib import Path
from random import Random
from typing import Any

import pytest
from click.testing import CliRunner, Result
from google.adk.events import Event
from google.genai import types

from stream_protocol import message_to_chunks, reduce_chunks
from stream_protocol.check import check_file
from stream_protocol.cli.replay_command import replay
from stream_protocol.recording import _pace as waiting, load_recording, replay as replay_recording
from tests.processes import COMMAND, ENV, HANG, ROOT, cli, started
from tests.terminals import terminal


def event(author: str, text: str, turn: int, at: float | None) -> dict[str, Any]:
    content = types.Content(role="user" if author == "user" else "model", parts=[types.Part(text=text)])
    value = Event(id=f"{turn}{text}", invocation_id=f"e-{turn}", author=author, content=content, timestamp=at or 0)
    dumped = value.model_dump(mode="json", by_alias=True, exclude_none=True)
    return dumped if at is not None else {key: item for key, item in dumped.items() if key != "timestamp"}


TURNS = [
    [event("user", "hi", 1, 100.0), event("root", "Hello.", 1, 101.0), event("root", " There.", 1, 104.0)],
    [event("user", "more", 2, 900.0), event("root", "No.", 2, 900.5)],
]


CUT_WORDS: dict[str, Any] = {"content": {"role": "user", "parts": [{"text": "a\ud83db"}]}}
"""Half an emoji, as a page's `slice` leaves it and JSON can encode it."""


def written(folder: Path, *events: Any) -> str:
    file = folder / "recording"
    file.write_text("".join(json.dumps(value) + "\n" for value in events))
    return str(file)


@pytest.fixture
def file(tmp_path: Path) -> str:
    return written(tmp_path, *TURNS[0], *TURNS[1])


def run(*arguments: str) -> Result:
    return CliRunner().invoke(replay, arguments)


def test_without_options_it_is_the_stream_of_all_turns(file: str) -> None:
    result = run(file)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout_bytes == b"".join(replay_recording(load_recording(file)))


@pytest.mark.parametrize("name", ["README.md", "pyproject.toml", "Makefile"])
def test_a_file_of_another_kind_is_told_what_is_accepted(name: str) -> None:
    result = run(str(ROOT / name))
    assert (result.exit_code, result.stdout, len(result.stderr.splitlines())) == (2, "", 1)
    assert f"{name}: not a recording: pass ADK events as JSON, " in result.stderr


def test_a_transcript_is_to_be_read(file: str) -> None:
    result = run(file, "--to", "text")
    assert (result.exit_code, result.stderr) == (0, "")
    assert (
        result.stdout
        == """\
You
  hi

root
  Hello.
   There.

You
  more

root
  No.
"""
    )
    assert run(file, "--to", "text", "--turn", "2").stdout == "You\n  more\n\nroot\n  No.\n"


def test_a_terminal_gets_the_transcript_in_colours_and_a_pipe_the_stream(file: str, tmp_path: Path) -> None:
    with terminal("replay", file, cwd=tmp_path) as shown:
        assert shown.read().endswith("\x1b[1mYou\x1b[0m\n  more\n\n\x1b[1mroot\x1b[0m\n  No.\n")
    with terminal("replay", file, "--to", "chunks", cwd=tmp_path) as shown:
        assert '\n{"type":"text-delta"' in shown.read()
    assert run(file).stdout.startswith('data: {"type":"start"')


def test_a_transcript_of_a_request_that_is_none_of_ours_has_the_texts_of_the_events(tmp_path: Path) -> None:
    recorded = [{"turn": {"messageId": "m1", "request": {"prompt": "hi"}}}, *({"event": each} for each in TURNS[0])]
    file = written(tmp_path, {"adk_ui_stream_recording": 1}, *recorded)
    assert run(file, "--to", "text").stdout.startswith("You\n  hi\n\nroot\n")


def test_one_turn_is_printed(file: str) -> None:
    result = run(file, "--turn", "2")
    assert result.stdout_bytes == b"".join(replay_recording(load_recording(file), turn=2))
    assert b"No." in result.stdout_bytes
    assert b"Hello." not in result.stdout_bytes


def test_chunks_are_one_on_a_line_and_legal(file: str, tmp_path: Path) -> None:
    result = run(file, "--to", "chunks", "--turn", "1")
    chunks = [json.loads(line) for line in result.stdout.splitlines()]
    assert [chunks[0], chunks[-1]] == [
        {"type": "start", "messageId": "e-1"},
        {"type": "finish", "finishReason": "stop"},
    ]
    output = tmp_path / "chunks"
    output.write_text(run(file, "--to", "chunks").stdout)
    assert list(check_file(output)) == []


def test_messages_are_those_that_the_page_shows(file: str) -> None:
    messages = json.loads(run(file, "--to", "messages").stdout)
    assert [(message["role"], message["id"]) for message in messages] == [
        ("user", "1hi"),
        ("assistant", "e-1"),
        ("user", "2more"),
        ("assistant", "e-2"),
    ]
    assert json.loads(run(file, "--to", "messages", "--turn", "2").stdout) == messages[2:]
    assert reduce_chunks(message_to_chunks(messages[1])) == messages[1]


APPROVAL = Path(__file__).parents[2] / "frontend-fixtures" / "fixtures" / "approval_approved"


def test_a_message_that_a_later_turn_continues_is_one_message(tmp_path: Path) -> None:
    turns = [(APPROVAL / f"turn{number}.jsonl").read_text() for number in (1, 2)]
    (tmp_path / "recording").write_text("".join(turns))
    expected = json.loads((APPROVAL / "expected.v6.json").read_text())["messages"]
    for arguments in ((), ("--turn", "2")):
        messages = json.loads(run(str(tmp_path / "recording"), "--to", "messages", *arguments).stdout)
        assert [message for message in messages if message["role"] == "assistant"] == expected
    first = json.loads(run(str(tmp_path / "recording"), "--to", "messages", "--turn", "1").stdout)[-1]
    assert first["parts"][-1]["state"] == "approval-requested"


def test_the_version_of_the_client_is_that_of_the_recording_unless_it_is_said(tmp_path: Path) -> None:
    lines = [
        {"adk_ui_stream_recording": 1},
        {"turn": {"message_id": "m", "options": {"ai_sdk": 7}}, "at": 0},
        {"event": event("root", "hi", 1, None), "at": 0.5},
    ]
    file = written(tmp_path, *lines)
    assert run(file).stdout_bytes == b"".join(replay_recording(load_recording(file), ai_sdk=7))
    assert run(file, "--ai-sdk", "6").stdout_bytes == b"".join(replay_recording(load_recording(file), ai_sdk=6))


class Clock:
    """A clock that advances only while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 5.0
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(waiting, "sleep", clock.sleep)
    monkeypatch.setattr(waiting, "monotonic", lambda: clock.now)
    return clock


@pytest.mark.parametrize(
    ("pace", "factor"), [("recorded", 1), ("1", 1), ("4", 4), ("4x", 4), ("0.5", 0.5), ("2.5x", 2.5)]
)
def test_events_come_at_their_pace_and_turns_without_a_pause(pace: str, factor: float, file: str, clock: Clock) -> None:
    result = run(file, "--pace", pace)
    assert result.stdout_bytes == b"".join(replay_recording(load_recording(file)))
    assert clock.slept == pytest.approx([0, 1 / factor, 3 / factor, 0, 0.5 / factor])


def test_the_pace_of_our_own_recordings_is_counted_from_the_turn(tmp_path: Path, clock: Clock) -> None:
    lines = [{"event": value, "at": at} for value, at in zip(TURNS[0], (0.5, 1, 1.25), strict=True)]
    turn = {"turn": {"message_id": "m"}, "at": 0}
    run(written(tmp_path, {"adk_ui_stream_recording": 1}, turn, *lines, turn, *lines), "--pace", "recorded")
    assert clock.slept == [0.5, 0.5, 0.25] * 2


def test_a_time_that_no_clock_takes_is_waited_for_as_long_as_one_does(tmp_path: Path, clock: Clock) -> None:
    lines = [{"event": TURNS[0][0], "at": 1e300}]
    result = run(
        written(tmp_path, {"adk_ui_stream_recording": 1}, {"turn": {"message_id": "m"}}, *lines), "--pace", "2"
    )
    assert (result.exit_code, clock.slept) == (0, [waiting.LONGEST_WAIT])


def test_nobody_sleeps_unless_asked_to(file: str, clock: Clock) -> None:
    assert run(file).stdout == run(file, "--pace", "instant").stdout
    assert clock.slept == []


def test_without_times_there_is_no_pace(tmp_path: Path, clock: Clock) -> None:
    file = written(tmp_path, event("root", "hi", 1, None))
    result = run(file, "--pace", "2")
    text = f"error: {file}: it does not say when its events came, so it has no pace but `instant`\n"
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", text)
    assert run(file).exit_code == 0


@pytest.mark.parametrize("pace", ["", "fast", "0", "-1", "nan", "inf", "infx", "x"])
def test_a_pace_that_is_none_is_bad_usage(pace: str, file: str) -> None:
    result = run(file, "--pace", pace)
    assert (result.exit_code, result.stdout) == (2, "")


@pytest.mark.parametrize(
    "arguments", [(), ("--turn", "0"), ("--turn", "x"), ("--to", "html"), ("--ai-sdk", "5"), ("--nothing",)]
)
def test_bad_usage_is_exit_2(arguments: tuple[str, ...], file: str) -> None:
    assert run(*([file] if arguments else []), *arguments).exit_code == 2


@pytest.mark.parametrize("to", ["sse", "chunks", "messages"])
@pytest.mark.parametrize("pace", ["instant", "100"])
@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("--turn", "3"), "the recording has 2 turns; turn 3 does not exist"),
        (("--session", "s"), "it has no sessions, so remove --session"),
    ],
)
def test_what_is_not_there_is_one_line_and_nothing_is_printed(
    arguments: tuple[str, ...], reason: str, pace: str, to: str, file: str, clock: Clock
) -> None:
    result = run(file, *arguments, "--pace", pace, "--to", to)
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", f"error: {file}: {reason}\n")


@pytest.mark.parametrize("pace", ["instant", "100"])
@pytest.mark.parametrize("name", [".", "missing", "broken", "rubbish", "empty", "a\0b"])
def test_what_cannot_be_read_is_one_line_and_nothing_is_printed(
    name: str, pace: str, tmp_path: Path, rng: Random
) -> None:
    good = json.dumps(TURNS[0][1])
    (tmp_path / "broken").write_text(f"{good}\n" * 3000 + good[:-5])
    (tmp_path / "rubbish").write_bytes(rng.randbytes(2000))
    (tmp_path / "empty").touch()
    result = run(str(tmp_path / name), "--pace", pace)
    assert (result.exit_code, result.stdout, len(result.stderr.splitlines())) == (2, "", 1)
    assert "Traceback" not in result.stderr


def test_an_endless_device_is_not_copied() -> None:
    result = run("/dev/zero")
    assert (result.exit_code, result.stderr) == (2, "error: /dev/zero: not a text file\n")


def test_a_field_that_is_not_known_is_told_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert run(written(tmp_path, *({**value, "novel": 1} for value in TURNS[0])), "--pace", "1000").exit_code == 0
    assert [record.getMessage() for record in caplog.records] == [
        "Ignored the field novel, which the installed ADK does not know."
    ]


def test_a_reader_that_has_seen_enough_is_no_error(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(io.BytesIO):
        def write(self, _: Any, /) -> int:
            raise BrokenPipeError

        def fileno(self) -> int:
            return os.open(os.devnull, os.O_WRONLY)

    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(Full()))
    with pytest.raises(SystemExit) as ended:
        replay([file])
    assert ended.value.code == 0


def recording(*texts: str) -> str:
    return "\n".join(
        Event(
            invocation_id="e-1",
            author="root",
            content=types.Content(role="model", parts=[types.Part(text=text)]),
        ).model_dump_json()
        for text in texts
    )


def test_a_recording_is_printed_as_its_stream(tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    file.write_text(recording("Hello."))
    done = cli("replay", str(file), cwd=tmp_path)
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.startswith('data: {"type":"start","messageId":"e-1"}\n\n')
    assert done.stdout.endswith("data: [DONE]\n\n")


def test_a_recording_may_come_through_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with started("stream_protocol", "replay", str(pipe), cwd=tmp_path) as process:
        pipe.write_text(recording("Hello."))
        assert '"delta":"Hello."' in process.read()
        assert process.wait() == 0


@pytest.mark.processes
def test_a_pipe_that_is_closed_early_is_no_error(tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    file.write_text(recording(*(f"Line {number}. " for number in range(3000))))
    command = [*COMMAND, "replay", str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENV) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(HANG) == 0


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "the file is empty"),
        (b"\x00\xff\xfe", "not a text file"),
        (recording("Hello.", "Bye.").encode() + b"\n{", "line 3, column 2 is not JSON"),
        (None, "No such file or directory"),
    ],
    ids=["empty", "binary", "cut", "missing"],  # the content has an id that changes
)
def test_an_unreadable_recording_is_one_line_on_stderr(tmp_path: Path, content: bytes | None, reason: str) -> None:
    file = tmp_path / "events.jsonl"
    if content is not None:
        file.write_bytes(content)
    result = run(str(file))
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"error: {file}: {reason}\n"


def test_what_utf_8_cannot_say_is_replaced_in_messages_as_in_the_stream(tmp_path: Path) -> None:
    result = run("--to", "messages", written(tmp_path, event("user", "a", 1, 0) | CUT_WORDS, *TURNS[0][1:]))
    assert (result.exit_code, result.stderr) == (0, "")
    assert json.loads(result.stdout)[0]["parts"] == [{"type": "text", "text": "a\ufffdb"}]
