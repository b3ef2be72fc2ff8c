"""A file whose replay would show nothing is refused with one line that names the reason."""

import json
from pathlib import Path
from typing import Any, Final

import pytest
from click.testing import CliRunner

from stream_protocol.cli import main
from stream_protocol.recording import RecordingError, load_recording, replay_messages

HI: Final = {"author": "user", "invocationId": "e-1", "content": {"role": "user", "parts": [{"text": "hi"}]}}
HELLO: Final = {"author": "root", "invocationId": "e-1", "content": {"role": "model", "parts": [{"text": "Hello."}]}}
REWIND: Final = {"author": "user", "invocationId": "e-2", "actions": {"rewindBeforeInvocationId": "e-1"}}
COMPACTION: Final = {
    "author": "user",
    "invocationId": "e-3",
    "actions": {
        "compaction": {"startTimestamp": 0, "endTimestamp": 1, "compactedContent": {"parts": [{"text": "We talked."}]}}
    },
}
UPDATE: Final = {"author": "system", "invocationId": "e-4", "actions": {"artifactDelta": {}, "stateDelta": {}}}
USAGE: Final = {"author": "root", "invocationId": "e-5", "usageMetadata": {"promptTokenCount": 3}}
UNKNOWN: Final = {"author": "root", "invocationId": "e-6", "content": {"parts": [{"hologram": 1}]}}

DROPPED: Final = {"author": "user", "invocationId": "e-7", "content": {"role": "user", "parts": [{"text": 5}]}}

SILENT: Final = "nothing to show: {} read, and in none of them anybody says anything"
TAKEN_BACK: Final = "nothing to show: {} read, and all that was said was taken back"


def recordings(**llm: Any) -> str:
    request = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}
    entry = {"user_message_index": 0, "agent_name": "root", "llm_recording": {"llm_request": request, **llm}}
    return json.dumps({"recordings": [entry]})


def evalset(**turn: Any) -> str:
    conversation = [{"user_content": {"parts": [{"text": "hi"}]}, **turn}]
    return json.dumps({"eval_set_id": "e", "eval_cases": [{"eval_id": "c", "conversation": conversation}]})


def lines(*events: Any) -> str:
    return "\n".join(map(json.dumps, events))


