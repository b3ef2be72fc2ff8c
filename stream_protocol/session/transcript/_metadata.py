"""Data of this library in the ``custom_metadata`` of stored events. Only this module reads and writes the data.

ADK gets data about a request, such as the message id, in the run config. ADK copies this data to every event of the
run. This module reads only the copy on the user's event.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final, TypedDict

from google.genai.types import Content

from stream_protocol.adk import CONTEXT_KEY, METADATA_KEY, Text, is_failure, is_user_event

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Self

    from google.adk.events import Event

    from stream_protocol.adk import EventFacts

STATE_PREFIX: Final = "_adk_ui_stream:"
"""The prefix of this library's keys in a session's state. Instructions cannot reference these keys. Clients, and the
agent of an ``AgentTool``, do not get these keys."""

DETAILS_PREFIX: Final = "adk-ui-stream-details-"
"""The prefix of the ids of sessions that store a chat's details for the list of chats, such as its title."""

EVENT_INTERVAL: Final = 0.001
"""Seconds between two events that this library appends. ADK orders events by time."""


_ON_EVENTS_OF_ADK: Final = frozenset({"message_id", "files", "request", "record", "reasons"})
"""The stored keys that events from ADK can have. Any other key shows that this library has appended the event."""

_NOTHING: Final[dict[str, Any]] = {}


class RunMark(TypedDict):
    """The identity of the run that stored a user event."""

    idempotency_key: str | None
    record: str | None


@dataclass(frozen=True, kw_only=True)
class SentFile:
    media_type: str
    filename: str | None = None


@dataclass(frozen=True, kw_only=True)
class AcceptedMessage:
    """A steering message (sent while the agent works) that a run has accepted. No model call has read it yet."""

    message: Mapping[str, Any]
    model_calls: int
    """The number of the run's model calls that had begun when the message came."""
    context: Any = None
    """The client's context with the message, as JSON."""

    @property
    def id(self) -> str:
        """The message id from the client."""
        return str(self.message["id"])


@dataclass(frozen=True, kw_only=True)
class TakenInMessage:
    """A steering message (sent while the agent worked) that a model call has read."""

    id: str
    model_call: str = ""
    """The model call that has read the message: agent, branch and number."""
    context: Any = None

    @classmethod
    def of(cls, event: Event) -> TakenInMessage | None:
        """Return the steering message (sent while the agent worked) that the event contains; ``None`` if there is
        none.
        """
        return EventMetadata.of(event).steering


@dataclass(frozen=True, kw_only=True)
class EventMetadata:
    """The data that this library stores on one event."""

    message_id: str | None = None
    """On a user event: the client's message id; ``None`` if no chat client sent the message."""
    files: tuple[SentFile | None, ...] = ()
    """On a user event: one item for each part of the message, ``None`` for a part without a file. Empty if the message
    has no files."""
    idempotency_key: str | None = None
    """On the events of a run: the idempotency key of its request."""
    record: str | None = None
    """On the events of a run with an engine: the id of the run's record, equal for all its executions."""
    reasons: Mapping[str, str] = field(default_factory=dict)
    """On a user event with answers: approval id -> the user's reason for the decision."""
    outcome: str | None = None
    """On an appended event: how the run ended. A run with an outcome is not recovered."""
    error_text: str | None = None
    """On an appended event of a failed run: the error text that the client received. The app's ``on_error`` has masked
    it."""
    hidden_events: tuple[str, ...] = ()
    """On an appended event: the ids of events that the client is not shown."""
    shown_content: Mapping[str, Any] | None = None
    """On an appended event: the content for the client, as JSON. The model reads the event's own content."""
    streamed: bool = False
    """On an appended event: True if the content was streamed, and no complete event repeats it."""
    before: str | None = None
    """On an appended event: the id of the stored event that the client was shown directly after this event."""
    unfinished: bool = False
    """On an appended event: True for the partial text of a model response whose worker died."""
    execution: str | None = None
    """On an appended user event without content: the id of the execution that recovers the run.

    Earlier executions of the run store nothing after this event.
    """
    accepted: AcceptedMessage | None = None
    """On an appended user event without content: a steering message that waits for a model call."""
    steering: TakenInMessage | None = None
    """On an appended user event: the steering message in the event."""
    kept_steering: tuple[str, ...] = ()
    """On an appended user event directly before a rewind: the ids of steering messages that the rewind keeps."""

    @classmethod
    def of(cls, event: Event) -> Self:
        """Read this library's data from the event. Unknown keys and invalid values are ignored."""
        return cls(**_parsed(_stored_on(event)))

    def is_of_another_run(self, mark: RunMark) -> bool:
        """Return True if another run than ``mark`` has stored the user event with this data. Compares idempotency keys
        and record ids. Equal keys are not enough, because a client may repeat a request.
        """
        is_equal_request = self.idempotency_key in (None, mark["idempotency_key"])
        return not is_equal_request or (bool(self.record and mark["record"]) and self.record != mark["record"])

    def to_custom(self, others: Mapping[str, Any] | None = None) -> dict[str, Any] | None:
        """Return this data as the ``custom_metadata`` of an event. ``others``: metadata of other programs, to be added
        to the result. Returns ``None`` if there is no data at all.
        """
        stored = _to_stored(self)
        return {**(others or {}), METADATA_KEY: stored} if stored else dict(others) if others else None


