"""Content that a run has shown and ADK has not stored can be read from the response."""

from collections.abc import Iterable
from weakref import ref

import pytest
from google.adk.events import Event
from google.genai import types

from stream_protocol.session import RunOutput
from stream_protocol.stream import Settings, chunk_conversion
from tests.stream.building import code, event, fragment, picture, ran, text, thought


def shown(events: Iterable[Event], *, send_reasoning: bool = True) -> RunOutput:
    """Return the shown content of a response with these events."""
    conversion = chunk_conversion((), None, Settings(send_reasoning=send_reasoning))
    output = RunOutput()
    output.follow(conversion)
    for each in events:
        conversion.feed(each)
    return output


def unstored(output: RunOutput) -> list[types.Part]:
    """Return the parts of the only event that is to be stored."""
    [added] = output.unstored_events([], [])
    assert added.content is not None
    return added.content.parts or []


def test_of_a_streamed_event_only_what_it_says_is_kept() -> None:
    conversion = chunk_conversion((), None, Settings())
    output = RunOutput()
    output.follow(conversion)
    events = [fragment(text(f" {number}")) for number in range(200)]
    known = [ref(each) for each in events]
    for each in events:
        conversion.items(each)
    del events, each
    assert sum(one() is not None for one in known) == 1, "one, for what else it says"
    assert [part.text for part in unstored(output)] == ["".join(f" {number}" for number in range(200))]


def test_texts_thoughts_files_and_code_are_kept_in_their_order() -> None:
    image = picture()
    parts = [thought("Hm"), thought("m", b"s"), text("One"), image, text("Two"), code(), text("Three"), ran("2")]
    kept = unstored(shown(fragment(part) for part in parts))
    assert [part.text for part in kept] == ["Hmm", "One", None, "Two", "Three"], "no code, which some models refuse"
    assert kept[0].thought_signature == b"s"
    assert kept[2] == image


def test_thoughts_that_nobody_was_shown_are_kept_for_the_model() -> None:
    output = shown([fragment(thought("Hm")), fragment(text("Hi"))], send_reasoning=False)
    assert [(part.text, part.thought) for part in unstored(output)] == [("Hm", True), ("Hi", None)]


@pytest.mark.parametrize("send_reasoning", [True, False])
def test_a_streamed_text_is_stored_without_characters_that_stores_refuse(send_reasoning: bool) -> None:
    streamed = [fragment(thought("a\0\ud83d")), fragment(text("b\ud83d")), fragment(text("\ude00\0"))]
    kept = unstored(shown(streamed, send_reasoning=send_reasoning))
    assert [part.text for part in kept] == ["a\ufffd\ufffd", "b\U0001f600\ufffd"]


def test_a_file_that_the_complete_event_has_is_confirmed() -> None:
    streamed = [fragment(text("See")), fragment(picture())]
    assert shown([*streamed, event(text("See"), picture())]).is_stored
    assert not shown([*streamed, event(text("See"))]).is_stored
    assert not shown(streamed).is_stored


def test_a_converter_that_is_not_asked_keeps_no_streamed_text() -> None:
    conversion = chunk_conversion((), None, Settings())
    conversion.feed(fragment(text("Hi")))
    assert conversion.unconfirmed == []
    conversion.finish()
    assert (conversion.unconfirmed, conversion.complete_ids) == ([], [])


def test_what_the_past_had_streamed_is_not_of_this_run() -> None:
    conversion = chunk_conversion([fragment(text("Before"))], None, Settings())
    output = RunOutput()
    output.follow(conversion)
    conversion.feed(fragment(text("Now")))
    conversion.abort()
    assert [part.text for part in unstored(output)] == ["Now"]
