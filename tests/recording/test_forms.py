"""The forms in which ADK stores a conversation. ADK itself writes each of them."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from stream_protocol.check import check_file
from stream_protocol.recording import Recording, RecordingError, load_recording, replay, replay_messages
from tests.recording.adk_writers import WORDS, ApiServer, guide, save_map, write_all

WITH_USER = [
    "get_session",
    "save_session",
    "dump_of_session",
    "store.db",
    "database",
    "evalset",
    "generated-session",
    "case/generated-recordings-sse.yaml",
    "case/generated-recordings.yaml",
]
FORMS = ["run_sse", "run", "jsonl", "jsonl_of_dumps", "own", *WITH_USER]
SESSIONS = {"store.db": "s"}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("written")
    asyncio.run(write_all(folder))
    return folder


def messages(recording: Recording, **options: Any) -> list[Any]:
    return replay_messages(recording.stream_turns(), **options)


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_conversation_gives_the_same_message(form: str, written: Path) -> None:
    recording = load_recording(written / form, session=SESSIONS.get(form))
    *_, message = messages(recording)
    *_, expected = messages(load_recording(written / "run_sse"))
    assert [part["type"] for part in expected["parts"]] == [
        "step-start",
        "reasoning",
        "text",
        "tool-get_weather",
        "step-start",
        "text",
    ]
    assert {**message, "id": None} == {**expected, "id": None}


@pytest.mark.parametrize("form", WITH_USER)
def test_the_user_is_heard_where_the_form_has_the_users_messages(form: str, written: Path) -> None:
    user, _ = messages(load_recording(written / form, session=SESSIONS.get(form)))
    assert (user["role"], user["parts"]) == ("user", [{"type": "text", "text": WORDS}])


@pytest.mark.parametrize("form", FORMS)
def test_a_replay_of_every_form_is_legal(form: str, written: Path) -> None:
    assert list(check_file(written / form, session=SESSIONS.get(form))) == []


@pytest.mark.parametrize("form", FORMS)
def test_a_form_is_told_by_its_content_and_nothing_is_written(form: str, written: Path, tmp_path: Path) -> None:
    renamed = tmp_path / "renamed.txt"
    content = (written / form).read_bytes()
    renamed.write_bytes(content)
    once = b"".join(replay(load_recording(renamed, session=SESSIONS.get(form))))
    assert b"".join(replay(load_recording(renamed, session=SESSIONS.get(form)))) == once
    assert (renamed.read_bytes(), list(tmp_path.iterdir())) == (content, [renamed])


async def test_the_two_frames_of_an_event_with_an_artifact_are_one_again(tmp_path: Path) -> None:
    server = ApiServer(guide(save_map), tmp_path)
    capture = await server.run("/run_sse")
    ids = [
        json.loads(line[6:])["id"] for line in capture.decode().split("\n") if line and b"partial" not in line.encode()
    ]
    assert len(ids) > len(set(ids))
    (tmp_path / "capture").write_bytes(capture)
    (tmp_path / "session").write_bytes(await server.session())
    split, whole = (messages(load_recording(tmp_path / name))[-1] for name in ("capture", "session"))
    assert split == whole
    assert any(part["type"] == "data-adk-artifact" for part in whole["parts"])
    [turn] = load_recording(tmp_path / "capture").turns()
    assert len({event.id for event in turn.events if not event.partial}) == sum(not e.partial for e in turn.events)


async def test_a_run_that_raised_ends_in_an_error(tmp_path: Path) -> None:
    server = ApiServer(guide(answer=["Let me ", ValueError("no more quota")]), tmp_path)
    capture = tmp_path / "capture"
    capture.write_bytes(await server.run("/run_sse"))
    assert b'"error_details"' in capture.read_bytes()
    [turn] = load_recording(capture).turns()
    assert (turn.end, turn.failure) == ("error", "ValueError: no more quota")
    stream = b"".join(replay(load_recording(capture), on_error=str))
    assert stream.count(b'"type":"error"') == 1
    assert b"no more quota" in stream
    assert list(check_file(capture)) == []


FAILURE = b'data: {"error": "StaleSessionError: stale", "error_details": {}}\n\n'


def test_runs_that_raised_before_any_event_are_turns_too(tmp_path: Path) -> None:
    capture = tmp_path / "capture"
    capture.write_bytes(FAILURE * 2)
    assert [(turn.events, turn.end) for turn in load_recording(capture).turns()] == [((), "error")] * 2
    assert list(check_file(capture)) == []


def test_the_messages_of_runs_without_events_have_ids_of_their_own(tmp_path: Path) -> None:
    capture = tmp_path / "capture"
    answer = {"author": "root", "content": {"parts": [{"text": "Hi."}]}}
    capture.write_bytes(FAILURE * 2 + f"data: {json.dumps(answer)}\n\n".encode() + FAILURE * 2)
    shown = [(message["id"], len(message["parts"])) for message in messages(load_recording(capture))]
    assert shown == [("message.3", 2)]
    assert [turn.message_id for turn in load_recording(capture).turns()] == [
        "message",
        "message.2",
        "message.3",
        "message.4",
    ]


def test_several_requests_captured_in_one_file_are_several_turns(written: Path, tmp_path: Path) -> None:
    capture = (written / "run_sse").read_text()
    invocation = json.loads(capture[6 : capture.index("\n")])["invocationId"]
    file = tmp_path / "capture"
    file.write_text(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n" + capture + capture.replace(invocation, "e-2")
    )
    assert [turn.message_id for turn in load_recording(file).turns()] == [invocation, "e-2"]


# sessions to choose from


def test_a_file_with_several_sessions_lists_them(written: Path) -> None:
    with pytest.raises(RecordingError, match=r'^2 sessions are in it, and --session chooses one: "another", "s"$'):
        load_recording(written / "store.db")


@pytest.mark.parametrize(
    ("form", "session"),
    [("store.db", "s"), ("store.db", "guide/u/s"), ("get_session", "s"), ("own", "s"), ("evalset", "c")],
)
def test_a_session_is_chosen_by_its_name(form: str, session: str, written: Path) -> None:
    assert len(list(load_recording(written / form, session=session).turns())) == 1


@pytest.mark.parametrize("form", FORMS)
def test_a_session_that_is_not_there_is_refused(form: str, written: Path) -> None:
    with pytest.raises(RecordingError, match=r'^(no (session|eval case) "x\\n" in it; it has |it has no sessions)'):
        load_recording(written / form, session="x\n")


def test_a_case_of_an_evalset_may_stand_alone(written: Path, tmp_path: Path) -> None:
    case = tmp_path / "case"
    case.write_text(json.dumps(json.loads((written / "evalset").read_text())["eval_cases"][0]))
    assert messages(load_recording(case)) == messages(load_recording(written / "evalset"))


def test_an_evalset_that_somebody_wrote_needs_no_ids_and_no_times(tmp_path: Path) -> None:
    parts = [
        {"functionCall": {"name": "get_weather", "args": {"city": "Oslo"}}},
        {"functionResponse": {"name": "get_weather", "response": {"celsius": 18}}},
        {"text": "I looked."},
    ]
    roles = ["model", "user", "model"]
    events = [{"content": {"role": role, "parts": [part]}} for role, part in zip(roles, parts, strict=True)]
    turn = {
        "userContent": {"role": "user", "parts": [{"text": WORDS}]},
        "intermediateData": {"invocationEvents": events},
        "finalResponse": {"role": "model", "parts": [{"text": "Mild."}]},
    }
    file = tmp_path / "evalset"
    file.write_text(json.dumps({"eval_set_id": "e", "eval_cases": [{"evalId": "c", "conversation": [turn, turn]}]}))
    first, second = load_recording(file).turns()
    assert (first.message_id, second.message_id, first.at) == ("invocation-1", "invocation-2", None)
    message = messages(load_recording(file))[1]
    shown = [part.get("text", part.get("output")) for part in message["parts"] if part["type"] != "step-start"]
    assert shown == [{"celsius": 18}, "I looked.", "Mild."]


def test_an_evalset_of_calls_results_and_texts_has_them_all(tmp_path: Path) -> None:
    """Evalsets as ADK up to 1.17 writes them, and as people write them."""
    calls = [{"id": "a", "name": "get_weather", "args": {"city": "Oslo"}}, {"name": "get_weather", "args": {}}]
    results = [{"id": "a", "name": "get_weather", "response": {"celsius": 18}}]
    turn = {
        "user_content": {"role": "user", "parts": [{"text": WORDS}]},
        "intermediate_data": {
            "tool_uses": calls,
            "tool_responses": [*results, {"name": "get_weather", "response": {"celsius": 3}}],
            "intermediate_responses": [["scout", [{"text": "I looked."}]], "nothing"],
        },
    }
    case = {"eval_id": "c", "conversation": [turn, {**turn, "final_response": {"parts": [{"text": "Mild."}]}}]}
    file = tmp_path / "evalset"
    file.write_text(json.dumps({"eval_set_id": "e", "eval_cases": [case]}))
    _, first, _, second = messages(load_recording(file))
    shown = [
        [part.get("text", part.get("output")) for part in message["parts"] if {"text", "output"} & part.keys()]
        for message in (first, second)
    ]
    looked = [{"celsius": 18}, {"celsius": 3}, "I looked."]
    assert shown == [looked, [*looked, "Mild."]]


def test_calls_of_recorded_responses_get_the_ids_of_their_results(tmp_path: Path) -> None:
    parts = "".join(f"\n            - function_call: {{name: look, args: {{n: {n}}}}}" for n in (1, 2))
    tools = "".join(
        f"""
  - user_message_index: 0
    agent_name: guide
    tool_recording:
      tool_call: {{id: id-{n}, name: look, args: {{n: {n}}}}}
      tool_response: {{id: id-{n}, name: look, response: {{n: {n}}}}}"""
        for n in (1, 2)
    )
    text = f"""recordings:
  - user_message_index: 0
    agent_name: guide
    llm_recording:
      llm_request:
        contents:
          - role: user
            parts: [{{text: hi}}]
      llm_responses:
        - content:
            role: model
            parts:{parts}{tools}
"""
    file = tmp_path / "file"
    file.write_text(text)
    user, message = messages(load_recording(file))
    assert user["parts"] == [{"type": "text", "text": "hi"}]
    calls = [part for part in message["parts"] if part["type"] == "tool-look"]
    assert [(call["toolCallId"], call["input"], call["output"]) for call in calls] == [
        ("id-1", {"n": 1}, {"n": 1}),
        ("id-2", {"n": 2}, {"n": 2}),
    ]
