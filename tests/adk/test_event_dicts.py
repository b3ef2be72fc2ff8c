"""Events that come as dictionaries."""

import logging
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from google.adk.events import Event, EventActions

from stream_protocol import (
    StreamProtocolConverter,
    StreamProtocolError,
    iter_chunks,
    iter_sse,
    stream_chunks,
    stream_sse,
)
from stream_protocol.adk import EventOrDict, NotAnEventError
from tests.batch import batch
from tests.conformance.fixtures import Turn, fixture_names, load_fixture
from tests.stream.building import call, decision, event, fragment, response, text, waiting


def camel(event: Event) -> dict[str, Any]:
    """Return the event in the form of ADK's API server."""
    return event.model_dump(mode="json", exclude_none=True, by_alias=True)


def snake(event: Event) -> dict[str, Any]:
    """Return the event in the form of an Agent Engine."""
    return event.model_dump(mode="json", exclude_none=True)


FORMS = {"camelCase": camel, "snake_case": snake, "Python values": lambda event: event.model_dump()}


@pytest.mark.slow
@batch(form=FORMS, name=fixture_names())
def test_dictionaries_give_the_bytes_of_their_events(form: Any, name: str) -> None:
    fixture = load_fixture(name)
    for turn in fixture.turns:
        place = turn.place()
        expected = list(iter_sse(turn.events, **place, **fixture.options_for(6)))
        place["past"] = map(form, turn.past)
        assert list(iter_sse([form(each) for each in turn.events], **place, **fixture.options_for(6))) == expected


TURN = Turn(
    actions=[],
    events=[
        fragment(text("Hel")),
        event(text("Hello.")),
        event(call("look", {}, "c1")),
        event(response("look", {}, "c1")),
    ],
    raised=None,
    past=[],
    message_id=None,
)
DICTS = [camel(each) for each in TURN.events]


async def coming() -> AsyncIterator[dict[str, Any]]:
    for each in DICTS:
        yield each


async def test_every_entrance_takes_them() -> None:
    chunks = list(iter_chunks(TURN.events))
    sse = list(iter_sse(TURN.events))
    converter = StreamProtocolConverter()
    assert [chunk for each in DICTS for chunk in converter.convert(each)] + converter.finish() == chunks
    assert list(iter_chunks(DICTS)) == chunks
    assert list(iter_chunks(iter(DICTS))) == chunks
    assert [chunk async for chunk in stream_chunks(coming())] == chunks
    assert [piece async for piece in stream_sse(coming())] == sse


def test_they_may_stand_beside_events_and_be_of_a_class_of_their_own() -> None:
    expected = list(iter_sse(TURN.events))
    mixed: list[EventOrDict] = [OrderedDict(DICTS[0]), *TURN.events[1:3], DICTS[3]]
    assert list(iter_sse(mixed)) == expected
    assert list(iter_sse(iter(mixed))) == expected


class AttributeDict(dict[str, Any]):
    """A dictionary whose keys are its attributes, too."""

    def __init__(self, values: dict[str, Any]) -> None:
        super().__init__(values)
        self.__dict__ = self


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_their_keys_may_be_attributes_too(form: Any) -> None:
    assert list(iter_sse(AttributeDict(form(each)) for each in TURN.events)) == list(iter_sse(TURN.events))


def test_the_past_may_be_dictionaries() -> None:
    past = waiting("pay", "c1", "a1")
    answers = [decision(("a1", True)), event(response("pay", {"paid": 1}, "c1"))]
    expected = list(iter_sse(answers, past=past))
    assert b"tool-output-available" in b"".join(expected)
    assert list(iter_sse(map(camel, answers), past=map(snake, past))) == expected


def test_fields_that_the_installed_adk_does_not_know_are_left_out(caplog: pytest.LogCaptureFixture) -> None:
    novel = [{**each, "novelField": 1, "errorCode": 5} for each in DICTS]
    assert list(iter_sse(iter(novel))) == list(iter_sse(TURN.events))
    told = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert sorted(told) == [
        "Ignored the field errorCode, whose value the installed ADK cannot read.",
        "Ignored the field novelField, which the installed ADK does not know.",
    ]


NONE_AT_ALL: dict[str, tuple[Any, str]] = {
    "an error of the API server": ({"error": "boom"}, "it has no author"),
    "a chunk": ({"type": "start"}, "it is a chunk of a UI message stream"),
    "a chunk of parts": ({"type": "data-weather", "data": 1}, "it is a chunk of a UI message stream"),
    "a chunk that a client refuses": ({"type": "text-delta"}, "it is a chunk of a UI message stream"),
    "an object of another type": ({"type": "content", "text": "Hi."}, "it has no author"),
    "an author that is none": ({"author": None}, "it has no author"),
    "an author that is a number": ({"author": 1}, "its author is of the type int"),
    "an author without a name": ({"author": "", "type": "start"}, "its author is empty"),
    "a text": ("data: {}", "it is of the type str"),
    "nothing": (None, "it is of the type NoneType"),
}


@pytest.mark.parametrize(("value", "reason"), NONE_AT_ALL.values(), ids=NONE_AT_ALL)
def test_what_is_no_event_is_told_in_one_line_and_changes_nothing(value: Any, reason: str) -> None:
    converter = StreamProtocolConverter()
    with pytest.raises(StreamProtocolError, match=f"^This is not an ADK event: {reason}[.]$"):
        converter.convert(value)
    assert converter.convert(TURN.events[0])[0] == {"type": "start", "messageId": TURN.events[0].invocation_id}


def test_a_list_with_one_that_is_no_event_is_refused_at_once() -> None:
    with pytest.raises(NotAnEventError, match="no author"):
        iter_sse([*DICTS, {"error": "boom"}])


def test_in_the_middle_of_a_stream_it_is_a_failure_like_any_other(caplog: pytest.LogCaptureFixture) -> None:
    def broken() -> Iterator[dict[str, Any]]:
        yield DICTS[0]
        yield {"error": "boom"}

    assert list(iter_chunks(broken()))[-1] == {"type": "error", "errorText": "An error occurred."}
    assert "This is not an ADK event: it has no author." in caplog.text


def test_the_two_frames_of_an_event_with_an_artifact_are_one_again() -> None:
    whole = event(response("draw", {}, "c1"), actions=EventActions(artifact_delta={"a.png": 0}))
    content, actions = camel(whole), camel(whole)
    content["actions"]["artifactDelta"] = {}
    del actions["content"]
    calling, after = camel(event(call("draw", {}, "c1"))), camel(fragment(text("Drawn.")))
    assert list(iter_sse([calling, content, actions, after])) == list(iter_sse([calling, camel(whole), after]))
