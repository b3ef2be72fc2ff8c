"""The transcript of a stored session: turns, responses, waiting calls, and rewound turns."""

from collections.abc import Iterable
from typing import Any

import pytest
from google.adk.events import Event, EventActions
from google.genai import types

from stream_protocol.adk import CallKind, read
from stream_protocol.session import METADATA_KEY, EventRole, Transcript, TranscriptReader, Turn
from stream_protocol.session._edited_messages import find_user_message
from stream_protocol.session.transcript import EventMetadata, SentFile, update_metadata


def event(author: str, *parts: types.Part, invocation: str = "e-1", **fields: Any) -> Event:
    content = types.Content(role="user" if author == "user" else "model", parts=list(parts)) if parts else None
    return Event(invocation_id=invocation, author=author, content=content, **fields)


def said(words: str, invocation: str = "e-1", message_id: str | None = None) -> Event:
    metadata = EventMetadata(message_id=message_id).to_custom()
    return event("user", types.Part(text=words), invocation=invocation, custom_metadata=metadata)


def spoke(words: str, invocation: str = "e-1", **fields: Any) -> Event:
    return event("root", types.Part(text=words), invocation=invocation, **fields)


def call(call_id: str, name: str = "ask", **args: Any) -> types.Part:
    return types.Part(function_call=types.FunctionCall(id=call_id, name=name, args=args))


def response(call_id: str, name: str = "ask", **value: Any) -> types.Part:
    return types.Part(function_response=types.FunctionResponse(id=call_id, name=name, response=value))


def asked(call_id: str, invocation: str = "e-1") -> Event:
    return event("root", call(call_id), invocation=invocation, long_running_tool_ids={call_id})


def answered(call_id: str, invocation: str = "e-1", **fields: Any) -> Event:
    return event("user", response(call_id, result=1), invocation=invocation, **fields)


def gated(call_id: str, approval_id: str) -> list[Event]:
    """Return a call, its confirmation call and its placeholder response."""
    confirmation = call(approval_id, "adk_request_confirmation", originalFunctionCall={"id": call_id, "name": "ask"})
    placeholder = EventActions(requested_tool_confirmations={call_id: {"hint": ""}})  # type: ignore[dict-item]  # pydantic converts it
    return [
        event("root", call(call_id)),
        event("root", confirmation, long_running_tool_ids={approval_id}),
        event("root", response(call_id, error="confirm"), actions=placeholder),
    ]


def rewind(invocation: str) -> Event:
    return event("user", invocation="e-9", actions=EventActions(rewind_before_invocation_id=invocation))


def texts(events: Iterable[Event]) -> list[str]:
    parts = [part for one in events if one.content is not None for part in one.content.parts or ()]
    return [part.text for part in parts if part.text is not None]


def shape(turns: Iterable[Turn]) -> list[tuple[str, list[str]]]:
    return [(turn.message_id, texts(turn.events)) for turn in turns]


def test_each_message_of_the_user_begins_an_turn() -> None:
    read = Transcript([said("a"), spoke("1"), said("b"), spoke("2"), said("c", "e-2")])
    assert shape(read.turns) == [("e-1", ["a", "1"]), ("e-1.2", ["b", "2"]), ("e-2", ["c"])]
    assert [texts(turn.user_events) for turn in read.turns] == [["a"], ["b"], ["c"]]
    assert (read.next_message_id("e-1"), read.next_message_id("e-2"), read.next_message_id("e-3")) == (
        "e-1.3",
        "e-2.2",
        "e-3",
    )


def test_an_agent_may_speak_first_and_then_nothing_can_be_answered() -> None:
    greeting = Transcript([spoke("Welcome."), asked("A")])
    assert shape(greeting.turns) == [("e-1", ["Welcome."])]
    assert (greeting.turns[0].user_event, greeting.current, Transcript().current) == (None, None, None)


