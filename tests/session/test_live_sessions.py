"""Live (bidirectional) sessions: the author decides the shown text, and audio never becomes a file."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import pytest
from google.adk.events import Event
from google.genai import types

from stream_protocol import iter_chunks
from stream_protocol.check import check_file
from stream_protocol.recording import load_recording, record, replay_messages
from stream_protocol.session import Transcript, session_to_messages
from stream_protocol.wire.client import MessageReducer
from tests.live_runs import (
    DONE,
    GEMINI_3,
    GENERATED,
    INTERRUPTED,
    NATIVE_AUDIO,
    SOUND,
    USED,
    Message,
    called,
    heard,
    live_run,
    spoken,
    written,
)
from tests.readings import replays
from tests.tools import OLD_ADK

pytestmark = pytest.mark.filterwarnings(r"ignore:\[EXPERIMENTAL\]:UserWarning")  # from ADK's live runs

LOOKED: Final = {"city": "Oslo", "celsius": 18}
Said = list[tuple[str, list[Any]]]
ASKED: Final = [heard("What's "), heard("the weather?")]

RUNS: Final[dict[str, tuple[str, list[Message], Said]]] = {
    "pieces": (
        NATIVE_AUDIO,
        [*ASKED, USED, SOUND, spoken("It is "), SOUND, spoken("mild."), SOUND, GENERATED, DONE],
        [("user", ["What's the weather?"]), ("assistant", ["It is mild."])],
    ),
    "pieces that are finished": (
        NATIVE_AUDIO,
        [*ASKED, heard("", finished=True), SOUND, spoken("Mild."), spoken("", finished=True), DONE],
        [("user", ["What's the weather?"]), ("assistant", ["Mild."])],
    ),
    "two turns": (
        NATIVE_AUDIO,
        [heard("Hi."), SOUND, spoken("Hello."), DONE, heard("Bye."), SOUND, spoken("Bye-bye."), USED, DONE],
        [("user", ["Hi."]), ("assistant", ["Hello."]), ("user", ["Bye."]), ("assistant", ["Bye-bye."])],
    ),
    "an interruption": (
        NATIVE_AUDIO,
        [heard("Hi."), SOUND, spoken("Once upon a "), INTERRUPTED, DONE, heard("Stop."), SOUND, spoken("Yes."), DONE],
        [("user", ["Hi."]), ("assistant", ["Once upon a "]), ("user", ["Stop."]), ("assistant", ["Yes."])],
    ),
    "a call": (
        NATIVE_AUDIO,
        [*ASKED, SOUND, spoken("Let me look."), called("c"), DONE, SOUND, spoken("Mild."), DONE],
        [("user", ["What's the weather?"]), ("assistant", ["Let me look.", LOOKED, "Mild."])],
    ),
    "a call of Gemini 3": (
        GEMINI_3,
        [heard("What's the weather?", finished=True), called("c"), SOUND, spoken("Mild."), USED, DONE],
        [("user", ["What's the weather?"]), ("assistant", [LOOKED, "Mild."])],
    ),
    "several sentences": (
        GEMINI_3,
        [heard("Hi.", finished=True), SOUND, spoken("Yes?"), DONE, heard("Bye.", finished=True), spoken("Bye."), DONE],
        [("user", ["Hi."]), ("assistant", ["Yes?"]), ("user", ["Bye."]), ("assistant", ["Bye."])],
    ),
    "written answers": (
        NATIVE_AUDIO,
        [heard("Hi."), written("Hel"), written("lo."), DONE, heard("Bye."), written("Bye."), INTERRUPTED, DONE],
        [("user", ["Hi."]), ("assistant", ["Hello."]), ("user", ["Bye."]), ("assistant", ["Bye."])],
    ),
    "no transcription of the user": (
        NATIVE_AUDIO,
        [SOUND, spoken("Hello."), DONE, USED, SOUND, spoken("Are you there?"), DONE],
        [("assistant", ["Hello.", "Are you there?"])],
    ),
}


def said(messages: Iterable[Any]) -> Said:
    """Return the texts and outputs of the messages. Files and data are represented by their type."""
    return [
        (
            message["role"],
            [
                part.get("text", part.get("output", part["type"]))
                for part in message["parts"]
                if part["type"] != "step-start"
            ],
        )
        for message in messages
    ]


def without_usage(messages: Iterable[Any]) -> list[Any]:
    """ADK stores the usage of a turn before the user's text of that turn."""
    return [{key: value for key, value in message.items() if key != "metadata"} for message in messages]


def replayed(path: Path) -> list[Any]:
    recording = load_recording(path)
    return list(replay_messages(recording.stream_turns(), delegated=recording.delegated))


