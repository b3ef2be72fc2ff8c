"""The data that we keep on stored events, in their ``custom_metadata``. Only this module reads and writes it.

The run config carries the facts about a turn that only the client knows. ADK puts them on every event of the run, and
we read them only from the user's own event. Events that we append ourselves name the content that the client was shown,
and the events hidden from it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from google.genai.types import Content

from stream_protocol.adk import METADATA_KEY, is_user_event

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

    from google.adk.events import Event

STATE_PREFIX: Final = "_adk_ui_stream:"
"""Prefix of our keys in a session's state. An instruction cannot name such a key (``{key}``), ``adk-state`` parts leave
it out, and ADK keeps it from the agents of an ``AgentTool``."""

DETAILS_PREFIX: Final = "adk-ui-stream-details-"
"""Prefix of the id of a session that is not a conversation. Such a session holds the user's own details of a chat, for
the list of chats."""

EVENT_INTERVAL: Final = 0.001
"""Seconds between events that we make. ADK orders events by their time, and SQL stores round it to microseconds."""


_ON_EVENTS_OF_ADK: Final = frozenset({"message_id", "files", "request", "reasons"})
"""The stored keys that an event of ADK's may have."""

_NOTHING: Final[dict[str, Any]] = {}


@dataclass(frozen=True, kw_only=True)
class SentFile:
    """A file that came with a user's message."""

    media_type: str
    filename: str | None = None


@dataclass(frozen=True, kw_only=True)
class AcceptedMessage:
    """A steering message that the run has accepted, and not yet taken in."""

    message: Mapping[str, Any]
    """The user's UI message."""
    model_calls: int
    """The number of the run's model calls that had begun before."""

    @property
    def id(self) -> str:
        """The id that the client gave the message."""
        return str(self.message["id"])


@dataclass(frozen=True, kw_only=True)
class TakenInMessage:
    """A steering message that a model call has read."""

    id: str
    """The id that the client gave the message."""
    model_call: str = ""
    """The model call: agent, branch, and number."""

    @classmethod
    def of(cls, event: Event) -> TakenInMessage | None:
        """Return the message that the event holds."""
        return EventMetadata.of(event).steering


@dataclass(frozen=True, kw_only=True)
class EventMetadata:
    """The data that we keep on one event."""

    message_id: str | None = None
    """On a user's event: the id that the client gave the message; ``None`` if no chat client sent it."""
    files: tuple[SentFile | None, ...] = ()
    """On a user's event: for each part the file that came with it, ``None`` for any other part. Empty without files."""
    idempotency_key: str | None = None
    """On the events of a run: that of the request that it answers."""
    reasons: Mapping[str, str] = field(default_factory=dict)
    """On a user's event with answers: approval id -> why the user decided so."""
    outcome: str | None = None
    """On an event that we append: how the run ended. Read when a run is recovered: one that has ended is not."""
    hidden_events: tuple[str, ...] = ()
    """On an event that we append: the ids of stored events that are hidden from the page."""
    shown_content: Mapping[str, Any] | None = None
    """On an event that we append: the content that the page is shown, as JSON. The stored one is for the model."""
    streamed: bool = False
    """On an event that we append: whether the page was shown it in fragments, which no complete event repeats."""
    before: str | None = None
    """On an event that we append: the id of the stored event before which the page was shown it."""
    unfinished: bool = False
    """On an event that we append: whether it is the half text of a model whose worker died. No model says it again."""
    accepted: AcceptedMessage | None = None
    """On a user's event without content that we append: a steering message, which waits for the run."""
    steering: TakenInMessage | None = None
    """On a user's event that we append: the steering message that the event holds."""

    @classmethod
    def of(cls, event: Event) -> Self:
        """Read the data from the event. Other data, and data of an unknown form, is left out."""
        return cls(**_parsed(_stored_on(event)))

    def to_custom(self, others: Mapping[str, Any] | None = None) -> dict[str, Any] | None:
        """A ``custom_metadata`` with this and what others keep there; ``None`` if there is nothing to keep."""
        stored = _to_stored(self)
        return {**(others or {}), METADATA_KEY: stored} if stored else dict(others) if others else None


