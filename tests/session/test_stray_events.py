"""Events outside the conversation, and events without an invocation id, do not split, remove or empty messages."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest
from google.adk.events import Event, EventActions
from google.genai import types

from stream_protocol import iter_chunks
from stream_protocol.adk import is_user_event, read
from stream_protocol.recording import load_recording, replay_messages
from stream_protocol.session import EventRole, TranscriptReader, session_to_messages
from stream_protocol.wire import UIMessage
from tests.conformance.fixtures import Fixture, Turn, fixture_names, fixture_options, load_fixture, stored_session

NAMES: Final = [name for name in fixture_names() if not fixture_options(name).get("send_state")]
AUTHORS: Final = ("system", "monitor", "user")
PLACES: Final = 3
"""The number of places in a conversation where an update is inserted."""

INVOCATIONS: Final = ("elsewhere", "")


def update(author: str, invocation: str) -> Event:
    """Return an update of the session's state from outside the conversation."""
    return Event(
        id="stray",
        author=author,
        invocation_id=invocation,
        timestamp=1.0,
        actions=EventActions(state_delta={"load": 3}),
    )


def with_updates(events: Sequence[Event], rng: Random) -> Iterator[list[Event]]:
    """Return the events with an update at some places."""
    places = range(len(events) + 1)
    for place in rng.sample(places, min(PLACES, len(places))):
        yield [*events[:place], update(rng.choice(AUTHORS), rng.choice(INVOCATIONS)), *events[place:]]


def history(events: Sequence[Event], fixture: Fixture) -> list[UIMessage]:
    return session_to_messages({"events": list(events)}, **fixture.options_for(6))


@pytest.mark.parametrize("has_user", [True, False])
def test_a_state_update_anywhere_changes_no_history(has_user: bool, rng: Random) -> None:
    for name in NAMES:
        fixture = load_fixture(name)
        events = [one for one in stored_session(fixture).events if has_user or not is_user_event(one)]
        expected = history(events, fixture)
        for stored in with_updates(events, rng):
            assert history(stored, fixture) == expected, name


def chunks(turn: Turn, events: Sequence[Event], fixture: Fixture) -> list[Any]:
    return list(iter_chunks([*events], past=turn.past, message_id=turn.message_id, **fixture.options_for(6)))


def test_a_state_update_anywhere_changes_no_stream(rng: Random) -> None:
    for name in NAMES:
        fixture = load_fixture(name)
        for turn in fixture.turns:
            expected = chunks(turn, turn.events, fixture)
            for events in with_updates(turn.events, rng):
                assert chunks(turn, events, fixture)[1:] == expected[1:], name


# one conversation with all affected shapes


def said(author: str, *parts: types.Part, invocation: str = "e-1", **fields: Any) -> Event:
    content = types.Content(role="user" if author == "user" else "model", parts=list(parts))
    return Event(invocation_id=invocation, author=author, content=content, **fields)


def text(words: str) -> types.Part:
    return types.Part(text=words)


def call(call_id: str | None, name: str = "pay", **args: Any) -> types.Part:
    return types.Part(function_call=types.FunctionCall(id=call_id, name=name, args=args))


def result(call_id: str | None, name: str = "pay") -> types.Part:
    return types.Part(function_response=types.FunctionResponse(id=call_id, name=name, response={"ok": 1}))


HI: Final = said("user", text("hi"))
CALLED: Final = said("root", call("A"))
RAN: Final = said("root", result("A"))
DONE: Final = said("root", text("Done."))
LATER: Final = said("root", text("Later."), invocation="e-2")
ALERT: Final = said("monitor", text("Busy."), invocation="elsewhere")
NAMELESS: Final = said("monitor", text("Busy."), invocation="")
QUESTION: Final = said("root", call("Q", "ask"), long_running_tool_ids={"Q"})


def shape(messages: Sequence[Any]) -> list[tuple[str, list[Any]]]:
    """Return the ids and texts of the assistant messages, and the results of their calls."""
    return [
        (one["id"], [part.get("output", part.get("text", part.get("state"))) for part in one["parts"] if len(part) > 1])
        for one in messages
        if one["role"] == "assistant"
    ]


