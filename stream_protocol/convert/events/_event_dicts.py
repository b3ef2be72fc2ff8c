"""Events that come as dictionaries: from an Agent Engine, the API server, a file.

They become ADK's ``Event``, which is loaded with the first of them.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from stream_protocol.convert.events._warnings import WarnOnce
from stream_protocol.wire import StreamProtocolError

if TYPE_CHECKING:
    from google.adk.events import Event

EventOrDict: TypeAlias = "Event | dict[str, Any]"
"""An ADK event; or its JSON as a dictionary, with keys in snake_case or camelCase."""


class NotAnEventError(StreamProtocolError):
    """What should be an ADK event is none. ``str(error)`` is one line; ``reason`` is the part that says why."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"This is not an ADK event: {reason}.")
        self.reason = reason


def read_event(value: object, warn: WarnOnce) -> "Event":
    """Returns the event of a dictionary, which is not changed.

    Fields and values that the installed ADK cannot read are left out, with a warning each. Raises ``NotAnEventError``.
    """
    if not isinstance(value, dict):
        raise NotAnEventError(f"it is of the type {type(value).__name__}")
    if not isinstance(value.get("author"), str) or not value["author"]:
        raise NotAnEventError(_why_no_author(value))  # the one key that every ADK event has
    from stream_protocol.convert.events._lenient_events import read_leniently

    return read_leniently(value, warn)


def _why_no_author(value: dict[str, Any]) -> str:
    if (author := value.get("author")) is not None:
        return "its author is empty" if author == "" else f"its author is of the type {type(author).__name__}"
    from stream_protocol.wire.client import refusal

    refused = refusal(value, ai_sdk=7)
    is_chunk = refused is None or refused.why not in ("no chunk", "unknown type")
    return "it is a chunk of a UI message stream" if is_chunk else "it has no author"


def read_events(events: Iterable[EventOrDict], warn: WarnOnce) -> "Sequence[Event]":
    """The events, with ``read_event`` of each dictionary. Where there is none they are not copied."""
    known: Sequence[Any] = events if isinstance(events, Sequence) else tuple(events)
    if any(issubclass(kind, dict) for kind in set(map(type, known))):
        return [read_event(event, warn) if isinstance(event, dict) else event for event in known]
    return known
