"""A recording that is read twice leaves out the same parts as the transcript of its events."""

from random import Random
from typing import Any

import pytest
from google.adk.events import Event, EventActions
from google.genai import types

from stream_protocol.adk import read
from stream_protocol.session import (
    METADATA_KEY,
    EventRole,
    FirstReading,
    HiddenEvents,
    Transcript,
    TranscriptReader,
)


def event(author: str, text: str, invocation: str = "e-1", **more: Any) -> Event:
    content = types.Content(role="user" if author == "user" else "model", parts=[types.Part(text=text)])
    return Event(id=text, invocation_id=invocation, author=author, content=content, **more)


def rewind(invocation: str) -> Event:
    return Event(author="user", invocation_id="r", actions=EventActions(rewind_before_invocation_id=invocation))


def mark(*hidden: str, invocation: str = "e-1") -> Event:
    return Event(author="root", invocation_id=invocation, custom_metadata={METADATA_KEY: {"untold": [*hidden]}})


def first_reading(events: list[Event]) -> FirstReading:
    reading = FirstReading()
    for one in events:
        reading.add(read(one))
    return reading


def hidden(events: list[Event]) -> HiddenEvents:
    return first_reading(events).hidden


def shown(events: list[Event]) -> list[str]:
    """Return the ids of the events that remain after the second reading."""
    omitted = hidden(events)
    reader = TranscriptReader(first_reading(events).beginnings)
    return [
        one.id
        for number, one in enumerate(events)
        if not omitted.is_rewound(number)
        and reader.read(read(one)) not in {EventRole.HIDDEN, EventRole.OUTSIDE}
        and one.id not in omitted.hidden_events
    ]


def transcribed(events: list[Event]) -> list[str]:
    return [one.id for turn in Transcript(events).turns for one in turn.events]


def turn(number: int, invocation: str) -> list[Event]:
    return [event("user", f"u{number}", invocation), event("root", f"a{number}", invocation)]


def test_a_rewind_takes_back_a_turn_and_all_after_it() -> None:
    events = [*turn(1, "e-1"), *turn(2, "e-2"), *turn(3, "e-3"), rewind("e-2"), *turn(4, "e-4")]
    assert hidden(events).rewound == (range(2, 6),)
    assert shown(events) == ["u1", "a1", "u4", "a4"]


def test_a_rewind_of_rewinds_is_one_stretch() -> None:
    events = [*turn(1, "e-1"), *turn(2, "e-2"), rewind("e-2"), *turn(3, "e-3"), rewind("e-1"), *turn(4, "e-4")]
    assert hidden(events).rewound == (range(7),)
    assert shown(events) == ["u4", "a4"]


def test_a_rewind_to_what_is_not_there_takes_nothing_back() -> None:
    events = [*turn(1, "e-1"), rewind("e-9"), *turn(2, "e-2")]
    assert hidden(events) == HiddenEvents()
    assert shown(events) == transcribed(events) == ["u1", "a1", "u2", "a2"]


def test_a_rewind_to_what_was_taken_back_already_takes_back_all_since() -> None:
    """ADK counts from the first event of the invocation, even if an earlier rewind removed that event."""
    events = [*turn(1, "e-1"), *turn(2, "e-2"), rewind("e-2"), *turn(3, "e-3"), rewind("e-2"), *turn(4, "e-4")]
    assert shown(events) == transcribed(events) == ["u1", "a1", "u4", "a4"]


def test_a_rewind_that_is_taken_back_itself_takes_nothing_back() -> None:
    events = [*turn(1, "e-1"), *turn(2, "e-2"), rewind("e-1"), *turn(3, "e-3"), rewind("e-2"), *turn(4, "e-4")]
    assert shown(events) == transcribed(events) == ["u1", "a1", "u4", "a4"]


def test_what_a_later_event_hides_is_left_out() -> None:
    events = [*turn(1, "e-1"), event("root", "late"), mark("late")]
    assert [one for one in shown(events) if one in {"u1", "a1", "late"}] == ["u1", "a1"]


def anything(rng: Random) -> list[Event]:
    events: list[Event] = []
    for number in range(rng.randint(1, 14)):
        invocation = f"e-{rng.randint(1, 4)}"
        match rng.randint(0, 9):
            case 0 | 1:
                events.append(rewind(invocation))
            case 2 if events:
                events.append(mark(rng.choice(events).id, invocation=invocation))
            case 3 | 4 | 5:
                events.append(event("user", f"u{number}", invocation))
            case _:
                events.append(event("root", f"a{number}", invocation, partial=rng.random() < 0.2))
    return events


def test_both_readings_leave_the_same(rng: Random) -> None:
    for _ in range(500):
        events = anything(rng)
        assert shown(events) == transcribed(events)


def test_a_rewind_leaves_what_adk_leaves_for_the_model(rng: Random) -> None:
    rewinds = pytest.importorskip("google.adk.events._rewind_events", reason="this ADK has no such module")
    for _ in range(500):
        events = anything(rng)
        omitted = hidden(events)
        left = [one.id for number, one in enumerate(events) if not omitted.is_rewound(number)]
        idle = {one.id for one in events if one.actions.rewind_before_invocation_id}  # this rewind removes nothing
        assert [one for one in left if one not in idle] == [one.id for one in rewinds._apply_rewinds(events)]  # noqa: SLF001 - ADK's rule