@pytest.mark.parametrize(
    ("events", "responses"),
    [
        ([said("a"), spoke("1"), spoke("2")], [3]),
        ([said("a"), asked("A"), answered("A"), spoke("1")], [2, 2]),
        ([said("a"), *gated("A", "B"), answered("B"), event("root", response("A", ok=1)), spoke("1")], [4, 3]),
        ([said("a"), *gated("A", "B"), asked("L"), answered("L"), answered("B"), spoke("1")], [5, 3]),
        ([said("a"), asked("A"), answered("A", "e-2"), spoke("1", "e-2")], [2, 2]),
        ([said("a"), spoke("1", "e-2")], [2]),
        ([said("a"), event("root", call("T")), answered("T"), spoke("1")], [2, 2]),
    ],
    ids=[
        "one run",
        "a client tool",
        "an approval",
        "two answers in one request",
        "an answer in an invocation of its own",
        "an agent's own invocation",
        "a result in the user's name that nothing waited for",
    ],
)
def test_each_request_with_answers_begins_a_response(events: list[Event], responses: list[int]) -> None:
    (turn,) = Transcript(events).turns
    assert [len(one) for one in turn.responses] == responses
    assert turn.events == tuple(events)


def test_a_rewind_takes_back_an_invocation_and_all_that_came_later() -> None:
    events = [said("a"), spoke("1"), said("b", "e-2"), spoke("2", "e-2"), said("c"), spoke("3")]
    read = Transcript([*events, rewind("e-2")])
    assert shape(read.turns) == [("e-1", ["a", "1"])]
    assert read.next_message_id("e-1") == "e-1.2"
    again = Transcript([*events, rewind("e-2"), said("d", "e-3"), rewind("e-1"), said("e", "e-4")])
    assert shape(again.turns) == [("e-4", ["e"])]
    assert shape(Transcript([*events[:2], rewind("gone"), spoke("2")]).turns) == [("e-1", ["a", "1", "2"])]


def test_the_answer_of_an_old_adk_is_taken_back_without_its_message() -> None:
    events = [said("a"), asked("A"), answered("A", "e-2"), spoke("1", "e-2"), said("b", "e-3"), rewind("e-2")]
    (turn,) = Transcript(events).turns
    assert turn.stored == tuple(events[:2])
    assert [len(one) for one in turn.responses] == [2]
    assert [one.is_pending for one in turn.external_calls] == [True]
    again = Transcript([*events, answered("A", "e-4"), spoke("2", "e-4")])
    assert [len(one) for one in again.turns[0].responses] == [2, 2]


def test_a_user_message_is_found_by_the_id_of_its_client_or_else_of_its_event() -> None:
    first, edited, unnamed = said("a", message_id="u1"), said("b", "e-2", message_id="u1"), said("c", "e-3")
    read = Transcript([first, spoke("1"), rewind("e-1"), edited, spoke("2", "e-2"), unnamed])
    found, by_event = find_user_message(read, "u1"), find_user_message(read, unnamed.id)
    assert found is not None
    assert by_event is not None
    assert (found.user_event, by_event.user_event) == (edited, unnamed)
    assert find_user_message(read, "") is None
    assert [turn.user_event for turn in read.versions("u1")] == [first, edited]


def test_what_is_hidden_from_the_page_is_stored_and_not_shown() -> None:
    late, closed = spoke("late"), answered("A")
    update_metadata(closed, hidden_events=(closed.id,))
    seal = event("root", error_code="X")
    update_metadata(seal, hidden_events=(late.id,), outcome="abort")
    (turn,) = Transcript([said("a"), asked("A"), late, seal, closed]).turns
    assert [len(turn.stored), len(turn.events), len(turn.responses)] == [5, 3, 1]
    assert [one.is_pending for one in turn.external_calls] == [False]


def test_the_page_was_shown_another_content_than_the_model_reads() -> None:
    half = event("root", error_code="X")
    shown = types.Content(role="model", parts=[types.Part(text="Half")])
    update_metadata(half, shown_content=shown.model_dump(mode="json", exclude_none=True))
    (turn,) = Transcript([said("a"), half]).turns
    assert (texts(turn.stored), texts(turn.events)) == (["a"], ["a", "Half"])


