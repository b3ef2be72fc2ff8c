"""A recorded turn as the server remembers it: what was said or answered for it to follow, without its events."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, cast

from google.adk.events import Event
from google.adk.sessions import Session

from stream_protocol.recording import RecordedTurn
from stream_protocol.session import InlineFile, is_user_event, is_user_message, read_file, session_to_messages
from stream_protocol.wire import ChatRequestError, FilePart, TextPart, UIMessage, parse_chat_request

LAST: Final = "messages[-1]"
"""The place of the message that a request is about."""


@dataclass(frozen=True, kw_only=True)
class Said:
    """A text or a file of a user's message."""

    place: str
    """Where in the request: ``messages[-1].parts[0].text``."""
    value: str
    """The text, or the URL."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What somebody answered to a call."""

    id: str
    """The approval's id, or the call's."""
    name: str
    """The function's."""
    response: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Scene:
    """A recorded turn. What nobody recorded is ``None``, and anything matches it."""

    number: int
    """From 1."""
    message_id: str
    continues: bool
    """Whether it goes on with the message of the turn before, as answers to calls make it."""
    said: tuple[Said, ...] | None = None
    answers: tuple[Answer, ...] | None = None
    asks: frozenset[str]
    """Calls of this turn that it left to the page."""


def scene_of(number: int, turn: RecordedTurn) -> Scene:
    """What there is to know of a turn before it is played."""
    users = [event for event in turn.events if is_user_event(event)]
    text = next(filter(is_user_message, users), None)
    answers = tuple(answer for event in users for answer in _answers(event))
    return Scene(
        number=number,
        message_id=turn.message_id,
        continues=bool(turn.past),
        said=tuple(said(_user_message(text))) if text is not None else _requested(turn),
        answers=answers or None,
        asks=_asks(turn.events),
    )


def said(message: UIMessage) -> Iterator[Said]:
    """What a user's message says, in a form that is equal where the words and files are."""
    for index, part in enumerate(message["parts"]):
        if part["type"] == "text" and (words := cast("TextPart", part)["text"]):
            yield Said(place=f"{LAST}.parts[{index}].text", value=words)
        elif part["type"] == "file":
            yield Said(place=f"{LAST}.parts[{index}].url", value=_url(cast("FilePart", part)))


def _url(part: FilePart) -> str:
    try:
        file = read_file(part)
    except ChatRequestError:  # ADK may have files that no client can send
        return part["url"]
    return (
        f"data:{file.media_type};base64,{b64encode(file.data).decode()}" if isinstance(file, InlineFile) else file.url
    )


def _user_message(event: Event) -> UIMessage:
    message, *_ = session_to_messages(Session(id="", app_name="", user_id="", events=[event]))
    return message


def _requested(turn: RecordedTurn) -> tuple[Said, ...] | None:
    """The words of a turn whose events begin with the agent's: those of its request, where that was recorded."""
    if turn.request is None or turn.past:
        return None
    try:
        message = parse_chat_request(turn.request).messages[-1]
    except ChatRequestError:  # redacted, perhaps, so that it is no request any more
        return None
    return tuple(said(message)) if message["role"] == "user" else None


def _answers(event: Event) -> Iterator[Answer]:
    for response in event.get_function_responses():
        if response.id:
            yield Answer(id=response.id, name=response.name or "", response=response.response or {})


def _asks(events: tuple[Event, ...]) -> frozenset[str]:
    asked = {call_id for event in events for call_id in event.long_running_tool_ids or ()}
    ran = {response.id for event in events if not is_user_event(event) for response in event.get_function_responses()}
    return frozenset(asked - ran)