def update_metadata(event: Event, **changes: Any) -> None:
    """Change fields of ``EventMetadata`` on an event that is not stored yet."""
    event.custom_metadata = replace(EventMetadata.of(event), **changes).to_custom(event.custom_metadata)


def hidden_events(event: Event) -> tuple[str, ...]:
    """Return the ids of the stored events that ``event`` hides from the client (``EventMetadata.hidden_events``). For
    most events, this is faster than ``EventMetadata.of``.
    """
    return EventMetadata.of(event).hidden_events if "untold" in _stored_on(event) else ()


def moved_before(event: Event) -> str | None:
    """Return the id of the stored event that the client was shown directly after this event; ``None`` if the client was
    shown the events in their stored order.

    For most events, this is faster than ``EventMetadata.of(event).before``.
    """
    return EventMetadata.of(event).before if "before" in _stored_on(event) else None


def shown_event(event: Event) -> Event:
    """Return the event with the content that the client received."""
    if not {"told", "streamed"} & _stored_on(event).keys():
        return event
    metadata = EventMetadata.of(event)
    changes: dict[str, Any] = {"partial": True} if metadata.streamed else {}
    if metadata.shown_content is not None:
        changes["content"] = Content.model_validate(metadata.shown_content)
    return event.model_copy(update=changes)


def steering_state(event: Event) -> tuple[AcceptedMessage | None, str | None]:
    """Return two values. The first is the steering message that begins to wait with this event, or ``None``. The second
    is the id of the steering message that stops waiting with this event, or ``None``.

    A steering message (sent while the agent works) waits until a model call reads the message, or until the message
    begins a turn.
    """
    stored = _stored_on(event)
    if stored.keys().isdisjoint(("accepted", "steering", "message_id")):
        return None, None
    metadata = EventMetadata.of(event)
    begun = metadata.message_id if is_user_event(event) else None
    return metadata.accepted, metadata.steering.id if metadata.steering is not None else begun


def kept_steering(event: Event) -> tuple[str, ...]:
    """Return the ids of the steering messages (sent while the agent worked) that the rewind after this event keeps:
    ``EventMetadata.kept_steering``. For most events, this is faster than ``EventMetadata.of``.
    """
    return EventMetadata.of(event).kept_steering if "kept" in _stored_on(event) else ()


def is_appended(event: Event) -> bool:
    """Return True if this library, and not ADK, has created the event."""
    return not _ON_EVENTS_OF_ADK.issuperset(_stored_on(event))


