"""Message ids and reasons from a recorded request are added to the events of a recording."""

from typing import Any

import pytest
from google.adk.events import Event
from google.genai import types

from stream_protocol.recording._replay import _as_requested
from stream_protocol.session import EventMetadata


def said(text: str, author: str = "user") -> Event:
    return Event(id=text, author=author, content=types.Content(role="user", parts=[types.Part(text=text)]))


def denied() -> Event:
    response = types.FunctionResponse(id="q", name="adk_request_confirmation", response={"confirmed": False})
    return Event(author="user", content=types.Content(role="user", parts=[types.Part(function_response=response)]))


def user(message_id: Any) -> dict[str, Any]:
    return {"id": message_id, "role": "user", "parts": [{"type": "text", "text": "Hi"}]}


ASSISTANT = {"id": "a", "role": "assistant", "parts": [{"approval": {"id": "q", "approved": False, "reason": "No."}}]}


def ids(body: dict[str, Any], *events: Event, taken: set[str] | None = None) -> list[str | None]:
    return [EventMetadata.of(event).message_id for event in _as_requested(events, body, taken or set())]


def test_the_newest_message_of_the_user_has_its_id() -> None:
    body = {"messages": [user("u1"), ASSISTANT, user("u2")]}
    assert ids(body, said("Hi"), said("Hello.", "root")) == ["u2", None]


def test_an_edit_is_of_the_message_that_it_names() -> None:
    assert ids({"messages": [user("u1"), user("u2")], "messageId": "u1"}, said("Hi")) == ["u1"]
    assert ids({"messages": [user("u1")], "messageId": "a"}, said("Hi")) == ["u1"]


def test_no_two_messages_get_one_id() -> None:
    taken = {"u1"}
    assert ids({"messages": [user("u1")]}, said("Hi"), taken=taken) == [None]
    assert ids({"messages": [user("u2")]}, said("Hi"), said("Hm"), taken=taken) == ["u2", None]
    assert taken == {"u1", "u2"}


def test_a_denial_has_its_reason() -> None:
    event = denied()
    (changed,) = _as_requested([event], {"messages": [user("u1"), ASSISTANT]}, set())
    assert EventMetadata.of(changed).reasons == {"q": "No."}
    assert event.custom_metadata is None


BODIES: list[Any] = [
    {},
    {"messages": None},
    {"messages": []},
    {"messages": [None, 3, "x", []]},
    {"messages": [{"role": "user"}]},
    {"messages": [user(3)]},
    {"messages": [user("")]},
    {"messages": [user(["u"])], "messageId": ["u"]},
    {"messages": [{"role": "assistant", "parts": 3}]},
    {"messages": [{"role": "assistant", "parts": [None, {"approval": 3}, {"approval": {"id": 1, "reason": 2}}]}]},
]


@pytest.mark.parametrize("body", BODIES)
def test_a_body_of_another_kind_changes_nothing(body: Any) -> None:
    events = [said("Hi"), denied(), said("Hello.", "root")]
    assert list(_as_requested(events, body, set())) == events
