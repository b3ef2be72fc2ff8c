import io
import json
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from stream_protocol import SSE_DONE, encode_sse
from stream_protocol.check import Finding, Rule, Severity, _check_file as check_module, check_file, check_stream
from stream_protocol.recording.read import UnreadableError
from stream_protocol.wire import AiSdkVersion
from tests.batch import batch
from tests.check import bad_streams
from tests.opened_files import open_as
from tests.processes import ENV, HANG

FIXTURES = Path(__file__).parents[2] / "frontend-fixtures" / "fixtures"

Json = dict[str, Any]

START: Json = {"type": "start", "messageId": "m1"}
STEP: Json = {"type": "start-step"}
STEP_END: Json = {"type": "finish-step"}
FINISH: Json = {"type": "finish"}
CALL: Json = {"type": "tool-input-available", "toolCallId": "t1", "toolName": "w", "input": {}}
OUTPUT: Json = {"type": "tool-output-available", "toolCallId": "t1", "output": 1}
REQUEST: Json = {"type": "tool-approval-request", "approvalId": "p1", "toolCallId": "t1"}
TEXT: list[Json] = [
    {"type": "text-start", "id": "0"},
    {"type": "text-delta", "id": "0", "delta": "Hi"},
    {"type": "text-end", "id": "0"},
]
DONE = "[DONE]"


def sse(*items: Json | str) -> bytes:
    return b"".join(encode_sse_text(item) for item in items)


def encode_sse_text(item: Json | str) -> bytes:
    return f"data: {item if isinstance(item, str) else json.dumps(item)}\n\n".encode()


def jsonl(*items: Json | str) -> bytes:
    return b"".join(f"{item if isinstance(item, str) else json.dumps(item)}\n".encode() for item in items)


def check(data: bytes, *versions: AiSdkVersion) -> list[Finding]:
    return list(check_stream(io.BytesIO(data), versions=versions or (6, 7)))


def rules(data: bytes, *versions: AiSdkVersion) -> list[Rule]:
    return [finding.rule for finding in check(data, *versions)]


def as_json(finding: Finding) -> Json:
    return {**finding._asdict(), "versions": list(finding.versions), "rule": str(finding.rule)}


def chunks_of(name: str, ai_sdk: AiSdkVersion) -> list[list[Json]]:
    expected = json.loads((FIXTURES / name / f"expected.v{ai_sdk}.json").read_text(encoding="utf-8"))
    return [turn["chunks"] for turn in expected["turns"]]


FIXTURE_NAMES = sorted(path.name for path in FIXTURES.iterdir() if path.is_dir())
LEFT_PRELIMINARY = "long_running_tool"


# the list of bad streams


@pytest.mark.parametrize("rule", Rule)
def test_a_bad_stream_is_found_with_its_rule_at_its_line(rule: Rule) -> None:
    findings = [as_json(finding) for finding in check_file(bad_streams.path(rule))]
    assert findings == bad_streams.EXPECTED[rule]
    assert rule in {finding["rule"] for finding in findings}


def test_there_is_a_bad_stream_for_every_rule_and_no_other() -> None:
    names = {path.stem for path in bad_streams.FOLDER.glob("*.sse")}
    assert names == set(Rule) == bad_streams.EXPECTED.keys()


# the fixtures


@batch(name=FIXTURE_NAMES, form=["sse", "jsonl"], ai_sdk=[6, 7])
def test_what_the_converter_writes_is_legal(name: str, form: str, ai_sdk: AiSdkVersion) -> None:
    turns: list[list[Any]] = [*chunks_of(name, ai_sdk)]
    body = b"".join(jsonl(*turn) if form == "jsonl" else b"".join(map(encode_sse, turn)) + SSE_DONE for turn in turns)
    # what v6 gets, a v7 client reads as well
    found = rules(body, *((6, 7) if ai_sdk == 6 else (7,)))
    assert found == ([Rule.PRELIMINARY_LEFT] if name.endswith(LEFT_PRELIMINARY) else [])


@pytest.mark.parametrize("name", ["text", "approval_approved", "parallel_agents", "task_over_two_turns"])
def test_recorded_events_are_judged_by_what_they_become(name: str, tmp_path: Path) -> None:
    recording = tmp_path / "events"
    turns = sorted((FIXTURES / name).glob("turn*.jsonl"))
    recording.write_bytes(b"".join(turn.read_bytes() for turn in turns))
    assert list(check_file(recording)) == []


