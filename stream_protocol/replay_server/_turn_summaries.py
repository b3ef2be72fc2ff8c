"""Summaries of recorded turns, without events. Requests are compared with these summaries."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, cast

from google.adk.events import Event

from stream_protocol.adk import read
from stream_protocol.recording import RecordedTurn
from stream_protocol.session import (
    CallReader,
    InlineFile,
    StoredCall,
    Transcript,
    external_calls,
    read_file,
    user_message,
)
from stream_protocol.wire import ChatRequestError, FilePart, TextPart, UIMessage, parse_chat_request

LAST_MESSAGE: Final = "messages[-1]"
"""The path of the last message in a request, for error messages."""


@dataclass(frozen=True, kw_only=True)
class UserPart:
    """A text or a file of a user message."""

    path: str
    """The path of the part, such as ``messages[-1].parts[0].text``."""
    value: str
    """The text, or the URL of the file."""


@dataclass(frozen=True, kw_only=True)
class RecordedAnswer:
    """The user's answer to a tool call, as the recording contains it."""

    id: str
    """The id of the approval, or the ``toolCallId``."""
    tool: str
    response: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class TurnSummary:
    """The content that a request must have to get this turn. A field that was not recorded is ``None``, and matches any
    request.
    """

    number: int
    """The number of the turn in the recording, from 1."""
    message_id: str
    continues: bool
    """True if the turn continues the previous turn's message after the user's answers."""
    user_parts: tuple[UserPart, ...] | None = None
    """The parts of the user message before the turn."""
    answers: tuple[RecordedAnswer, ...] | None = None
    """The user's answers to tool calls before the turn."""
    open_calls: frozenset[str]
    """The ids of the message's calls that the client must answer next."""


def summarize_turn(number: int, turn: RecordedTurn) -> TurnSummary:
    """Return the summary of a turn."""
    reader = CallReader(turn.call_ids.copy())
    for event in (*turn.past, *turn.events):
        reader.read(read(event))
    calls = external_calls(reader.calls)
    turns = Transcript(turn.events).turns
    spoken = next((turn for turn in turns if turn.user_event is not None), None)
    user_events = [event for turn in turns for event in turn.user_events]
    answers = tuple(answer for event in user_events for answer in _answers(event, reader.calls))
    return TurnSummary(
        number=number,
        message_id=turn.message_id,
        continues=bool(turn.past),
        user_parts=tuple(user_parts(user_message(spoken.events[0], spoken.events)))
        if spoken is not None
        else _requested_parts(turn),
        answers=answers or None,
        open_calls=frozenset(call.tool_call_id for call in calls if call.is_pending),
    )


def user_parts(message: UIMessage) -> Iterator[UserPart]:
    """Yield the texts and files of a user message. Equal files give equal values, even if one URL is encoded in another
    way.
    """
    for index, part in enumerate(message["parts"]):
        if part["type"] == "text" and (text := cast("TextPart", part)["text"]):
            yield UserPart(path=f"{LAST_MESSAGE}.parts[{index}].text", value=text)
        elif part["type"] == "file":
            yield UserPart(path=f"{LAST_MESSAGE}.parts[{index}].url", value=_url(cast("FilePart", part)))


def _url(part: FilePart) -> str:
    try:
        file = read_file(part)
    except ChatRequestError:  # an event may have a file that a request cannot have
        return part["url"]
    return (
        f"data:{file.media_type};base64,{b64encode(file.data).decode()}" if isinstance(file, InlineFile) else file.url
    )


def _requested_parts(turn: RecordedTurn) -> tuple[UserPart, ...] | None:
    """Return the parts of the user message in the recorded request. Use this function if the turn's events do not
    contain the user message.
    """
    if turn.request is None or turn.past:
        return None
    try:
        message = parse_chat_request(turn.request).target
    except ChatRequestError:  # the app's redaction may have made the request invalid
        return None
    return tuple(user_parts(message)) if message["role"] == "user" else None


def _answers(event: Event, calls: Iterable[StoredCall]) -> Iterator[RecordedAnswer]:
    ids = {
        id(given.result.value): call.tool_call_id for call in calls for given in call.responses if given.result.value
    }
    for result in read(event).results:
        if result.id:
            yield RecordedAnswer(id=ids.get(id(result.value), result.id), tool=result.name, response=result.value or {})