@pytest.mark.parametrize("name", RUNS)
async def test_every_reading_of_a_live_run_agrees(name: str, tmp_path: Path) -> None:
    model, messages, expected = RUNS[name]
    run, session = await live_run(*messages, model=model)
    history = session_to_messages(session)
    assert said(history) == expected
    for form, read in replays(session, tmp_path):
        assert read == history, form
    path = tmp_path / "run"
    path.write_text("\n".join(event.model_dump_json(by_alias=True, exclude_none=True) for event in run))
    assert without_usage(replayed(path)) == without_usage(history)
    assert [finding for finding in check_file(path) if finding.rule.severity == "error"] == []


@pytest.mark.parametrize("name", RUNS)
async def test_a_live_run_can_be_forwarded_as_one_response(name: str) -> None:
    model, messages, expected = RUNS[name]
    run, _ = await live_run(*messages, model=model)
    reducer = MessageReducer()
    for chunk in iter_chunks(run):
        reducer.apply(chunk)
    [(_, shown)] = said([reducer.message])
    assert shown == [one for role, parts in expected if role == "assistant" for one in parts]
    assert all(part.get("state") != "streaming" for part in map(dict, reducer.message["parts"]))


async def test_a_recorded_live_run_is_replayed_as_it_was(tmp_path: Path) -> None:
    run, _ = await live_run(*RUNS["two turns"][1])

    async def events() -> Any:
        for event in run:
            yield event

    async for _ in record(events(), tmp_path / "run"):
        pass
    [turn] = load_recording(tmp_path / "run").turns()
    assert turn.chunks == tuple(iter_chunks(run))


# endings of a turn


def reasons(chunks: Iterable[Any]) -> list[Any]:
    return [chunk["finishReason"] for chunk in chunks if chunk["type"] == "finish"]


@pytest.mark.skipif(OLD_ADK, reason="ADK 2.11 does not tell of an interruption that follows what was said")
async def test_an_interruption_is_told_and_forgotten_when_the_agent_speaks_again() -> None:
    run, _ = await live_run(heard("Hi."), SOUND, spoken("Once upon a "), INTERRUPTED, DONE)
    again, _ = await live_run(*RUNS["an interruption"][1])
    assert (reasons(iter_chunks(run)), reasons(iter_chunks(again))) == (["other"], ["stop"])


# shapes of other ADK versions


def heard_event(text: str | None, **fields: Any) -> Event:
    finished = fields.pop("finished", None)
    speech = types.Transcription(text=text, finished=finished)
    return Event(author="user", invocation_id="e-1", input_transcription=speech, **fields)


def spoken_event(text: str | None, **fields: Any) -> Event:
    finished = fields.pop("finished", None)
    speech = types.Transcription(text=text, finished=finished)
    return Event(author="root", invocation_id="e-1", output_transcription=speech, **fields)


def turn_event(**fields: Any) -> Event:
    return Event(author="root", invocation_id="e-1", **fields)


def sound(author: str, uri: str) -> Event:
    parts = [types.Part(file_data=types.FileData(file_uri=uri, mime_type="audio/pcm;rate=16000"))]
    content = types.Content(role="user" if author == "user" else "model", parts=parts)
    return Event(author=author, invocation_id="e-1", content=content)


COMPLETE: Final = turn_event(turn_complete=True)
CALLED: Final = turn_event(
    content=types.Content(role="model", parts=[types.Part(function_call=types.FunctionCall(id="c", name="look"))])
)
RAN: Final = turn_event(
    content=types.Content(
        role="user", parts=[types.Part(function_response=types.FunctionResponse(id="c", name="look", response=LOOKED))]
    )
)
WITH_SOUND: Final = turn_event(
    partial=True,
    content=types.Content(
        role="model",
        parts=[
            types.Part(text="Mild."),
            types.Part(inline_data=types.Blob(data=b"\1\0", mime_type="audio/PCM;rate=24000")),
        ],
    ),
)
SAVED: Final = "artifact://app/ann/s/_adk_live/adk_live_audio_storage_input_audio_1.pcm#0"