def test_a_finding_in_recorded_events_names_the_line_up_to_which_they_were_read() -> None:
    findings = list(check_file(FIXTURES / "long_running_tool" / "turn1.jsonl", versions=(6,)))
    lines = (FIXTURES / "long_running_tool" / "turn1.jsonl").read_bytes().count(b"\n")
    assert [(finding.rule, finding.line) for finding in findings] == [(Rule.PRELIMINARY_LEFT, lines)]


def test_a_document_of_recorded_events_is_judged_as_well(tmp_path: Path) -> None:
    events = [
        json.loads(line) for line in (FIXTURES / "text" / "turn1.jsonl").read_text(encoding="utf-8").split("\n") if line
    ]
    session = tmp_path / "session"
    session.write_text(json.dumps({"id": "s", "appName": "a", "userId": "u", "events": events}, indent=1))
    assert list(check_file(session)) == []


def test_recorded_events_are_read_from_a_pipe() -> None:
    class Pipe(io.BytesIO):
        def seekable(self) -> bool:
            return False

    assert list(check_stream(Pipe((FIXTURES / "text" / "turn1.jsonl").read_bytes()))) == []


WITHOUT_EVENTS = {
    "capture": sse(START, *TEXT, FINISH, DONE),
    "chunks": jsonl(START, *TEXT, FINISH),
    "rubbish": b"\0rubbish",
}