def test_who_answers_a_call_that_waits() -> None:
    requests = [call("I", "adk_request_input"), call("C", "adk_request_credential"), call("A"), call("S", "look")]
    waiting = event("root", *requests, long_running_tool_ids={"I", "C", "A"})
    (turn,) = Transcript([said("a"), waiting, *gated("G", "B"), answered("I")]).turns
    assert [(one.known.id, one.reply_id, one.kind, one.is_pending) for one in turn.external_calls] == [
        ("I", "I", CallKind.INPUT, False),
        ("C", "C", CallKind.CREDENTIAL, True),
        ("A", "A", CallKind.CLIENT_TOOL, True),
        ("G", "B", CallKind.APPROVAL, True),
    ]
    assert [one.call.id for one in turn.calls] == ["I", "C", "A", "S", "G", "B"]


def test_a_request_that_a_model_made_up_is_not_answered() -> None:
    made_up = event("root", call("B", "adk_request_confirmation", originalFunctionCall={"id": "A", "name": "pay"}))
    (turn,) = Transcript([said("a"), made_up]).turns
    assert turn.external_calls == ()


def test_the_newest_response_says_which_request_it_answers() -> None:
    answer = answered("A")
    update_metadata(answer, idempotency_key="r2")
    events = [said("a"), asked("A"), answer, spoke("1")]
    assert Transcript(events).is_answering("r2")
    assert not Transcript(events[:2]).is_answering("r2")
    assert not Transcript().is_answering("r2")


def test_a_recording_of_a_stopped_run_shows_no_approval() -> None:
    reader = TranscriptReader()
    closed = event("root", response("A", error="stopped"), error_code="INVOCATION_ABORTED")
    places = [reader.read(read(one)) for one in [*gated("A", "B"), closed]]
    assert places == [EventRole.NEW_MESSAGE, *[EventRole.SAME_RESPONSE] * 3]


def test_metadata_is_read_as_it_was_written() -> None:
    metadata = EventMetadata(
        message_id="u1",
        files=(SentFile(media_type="image/png", filename="a.png"), None, SentFile(media_type="text/plain")),
        idempotency_key="r1",
        record="e1",
        reasons={"B": "too much"},
        outcome="abort",
        hidden_events=("x", "y"),
        shown_content={"role": "model"},
    )
    custom = metadata.to_custom({"mine": 1})
    assert EventMetadata.of(event("user", custom_metadata=custom)) == metadata
    assert custom == {
        "mine": 1,
        METADATA_KEY: {
            "message_id": "u1",
            "files": [{"mediaType": "image/png", "filename": "a.png"}, None, {"mediaType": "text/plain"}],
            "request": "r1",
            "record": "e1",
            "reasons": {"B": "too much"},
            "sealed": "abort",
            "untold": ["x", "y"],
            "told": {"role": "model"},
        },
    }
    assert EventMetadata().to_custom({"mine": 1}) == {"mine": 1}
    assert EventMetadata().to_custom() is None


@pytest.mark.parametrize(
    "kept",
    [
        None,
        "text",
        {},
        {"message_id": 5, "files": "x", "reasons": [], "sealed": 1, "untold": "x", "told": 0, "request": []},
        {"message_id": "", "later": True},
    ],
)
def test_metadata_of_another_form_is_left_out(kept: object) -> None:
    assert EventMetadata.of(event("user", custom_metadata={METADATA_KEY: kept})) == EventMetadata()


def test_a_file_of_another_form_is_no_file() -> None:
    metadata = {METADATA_KEY: {"files": [{"mediaType": 1}, {"mediaType": "a/b", "filename": 1}]}}
    assert EventMetadata.of(event("user", custom_metadata=metadata)).files == (None, SentFile(media_type="a/b"))