def update_metadata(event: Event, **changes: Any) -> None:
    """Changes what we keep on an event that is not stored yet. ``changes``: fields of ``EventMetadata``."""
    event.custom_metadata = replace(EventMetadata.of(event), **changes).to_custom(event.custom_metadata)


def hidden_events(event: Event) -> tuple[str, ...]:
    """``EventMetadata.of(event).hidden_events``, faster: it is asked for each event of a session."""
    return EventMetadata.of(event).hidden_events if "untold" in _stored_on(event) else ()


def moved_before(event: Event) -> str | None:
    """``EventMetadata.of(event).before``, faster: as ``hidden_events``."""
    return EventMetadata.of(event).before if "before" in _stored_on(event) else None


def shown_event(event: Event) -> Event:
    """The event as the page was shown it."""
    if not {"told", "streamed"} & _stored_on(event).keys():
        return event
    metadata = EventMetadata.of(event)
    changes: dict[str, Any] = {"partial": True} if metadata.streamed else {}
    if metadata.shown_content is not None:
        changes["content"] = Content.model_validate(metadata.shown_content)
    return event.model_copy(update=changes)


def steering_state(event: Event) -> tuple[AcceptedMessage | None, str | None]:
    """The steering message that the event accepts, and the id of the message that stops waiting: it is taken in, or
    begins a turn."""
    stored = _stored_on(event)
    if stored.keys().isdisjoint(("accepted", "steering", "message_id")):
        return None, None
    metadata = EventMetadata.of(event)
    begun = metadata.message_id if is_user_event(event) else None
    return metadata.accepted, metadata.steering.id if metadata.steering is not None else begun


def is_appended(event: Event) -> bool:
    """Returns True for an event that we append. All others come from ADK, which puts the run's metadata on them."""
    return not _ON_EVENTS_OF_ADK.issuperset(_stored_on(event))


def is_repeated_fragment(event: Event) -> bool:
    """Return True if a complete event repeats this fragment: it has only texts, and we did not append it. Also True for
    a fragment without parts. False for a user's speech in a live run, which stays in its pieces."""
    if not event.partial or is_user_event(event) or "streamed" in _stored_on(event):
        return False
    return all(part.text is not None for part in (event.content.parts if event.content is not None else None) or ())


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
        "reasons": dict(metadata.reasons),
        "sealed": metadata.outcome,
        "untold": list(metadata.hidden_events),
        "told": None if metadata.shown_content is None else dict(metadata.shown_content),
        "streamed": metadata.streamed,
        "before": metadata.before,
        "unfinished": metadata.unfinished,
        "accepted": metadata.accepted
        and {"message": dict(metadata.accepted.message), "calls": metadata.accepted.model_calls},
        "steering": metadata.steering and {"id": metadata.steering.id, "call": metadata.steering.model_call},
    }
    return {key: value for key, value in keys.items() if value}


def _stored_file(file: SentFile) -> dict[str, str]:
    return {"mediaType": file.media_type, **({"filename": file.filename} if file.filename else {})}


def _parsed(stored: dict[str, Any]) -> dict[str, Any]:
    """The fields of ``EventMetadata``. Apps and other versions may have written anything."""
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
            case "told", dict():
                fields["shown_content"] = value
            case "streamed" | "unfinished", bool():
                fields[key] = value
            case "before", str():
                fields["before"] = value
            case "accepted", {"message": {"id": str()} as message, "calls": int(calls)}:
                fields["accepted"] = AcceptedMessage(message=message, model_calls=calls)
            case "steering", {"id": str(message_id), **more}:
                fields["steering"] = TakenInMessage(id=message_id, model_call=str(more.get("call", "")))
    return fields


def _parsed_file(stored: Any) -> SentFile | None:
    match stored:
        case {"mediaType": str(media_type), **others}:
            filename = others.get("filename")
            return SentFile(media_type=media_type, filename=filename if isinstance(filename, str) else None)
    return None