def stored_error_text(response: Sequence[Event]) -> str | None:
    """Return the error text that the client received at the end of a response. Return ``None`` if the run did not fail,
    or if the text is not stored. ``response``: the stored events.
    """
    if not response or not is_failure(response[-1]):
        return None
    of_run = takewhile(lambda event: not is_user_event(event), reversed(response))
    return next((text for event in of_run if (text := EventMetadata.of(event).error_text) is not None), None)


def is_repeated_fragment(facts: EventFacts) -> bool:
    """Return True for an agent's partial event whose content comes again in a complete event. Such an event has only
    texts, or no parts."""
    if not facts.is_fragment or facts.by_user or "streamed" in _stored_on(facts.event):
        return False
    return all(isinstance(part, Text) for part in facts.parts)


def _stored_on(event: Event) -> dict[str, Any]:
    kept = event.custom_metadata
    stored = kept.get(METADATA_KEY) if kept else None
    return stored if isinstance(stored, dict) else _NOTHING


def _to_stored(metadata: EventMetadata) -> dict[str, Any]:
    files = [None if file is None else _stored_file(file) for file in metadata.files]
    keys = {
        "message_id": metadata.message_id,
        "files": files,
        "request": metadata.idempotency_key,
        "record": metadata.record,
        "reasons": dict(metadata.reasons),
        "sealed": metadata.outcome,
        "error_text": metadata.error_text,
        "untold": list(metadata.hidden_events),
        "told": None if metadata.shown_content is None else dict(metadata.shown_content),
        "streamed": metadata.streamed,
        "before": metadata.before,
        "unfinished": metadata.unfinished,
        "execution": metadata.execution,
        "accepted": metadata.accepted
        and {
            "message": dict(metadata.accepted.message),
            "calls": metadata.accepted.model_calls,
            **_stored_context(metadata.accepted),
        },
        "steering": metadata.steering
        and {"id": metadata.steering.id, "call": metadata.steering.model_call, **_stored_context(metadata.steering)},
        "kept": list(metadata.kept_steering),
    }
    return {key: value for key, value in keys.items() if value}


def _stored_context(message: AcceptedMessage | TakenInMessage) -> dict[str, Any]:
    return {} if message.context is None else {CONTEXT_KEY: message.context}


def _stored_file(file: SentFile) -> dict[str, str]:
    return {"mediaType": file.media_type, **({"filename": file.filename} if file.filename else {})}


def _parsed(stored: dict[str, Any]) -> dict[str, Any]:
    """Return the valid fields of ``EventMetadata``. Apps and other releases may have stored invalid values."""
    fields: dict[str, Any] = {}
    for key, value in stored.items():
        match key, value:
            case "message_id", str():
                fields["message_id"] = value or None
            case "request", str():
                fields["idempotency_key"] = value or None
            case "files", list():
                fields["files"] = tuple(map(_parsed_file, value))
            case "reasons", dict():
                fields["reasons"] = value
            case "sealed", str():
                fields["outcome"] = value
            case "untold", list():
                fields["hidden_events"] = tuple(value)
            case "kept", list():
                fields["kept_steering"] = tuple(value)
            case "told", dict():
                fields["shown_content"] = value
            case "streamed" | "unfinished", bool():
                fields[key] = value
            case "before" | "error_text" | "execution" | "record", str():
                fields[key] = value
            case "accepted", {"message": {"id": str()} as message, "calls": int(calls), **more}:
                context = more.get(CONTEXT_KEY)
                fields["accepted"] = AcceptedMessage(message=message, model_calls=calls, context=context)
            case "steering", {"id": str(message_id), **more}:
                fields["steering"] = TakenInMessage(
                    id=message_id, model_call=str(more.get("call", "")), context=more.get(CONTEXT_KEY)
                )
    return fields


def _parsed_file(stored: Any) -> SentFile | None:
    match stored:
        case {"mediaType": str(media_type), **others}:
            filename = others.get("filename")
            return SentFile(media_type=media_type, filename=filename if isinstance(filename, str) else None)
    return None