RESULT: Final = {"eval_set_result_id": "r", "eval_set_id": "e", "eval_case_results": [{"eval_id": "c"}]}
FILES: Final[dict[str, tuple[str | bytes, str]]] = {
    "a rewind": (lines(HI, HELLO, REWIND), TAKEN_BACK.format("3 events were")),
    "words that were taken back": (lines(HI, REWIND), TAKEN_BACK.format("2 events were")),
    "a compaction": (lines(COMPACTION), SILENT.format("1 event was")),
    "a state update": (lines(UPDATE), SILENT.format("1 event was")),
    "usage": (lines(UPDATE, USAGE), SILENT.format("2 events were")),
    "what nobody knows": (lines(UNKNOWN), SILENT.format("1 event was")),
    "words that are no text": (lines(DROPPED, USAGE), SILENT.format("2 events were")),
    "a session of these": (json.dumps({"id": "s", "events": [UPDATE, COMPACTION]}), SILENT.format("2 events were")),
    "a capture of these": (f"data: {json.dumps(USAGE)}\n\n", SILENT.format("1 event was")),
    "recordings of requests": (recordings(), "no response of a model and no result of a tool in its recordings"),
    "recordings of a later form": (
        recordings(llm_answers=[{"content": {}}]),
        "no response of a model and no result of a tool in its recordings",
    ),
    "recordings of nothing": (
        recordings(llm_responses=[]),
        "no response of a model and no result of a tool in its rec",
    ),
    "questions alone": (evalset(), "no answer of an agent in its turns"),
    "evaluations": (json.dumps(RESULT, indent=2), "the results of an evaluation, and no evalset"),
    "evaluations on a line": (json.dumps(RESULT), "the results of an evaluation, and no evalset"),
    "evaluations of ADK 1": (json.dumps(json.dumps(RESULT)), "the results of an evaluation, and no evalset"),
    "sessions without events": (json.dumps([{"id": "s", "events": []}]), "no events in it"),
    "a session without events": (json.dumps({"session": {"id": "s", "events": []}}), "no events in it"),
    "a compressed file": (b"\x1f\x8b\x08\x00", "it is compressed; unpack it first"),
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "file"


@pytest.mark.parametrize("name", FILES)
def test_nothing_is_told_and_refused(name: str, file: Path) -> None:
    content, reason = FILES[name]
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(RecordingError) as refused:
        load_recording(file)
    assert str(refused.value).startswith(reason)
    for arguments in (
        ["replay", str(file)],
        ["replay", "--to", "messages", str(file)],
        ["serve", "--replay", str(file)],
    ):
        result = CliRunner().invoke(main, arguments)
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr.splitlines()[-1].endswith(str(refused.value))


@pytest.mark.parametrize("name", [name for name in FILES if name != "a compressed file"])
def test_a_check_of_nothing_is_refused(name: str, file: Path) -> None:
    content, reason = FILES[name]
    assert isinstance(content, str)
    file.write_text(content)
    result = CliRunner().invoke(main, ["check", str(file)])
    assert (result.exit_code, result.stdout) == (2, "")
    assert reason in result.stderr.splitlines()[-1]


# files that are read, although they look empty


ANSWERED: Final = {"content": {"role": "model", "parts": [{"text": "Hello."}]}}
SESSION: Final = {"id": "s", "events": [HI, HELLO]}
OTHER: Final = {"id": "t", "events": [HELLO]}
YAML: Final = """- id: x
  author: user
  invocation_id: e-1
  content: {role: user, parts: [{text: hi}]}
- author: root
  invocation_id: e-1
  content: {role: model, parts: [{text: Hello.}]}
"""
READ: Final[dict[str, tuple[str, str | None]]] = {
    "a response of ADK 1.18": (recordings(llm_response=ANSWERED), None),
    "a response of ADK 2": (recordings(llm_responses=[ANSWERED]), None),
    "both, of which one is empty": (recordings(llm_response=ANSWERED, llm_responses=None), None),
    "a session in a session": (json.dumps({"session": SESSION}), None),
    "a list of one session": (json.dumps([SESSION]), None),
    "a list of sessions": (json.dumps([OTHER, SESSION], indent=1), "s"),
    "sessions under a key": (json.dumps({"sessions": [OTHER, SESSION]}), "s"),
    "events in YAML": (YAML, None),
    "a session in YAML": (
        "session:\n  id: s\n  events:\n" + "".join(f"  {line}\n" for line in YAML.splitlines()),
        None,
    ),
    "a session with app_name in YAML": ("appName: a\nevents:\n" + YAML, None),
    "an evalset in YAML": (
        (
            "eval_set_id: e\neval_cases:\n- eval_id: c\n  conversation: [{user_content: {parts: [{text: hi}]}, "
            "final_response: {role: model, parts: [{text: Hello.}]}}]\n"
        ),
        None,
    ),
    "a session in a JSON string": (json.dumps(json.dumps(SESSION)), None),
}


@pytest.mark.parametrize("name", READ)
def test_the_words_of_both_are_read(name: str, file: Path) -> None:
    content, session = READ[name]
    file.write_text(content)
    both: list[Any] = replay_messages(load_recording(file, session=session).stream_turns())
    assert [part["text"] for one in both for part in one["parts"] if part["type"] == "text"] == [
        "hi",
        "Hello.",
    ]
    if session is None:
        assert CliRunner().invoke(main, ["check", str(file)]).exit_code == 0


def test_one_of_several_sessions_must_be_chosen(file: Path) -> None:
    file.write_text(json.dumps([OTHER, SESSION]))
    with pytest.raises(RecordingError, match=r'^2 sessions are in it, and --session chooses one: "t", "s"$'):
        load_recording(file)


def test_the_users_messages_alone_are_something(file: Path) -> None:
    file.write_text(lines(HI))
    assert next(one["role"] for one in replay_messages(load_recording(file).stream_turns())) == "user"