@pytest.fixture(scope="module")
def loaded_after(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """Form of a file -> the modules of ADK that are loaded behind its check, by one Python for all of them."""
    folder = tmp_path_factory.mktemp("forms")
    for name, content in WITHOUT_EVENTS.items():
        (folder / name).write_bytes(content)
    program = f"""
import io, json, sys
from contextlib import redirect_stdout, suppress
from stream_protocol.cli.check_command import check
for file in {[*WITHOUT_EVENTS]!r}:
    with redirect_stdout(io.StringIO()), suppress(SystemExit):
        check([file])
    print(json.dumps([name for name in sys.modules if name.startswith(("google", "pydantic", "starlette"))]))
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=folder, env=ENV, capture_output=True, text=True, check=True, timeout=HANG)
    return dict(zip(WITHOUT_EVENTS, map(json.loads, done.stdout.splitlines()), strict=True))


@pytest.mark.parametrize("form", WITHOUT_EVENTS)
def test_adk_is_not_imported_for_what_holds_no_events(form: str, loaded_after: dict[str, list[str]]) -> None:
    assert loaded_after[form] == []


# one response


def test_the_two_versions_are_judged_apart() -> None:
    stream = sse(START, {"type": "reset-step"}, *TEXT, FINISH, DONE)
    assert rules(stream, 6) == [Rule.V7_ONLY_TYPE]
    assert rules(stream, 7) == []


def test_after_what_kills_the_client_nothing_more_is_said_until_the_next_response() -> None:
    dead = sse(START, {"type": "text"}, *TEXT, *TEXT[:2], DONE)
    assert rules(dead + sse({**START, "messageId": "m2"}, *TEXT[:2], FINISH, DONE)) == [
        Rule.UNKNOWN_TYPE,
        Rule.TEXT_LEFT_OPEN,
    ]


def test_a_problem_is_told_once_a_response() -> None:
    keys = [{**TEXT[0], "x": 1}, *[{**TEXT[1], "x": 1}] * 5, TEXT[2]]
    assert rules(sse(START, *keys, FINISH, DONE)) == [Rule.UNKNOWN_KEY, Rule.UNKNOWN_KEY]


def test_keys_that_7_0_0_knew_concern_only_v6() -> None:
    stream = sse(START, STEP, CALL, {**OUTPUT, "toolMetadata": {}}, STEP_END, STEP, *TEXT, STEP_END, FINISH, DONE)
    assert [(finding.rule, finding.versions) for finding in check(stream)] == [(Rule.UNKNOWN_KEY, (6,))]


def test_text_that_is_open_at_finish_step_is_fatal_for_v6_when_it_goes_on() -> None:
    stream = sse(START, STEP, *TEXT[:2], STEP_END, *TEXT[1:], FINISH, DONE)
    assert rules(stream, 6) == [Rule.OPEN_AT_FINISH_STEP, Rule.TEXT_NOT_STARTED]
    assert rules(stream, 7) == []


@pytest.mark.parametrize("tail", [[{"type": "finish-step"}, FINISH], [{"type": "data-log", "data": 1}]])
def test_an_error_may_be_followed_by_what_the_official_server_writes(tail: list[Json]) -> None:
    assert rules(sse(START, STEP, {"type": "error", "errorText": "x"}, *tail, DONE)) == []


def test_after_an_error_nothing_is_read_and_nothing_else_is_judged() -> None:
    stream = sse(START, {"type": "error", "errorText": "x"}, {"type": "nonsense"}, "{", DONE)
    assert rules(stream) == [Rule.CONTENT_AFTER_TERMINAL]


def test_an_invalid_call_may_be_told_as_input_error_and_output_error() -> None:
    error = {**CALL, "type": "tool-input-error", "errorText": "bad"}
    output = {"type": "tool-output-error", "toolCallId": "t1", "errorText": "bad"}
    assert rules(sse(START, STEP, error, output, STEP_END, STEP, *TEXT, STEP_END, FINISH, DONE)) == []


def test_a_step_that_the_client_never_stores_does_not_end_the_loop() -> None:
    resolved = [START, STEP, CALL, OUTPUT, STEP_END, STEP, STEP_END]
    assert rules(sse(*resolved, FINISH, DONE)) == [Rule.AUTO_SEND_LOOP]
    assert rules(sse(*resolved, {**FINISH, "messageMetadata": {"n": 1}}, DONE)) == []


@pytest.mark.parametrize(
    ("ending", "expected"),
    [
        ([FINISH], [Rule.AUTO_SEND_LOOP]),
        ([{"type": "abort"}], [Rule.AUTO_SEND_LOOP]),
        ([{"type": "error", "errorText": "x"}], []),
        ([], [Rule.TERMINAL_MISSING, Rule.AUTO_SEND_LOOP]),
    ],
)
def test_only_an_error_ends_the_loop(ending: list[Json], expected: list[Rule]) -> None:
    assert rules(sse(START, STEP, CALL, OUTPUT, STEP_END, *ending, DONE)) == expected


def test_an_interrupted_response_is_not_sent_again() -> None:
    stream = sse(START, STEP, CALL, OUTPUT, {**FINISH, "finishReason": "interrupted"}, DONE)
    assert rules(stream, 7) == []


@pytest.mark.parametrize(
    ("reason", "expected"),
    [("tool-calls", []), (None, []), ("stop", [Rule.CALL_WITHOUT_END]), ("length", [Rule.CALL_WITHOUT_END])],
)
def test_an_open_call_is_the_pages_unless_the_finish_reason_says_otherwise(
    reason: str | None, expected: list[Rule]
) -> None:
    finish = FINISH if reason is None else {**FINISH, "finishReason": reason}
    assert rules(sse(START, STEP, CALL, STEP_END, finish, DONE)) == expected


def test_a_call_of_an_earlier_step_may_be_held_up_by_one_that_waits() -> None:
    asks = {**CALL, "toolCallId": "t2"}
    assert rules(sse(START, STEP, CALL, STEP_END, STEP, asks, STEP_END, FINISH, DONE)) == []
    settled = [asks, {**OUTPUT, "toolCallId": "t2"}, STEP_END, STEP, *TEXT]
    assert rules(sse(START, STEP, CALL, STEP_END, STEP, *settled, STEP_END, FINISH, DONE)) == [Rule.CALL_WITHOUT_END]


# several responses


PENDING = sse(START, STEP, CALL, REQUEST, STEP_END, FINISH, DONE)
ANSWER: list[Json | str] = [STEP, *TEXT, STEP_END, FINISH, DONE]


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        pytest.param([START], [], id="the same id"),
        pytest.param([{"type": "start"}], [], id="no id"),
        pytest.param([], [], id="no start"),
        pytest.param([{"type": "start"}, STEP], [], id="no id, and a step before the result"),
        pytest.param([STEP], [], id="no start, and a step before the result"),
        pytest.param([{**START, "messageId": "m2"}], [Rule.CONTINUED_UNDER_NEW_ID], id="another id"),
    ],
)
def test_a_response_that_answers_a_call_goes_on_with_its_message(start: list[Json], expected: list[Rule]) -> None:
    assert rules(PENDING + sse(*start, OUTPUT, *ANSWER)) == expected


APPROVED: Json = {"type": "tool-approval-response", "approvalId": "p1", "approved": True}


@pytest.mark.parametrize("start", [[START], [{"type": "start"}], []], ids=["the same id", "no id", "no start"])
def test_a_response_may_go_on_with_its_message_by_the_answer_alone(start: list[Json]) -> None:
    assert rules(PENDING + sse(*start, APPROVED, OUTPUT, *ANSWER), 7) == []


def test_an_answer_to_no_approval_of_the_message_is_fatal_whether_the_response_has_an_id_or_none() -> None:
    for start in (START, {"type": "start"}):
        assert rules(PENDING + sse(start, {**APPROVED, "approvalId": "p2"}, *ANSWER), 7) == [Rule.UNKNOWN_APPROVAL]


CALL_2, OUTPUT_2 = {**CALL, "toolCallId": "t2"}, {**OUTPUT, "toolCallId": "t2"}
REQUEST_2 = {"type": "tool-approval-request", "approvalId": "p2", "toolCallId": "t2"}


@pytest.mark.parametrize("second", [[CALL_2, REQUEST_2], [CALL_2]], ids=["an approval", "a page's tool"])
def test_one_of_two_questions_may_be_answered(second: list[Json]) -> None:
    both = sse(START, STEP, CALL, REQUEST, *second, STEP_END, FINISH, DONE)
    half = sse(START, OUTPUT, *TEXT, FINISH, DONE)
    assert rules(both + half) == []
    assert rules(both + half + sse(START, OUTPUT_2, *ANSWER)) == []
    assert rules(both + sse(START, FINISH, DONE) + sse(START, OUTPUT, OUTPUT_2, *ANSWER)) == []
    assert rules(both + sse(START, OUTPUT, OUTPUT_2, FINISH, DONE)) == [Rule.AUTO_SEND_LOOP]


def test_one_of_two_questions_may_be_denied() -> None:
    both = sse(START, STEP, CALL, REQUEST, CALL_2, REQUEST_2, STEP_END, FINISH, DONE)
    denied = {"type": "tool-output-denied", "toolCallId": "t1"}
    assert rules(both + sse(START, denied, FINISH, DONE) + sse(START, OUTPUT_2, *ANSWER)) == []


def test_what_is_told_again_answers_no_other_question() -> None:
    both = sse(START, STEP, CALL, REQUEST, CALL_2, STEP_END, FINISH, DONE)
    told = sse(START, OUTPUT, *TEXT, FINISH, DONE)
    assert rules(both + told + told) == []


def test_a_response_that_shows_nothing_is_no_message() -> None:
    nothing = sse({"type": "start"}, {"type": "error", "errorText": "no"}, DONE)
    rest = sse({"type": "start"}, OUTPUT, *ANSWER)
    assert [finding for finding in check(PENDING + nothing + rest) if finding.rule.severity is Severity.ERROR] == []


def test_a_result_before_start_belongs_to_the_message_that_start_names() -> None:
    assert rules(PENDING + sse(OUTPUT, START, *ANSWER)) == []
    assert rules(PENDING + sse(OUTPUT, {**START, "messageId": "m2"}, *ANSWER)) == [Rule.SECOND_MESSAGE_ID]


def test_a_client_that_named_the_message_itself_may_have_its_name_back() -> None:
    first = sse({"type": "start"}, STEP, CALL, REQUEST, STEP_END, FINISH, DONE)
    assert rules(first + sse(START, OUTPUT, *ANSWER)) == []


def test_a_user_may_speak_in_place_of_answering() -> None:
    assert rules(PENDING + sse({**START, "messageId": "m2"}, *ANSWER)) == []
    assert rules(PENDING + sse({"type": "start"}, *ANSWER)) == []


def test_an_answered_call_that_never_ends_is_found() -> None:
    assert rules(PENDING + sse(START, *TEXT, FINISH, DONE)) == [Rule.AUTO_SEND_LOOP]
    assert rules(PENDING + sse(START, *ANSWER)) == [Rule.CALL_WITHOUT_END]


def test_a_message_that_waited_is_found_after_others() -> None:
    between = sse({**START, "messageId": "m2"}, *ANSWER)
    assert rules(PENDING + between + sse(START, OUTPUT, *ANSWER)) == []


def test_the_answer_to_a_pages_own_call_needs_a_new_step_or_is_sent_for_ever() -> None:
    first = sse(START, STEP, CALL, STEP_END, FINISH, DONE)
    assert rules(first + sse(START, *ANSWER)) == []
    assert rules(first + sse(START, *TEXT, FINISH, DONE)) == [Rule.AUTO_SEND_LOOP]


def test_a_server_may_tell_the_pages_own_call_and_its_output_again() -> None:
    first = sse(START, STEP, CALL, STEP_END, FINISH, DONE)
    assert rules(first + sse(START, CALL, OUTPUT, *ANSWER)) == []


def test_a_call_may_end_anew_once_in_a_later_response() -> None:
    failed = {"type": "tool-output-error", "toolCallId": "t1", "errorText": "not yet"}
    first = sse(START, STEP, CALL, failed, {**CALL, "toolCallId": "t2"}, STEP_END, FINISH, DONE)
    assert rules(first + sse(START, OUTPUT, *ANSWER)) == []
    assert rules(first + sse(START, OUTPUT, OUTPUT, *ANSWER)) == [Rule.OUTPUT_TWICE]


def test_chunks_on_lines_are_one_response_up_to_the_next_start() -> None:
    two = [START, *TEXT, FINISH, {**START, "messageId": "m2"}, *TEXT, FINISH]
    assert rules(jsonl(*two)) == []
    assert rules(jsonl(*two[:5], DONE, DONE, *two[5:], DONE)) == []
    assert rules(sse(*two, DONE)) != []


def test_a_stream_without_any_blank_line_is_told_so() -> None:
    stream = sse(START, *TEXT, FINISH).replace(b"\n\n", b"\n")
    assert rules(stream) == [Rule.MISSING_BLANK_LINE, Rule.TERMINAL_MISSING, Rule.DONE_MISSING]


def test_a_stream_without_any_chunk_has_no_end() -> None:
    assert rules(b": keep-alive\n\n") == [Rule.TERMINAL_MISSING, Rule.DONE_MISSING]
    assert rules(sse(DONE)) == [Rule.TERMINAL_MISSING]
    assert rules(sse(START, *TEXT, FINISH, DONE, DONE)) == []


def test_the_head_of_a_response_may_stand_above_the_stream() -> None:
    assert rules(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n" + sse(START, *TEXT, FINISH, DONE)) == []


def test_a_capture_that_breaks_off_is_found_wherever_it_does() -> None:
    whole = sse(START, STEP, *TEXT, STEP_END, FINISH, DONE)
    for length in range(len(whole) - len(sse(DONE)) - 1):
        found = rules(whole[:length]) if length > len("data:") else [Rule.TERMINAL_MISSING]
        assert Rule.TERMINAL_MISSING in found


# what cannot be judged

EVENT = '{"author": "user", "invocationId": "e"}'
SPOKEN = '{"author": "root", "invocationId": "e", "content": {"parts": [{"text": "hi"}]}}'
NOT_A_STREAM = (
    "not a stream: pass an SSE capture, JSON chunks (one per line), or ADK events (JSON, JSON lines, YAML or SQLite)"
)
UNREADABLE: dict[str, tuple[bytes, str]] = {
    "a fixture": (b'{\n  "turns": [{"events": "turn1.jsonl"}]\n}\n', NOT_A_STREAM),
    "a page of text": (b'# <img src="icon.svg" alt="" width="30"> adk-ui-stream\n\n**Your agent**\n', NOT_A_STREAM),
    "nothing": (b"", "the file is empty"),
    "blank lines": (b"\n \r\n", "the file is empty"),
    "rubbish": (bytes(range(256)), NOT_A_STREAM),
    "rubbish that begins like a stream": (b"data: \0\xff", NOT_A_STREAM),
    "text": (b"hello\n", NOT_A_STREAM),
    "JSON of something else": (b'{"a": 1}\n', NOT_A_STREAM),
    "AI SDK 4": (b'0:"Hello"\n', "this is a data stream of AI SDK 4, which clients of 6 and 7 cannot read"),
    "a line cut off": (jsonl(START) + b'{"type":"text-st', "line 2 is not JSON"),
    "a stream among chunks": (jsonl(START) + sse(FINISH), "line 2 is not JSON"),
    "chunks in a stream": (sse(START) + jsonl(FINISH), "line 3 is JSON without `data:`, in an event stream"),
    "an event among chunks": (jsonl(START, EVENT), "line 2 is an ADK event among chunks"),
    "no ADK event": (jsonl('{"author": 1}'), "line 1 is not an ADK event: its author is of the type int"),
    "a chunk among events": (
        jsonl(EVENT, START),
        "line 2 is not an ADK event: it is a chunk of a UI message stream",
    ),
    "an event cut off": (jsonl(EVENT) + EVENT[:20].encode(), "line 2, column 20 is not JSON"),
    "an event cut off in mid-response": (jsonl(SPOKEN, SPOKEN) + SPOKEN[:20].encode(), "line 3, column 20 is not JSON"),
    "a session cut off": (b'{"events": [' + EVENT.encode(), "line 1, column 52 is not JSON"),
    "a store that is none": (b"SQLite format 3\0", "the store cannot be read: file is not a database"),
    "an event among the frames of a capture": (
        sse(START) + b'data: {"author": "user"}\n\n' + EVENT.encode(),
        "line 5 is JSON without `data:`, in an event stream",
    ),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_cannot_be_judged_is_told_in_one_line(name: str) -> None:
    data, text = UNREADABLE[name]
    with pytest.raises(UnreadableError) as error:
        check(data)
    assert str(error.value) == text


LONG = {**TEXT[1], "delta": "x" * 300}


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (sse(START, LONG), "line 3 is longer than"),
        (sse(START) + b"data: x\n" * 60, "the event at line 31 is longer than"),
        (jsonl(START, LONG), "line 2 is longer than"),
        (jsonl(EVENT, EVENT.replace("user", "x" * 300)), "line 2 is longer than"),
    ],
)
def test_a_line_without_end_is_refused_before_it_is_held(
    data: bytes, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check_module, "PIECE", 64)
    monkeypatch.setattr("stream_protocol.recording.read._lines.MAX_LINE", 200)
    with pytest.raises(UnreadableError, match=text):
        check(data)


@pytest.mark.parametrize("path", [".", "missing", "a\0b"])
def test_a_path_that_is_no_file_is_told_in_one_line(path: str, tmp_path: Path) -> None:
    with pytest.raises(UnreadableError):
        list(check_file(tmp_path / path))


def test_a_file_that_fails_while_it_is_read_is_told_in_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    class Vanishing(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            if self.tell():
                raise OSError(5, "Input/output error")
            return super().read(16)

    file = tmp_path / "file"
    file.write_bytes(b"")
    stream = Vanishing(sse(START, *TEXT))
    open_as(monkeypatch, file, lambda: stream)
    with pytest.raises(UnreadableError, match="Input/output error"):
        list(check_file(file))


# size


def one_long_response(deltas: int) -> Iterator[bytes]:
    yield sse(START, TEXT[0])
    for _ in range(deltas):
        yield sse({**TEXT[1], "delta": "x" * 1000})
    yield sse(TEXT[2], FINISH, DONE)


def many_responses(count: int) -> Iterator[bytes]:
    for number in range(count):
        call_id = f"t{number}"
        call = [{**CALL, "toolCallId": call_id}, {**OUTPUT, "toolCallId": call_id, "output": "x" * 1000}]
        yield sse({**START, "messageId": f"m{number}"}, STEP, *call, STEP_END, *ANSWER)


@pytest.mark.processes
@pytest.mark.no_cover  # each allocation is followed already
@pytest.mark.parametrize("made", [one_long_response, many_responses])
def test_memory_does_not_grow_with_the_file(made: Callable[[int], Iterator[bytes]], tmp_path: Path) -> None:
    def file_of(count: int) -> Path:
        file = tmp_path / str(count)
        with file.open("wb") as out:
            out.writelines(made(count))
        return file

    def peak(count: int) -> int:
        tracemalloc.reset_peak()
        before, _ = tracemalloc.get_traced_memory()
        assert list(check_file(files[count], versions=(6,))) == []
        return tracemalloc.get_traced_memory()[1] - before

    files = {count: file_of(count) for count in (100, 200, 1000)}
    tracemalloc.start()
    try:
        peak(100)
        assert peak(1000) < peak(200) + 2**18  # the larger file has 0.8 MB more
    finally:
        tracemalloc.stop()


def test_every_rule_says_how_bad_it_is() -> None:
    assert {rule.severity for rule in Rule} == set(Severity)
    assert all(rule.effect.endswith(".") for rule in Rule)
    assert all(rule.requirement.endswith(".") for rule in Rule)
    assert len({rule.requirement for rule in Rule}) == len(Rule)