EVENTS: Final[dict[str, tuple[Sequence[Event], Said]]] = {
    "pieces that are not marked": (
        [heard_event("What's "), heard_event("up?"), spoken_event("Not "), spoken_event("much."), COMPLETE,
         heard_event("Bye."), spoken_event("Bye-bye.", finished=False), COMPLETE],
        [("user", ["What's up?"]), ("assistant", ["Not much."]), ("user", ["Bye."]), ("assistant", ["Bye-bye."])],
    ),
    "speech that is an event of the agent's": (
        [event.model_copy(update={"author": "root"}) for event in (heard_event("What's "), heard_event("up?"))]
        + [spoken_event("Not much."), COMPLETE],
        [("user", ["What's up?"]), ("assistant", ["Not much."])],
    ),
    "an end without words": (
        [heard_event("Hi."), heard_event(None, finished=True), spoken_event("Yes?"), spoken_event("", finished=True),
         heard_event("Bye."), spoken_event("Bye.")],
        [("user", ["Hi."]), ("assistant", ["Yes?"]), ("user", ["Bye."]), ("assistant", ["Bye."])],
    ),
    "the whole alone": (
        [heard_event("Hi.", finished=True), spoken_event("Yes?", finished=True)],
        [("user", ["Hi."]), ("assistant", ["Yes?"])],
    ),
    "several wholes in a turn": (
        [heard_event("Hi.", finished=True), *(spoken_event(text, finished=True) for text in ("One.", "Two.", "Two."))],
        [("user", ["Hi."]), ("assistant", ["One.", "Two.", "Two."])],
    ),
    "a call between the pieces": (
        [heard_event("Hi.", finished=True), spoken_event("Let me look. ", partial=True), CALLED, RAN,
         spoken_event("Mild.", partial=True), spoken_event("Let me look. Mild.", finished=True), COMPLETE],
        [("user", ["Hi."]), ("assistant", ["Let me look. ", LOOKED, "Mild."])],
    ),
    "speech that a callback changed": (
        [heard_event("Hi.", finished=True), spoken_event("It is hunter2.", partial=True),
         spoken_event("It is secret.", finished=True)],
        [("user", ["Hi."]), ("assistant", ["It is hunter2."])],
    ),
    "saved sound": (
        [sound("user", SAVED), heard_event("Hi.", finished=True), sound("root", SAVED),
         spoken_event("Yes?", finished=True)],
        [("user", ["Hi."]), ("assistant", ["Yes?"])],
    ),
    "sound beside words": (
        [heard_event("Hi.", finished=True), WITH_SOUND, COMPLETE],
        [("user", ["Hi."]), ("assistant", ["Mild."])],
    ),
    "words that were typed": (
        [Event(author="user", invocation_id="e-1", content=types.UserContent("Hi.")),
         spoken_event("Yes?", finished=True)],
        [("user", ["Hi."]), ("assistant", ["Yes?"])],
    ),
    "an end by an interruption": (
        [heard_event("Hi."), spoken_event("Once"), turn_event(interrupted=True), heard_event("Stop."),
         spoken_event("OK.")],
        [("user", ["Hi."]), ("assistant", ["Once"]), ("user", ["Stop."]), ("assistant", ["OK."])],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", EVENTS)
def test_speech_is_read_however_an_adk_gave_it(name: str, tmp_path: Path) -> None:
    events, expected = EVENTS[name]
    lines = [event.model_dump_json(by_alias=True, exclude_none=True) for event in events]
    (tmp_path / "lines").write_text("\n".join(lines))
    (tmp_path / "session").write_text(json.dumps({"id": "s", "events": [json.loads(line) for line in lines]}))
    for form in ("lines", "session"):
        assert said(replayed(tmp_path / form)) == expected, form
    if not any(event.partial for event in events):  # ADK stores no fragments
        assert said(session_to_messages({"events": list(events)})) == expected


@pytest.mark.parametrize("name", EVENTS)
def test_speech_is_forwarded_however_an_adk_gave_it(name: str) -> None:
    events, expected = EVENTS[name]
    reducer = MessageReducer()
    for chunk in iter_chunks(list(events)):
        reducer.apply(chunk)
    [(_, shown)] = said([reducer.message])
    assert shown == [one for role, parts in expected if role == "assistant" for one in parts]


def test_the_messages_of_a_live_session_can_be_asked_again() -> None:
    events = [heard_event("What's "), heard_event("up?"), spoken_event("Not much.")]
    (turn,) = Transcript(events).turns
    assert turn.user_event is not None
    assert turn.user_event.get_function_calls() == []
    [user, _] = session_to_messages({"events": events})
    assert user["id"] == events[0].id


def test_an_ordinary_sound_file_is_a_file() -> None:
    blob = types.Blob(data=b"RIFF", mime_type="audio/wav")
    parts = [types.Part(inline_data=blob), types.Part(file_data=types.FileData(file_uri="gs://b/a.pcm"))]
    chunks = list(iter_chunks([turn_event(content=types.Content(role="model", parts=parts))]))
    assert [chunk["type"] for chunk in chunks if chunk["type"] in ("file", "data-adk-file")] == [
        "file",
        "data-adk-file",
    ]
