"""The versions of the user's turns, compared with the events that ADK itself considers live."""

from typing import Any

import pytest
from google.adk.events import Event, EventActions
from google.genai import types
from hypothesis import given, strategies as st

from stream_protocol.session import Transcript, message_versions, rewind_to_choose
from stream_protocol.wire import ChatRequestError

live_events = pytest.importorskip("google.adk.events._rewind_events")._apply_rewinds  # noqa: SLF001 - ADK's own rule


def words(number: int) -> Event:
    content = types.Content(role="user", parts=[types.Part(text=f"words {number}")])
    return Event(author="user", invocation_id=f"i{number}", id=f"u{number}", content=content)


def answer(number: int) -> Event:
    content = types.Content(role="model", parts=[types.Part(text=f"answer {number}")])
    return Event(author="root", invocation_id=f"i{number}", id=f"a{number}", content=content)


def rewind(number: int, invocation_id: str) -> Event:
    actions = EventActions(rewind_before_invocation_id=invocation_id)
    return Event(author="user", invocation_id=f"r{number}", id=f"r{number}", actions=actions)


def stored(steps: list[tuple[str, int]]) -> list[Event]:
    """A session in which the user sends messages, edits current messages, or restores earlier versions."""
    events: list[Event] = []
    for number, (step, pick) in enumerate(steps):
        standing = [event for event in live_events(events) if event.content]
        known = [event.id for event in events if event.content and event.author == "user"]
        if step == "edit" and standing:
            events.append(rewind(number, standing[pick % len(standing)].invocation_id))
        if step != "choose":
            events += [words(number), answer(number)]
        elif known:
            invocation_id = rewind_to_choose(Transcript(events), known[pick % len(known)])
            events += [rewind(number, invocation_id)] if invocation_id is not None else []
    return events


STEPS = st.lists(st.tuples(st.sampled_from(["say", "edit", "choose"]), st.integers(0, 9)), max_size=14)


def live(events: list[Event]) -> list[Any]:
    return [event.id for event in live_events(events) if event.content]


@given(STEPS, st.integers(0, 9))
def test_adk_and_the_transcript_agree_on_what_stands_after_a_choice(steps: list[tuple[str, int]], pick: int) -> None:
    events = stored(steps)
    known = [event.id for event in events if event.content and event.author == "user"]
    if not known:
        return
    chosen = known[pick % len(known)]
    invocation_id = rewind_to_choose(Transcript(events), chosen)
    assert (invocation_id is None) == (chosen in live(events))
    if invocation_id is not None:
        events.append(rewind(99, invocation_id))
    assert chosen in live(events)
    transcript = Transcript(events)
    assert [event.id for turn in transcript.turns for event in turn.stored] == live(events)
    assert rewind_to_choose(transcript, chosen) is None


@given(STEPS)
def test_each_version_of_a_message_follows_the_same_one(steps: list[tuple[str, int]]) -> None:
    events = stored(steps)
    transcript = Transcript(events)
    for listed in message_versions(transcript):
        before = set()
        for version in listed["ids"]:
            invocation_id = rewind_to_choose(transcript, version)
            shown = live(events if invocation_id is None else [*events, rewind(99, invocation_id)])
            before.add(tuple(shown[: shown.index(version)]))
        assert len(before) == 1
        assert listed["ids"][listed["current"]] in live(events)


@given(STEPS)
def test_what_the_chat_shows_is_the_only_version_that_is_current(steps: list[tuple[str, int]]) -> None:
    transcript = Transcript(stored(steps))
    ids = [listed["messageId"] for listed in message_versions(transcript)]
    assert len(ids) == len(set(ids))
    assert set(ids) <= {message_id for turn in transcript.turns for message_id in turn.message_ids}


def test_a_rewind_within_an_invocation_that_another_program_made_is_not_undone() -> None:
    undoable = rewind(2, "i1")
    undoable.invocation_id = "i0"
    events = [words(0), words(1), answer(1), undoable, words(3)]
    (listed,) = message_versions(Transcript(events))
    assert (listed["current"], listed["ids"]) == (1, ["u1", "u3"])
    with pytest.raises(ChatRequestError) as refused:
        rewind_to_choose(Transcript(events), "u1")
    assert refused.value.status == 409