OK: Final = {"ok": 1}
CONVERSATIONS: Final[dict[str, tuple[list[Event], list[tuple[str, list[Any]]]]]] = {
    "an alert in a turn": ([HI, CALLED, ALERT, RAN, DONE], [("e-1", [OK, "Busy.", "Done."])]),
    "an alert in a run": ([CALLED, ALERT, RAN, DONE], [("e-1", [OK, "Busy.", "Done."])]),
    "an alert without a name in a run": ([CALLED, NAMELESS, RAN, DONE], [("e-1", [OK, "Busy.", "Done."])]),
    "an alert between words": ([DONE, ALERT, DONE], [("e-1", ["Done.", "Busy.", "Done."])]),
    "several alerts": ([CALLED, ALERT, NAMELESS, ALERT, RAN], [("e-1", [OK, "Busy.", "Busy.", "Busy."])]),
    "an alert before all": ([ALERT, HI, DONE], [("elsewhere", ["Busy."]), ("e-1", ["Done."])]),
    "an alert beside an open question": ([QUESTION, ALERT], [("e-1", ["input-available", "Busy."])]),
    "a run beside an open question": ([QUESTION, LATER], [("e-1", ["input-available", "Later."])]),
    "a result of another invocation": (
        [CALLED, RAN.model_copy(update={"invocation_id": "e-2"}), DONE],
        [("e-1", [OK, "Done."])],
    ),
    "two runs": ([CALLED, RAN, DONE, LATER], [("e-1", [OK, "Done."]), ("e-2", ["Later."])]),
    "an alert between two runs": ([DONE, NAMELESS, LATER], [("e-1", ["Done.", "Busy."]), ("e-2", ["Later."])]),
    "updates of one name all along": (
        [update("system", "x"), DONE, update("system", "x"), LATER, update("system", "x")],
        [("e-1", ["Done."]), ("e-2", ["Later."])],
    ),
    "updates before, between and after": (
        [update("system", ""), DONE, update("system", "x"), LATER, update("system", "y")],
        [("e-1", ["Done."]), ("e-2", ["Later."])],
    ),
    "no names": ([one.model_copy(update={"invocation_id": ""}) for one in (HI, CALLED, RAN, HI, DONE)], [
        ("message", [OK]),
        ("message.2", ["Done."]),
    ]),
    "no names in a run": (
        [one.model_copy(update={"invocation_id": ""}) for one in (CALLED, RAN, DONE)],
        [("message", [OK, "Done."])],
    ),
    "a name that comes late": ([HI.model_copy(update={"invocation_id": ""}), DONE], [("message", ["Done."])]),
    "a name that comes late in a run": (
        [NAMELESS, DONE, LATER],
        [("message", ["Busy.", "Done."]), ("e-2", ["Later."])],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_what_is_beside_a_conversation_cuts_nothing(name: str, tmp_path: Path) -> None:
    events, expected = CONVERSATIONS[name]
    assert shape(session_to_messages({"events": events})) == expected
    for form, content in written(events).items():
        (tmp_path / form).write_text(content)
        recording = load_recording(tmp_path / form)
        assert shape(replay_messages(recording.stream_turns(), delegated=recording.delegated)) == expected, form


def written(events: Sequence[Event]) -> dict[str, str]:
    """Return the events as JSON lines, as a session, as a capture, and as JSON lines without empty names."""
    values = [json.loads(event.model_dump_json(by_alias=True, exclude_none=True)) for event in events]
    lines = [json.dumps(value) for value in values]
    bare = [json.dumps({k: v for k, v in value.items() if k != "invocationId" or v}) for value in values]
    return {
        "lines": "\n".join(lines),
        "bare": "\n".join(bare),
        "session": json.dumps({"id": "s", "events": values}),
        "capture": "".join(f"data: {line}\n\n" for line in lines),
    }


def test_a_recorded_turn_keeps_what_came_before_its_messages(tmp_path: Path) -> None:
    saved = Event(id="a", author="root", invocation_id="e-1", actions=EventActions(artifact_delta={"a.png": 0}))
    lines = [
        {"adk_ui_stream_recording": 1},
        {"turn": {"message_id": "e-1"}},
        {"event": json.loads(saved.model_dump_json(exclude_none=True))},
        {"end": "finish"},
    ]
    (tmp_path / "own").write_text("\n".join(map(json.dumps, lines)))
    [message] = replay_messages(load_recording(tmp_path / "own").stream_turns())
    assert [part["type"] for part in message["parts"]] == ["data-adk-artifact"]


def test_a_stray_event_after_a_run_that_raised_begins_nothing() -> None:
    reader = TranscriptReader(frozenset({"e-1"}))
    assert reader.read(read(DONE)) is EventRole.NEW_MESSAGE
    reader.end_response()
    assert [reader.read(read(one)) for one in (update("system", "x"), DONE)] == [
        EventRole.SAME_RESPONSE,
        EventRole.NEW_MESSAGE,
    ]
