"""Convert events that are dictionaries to ADK's ``Event``. ADK is imported when the first dictionary is converted."""

import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

from stream_protocol.wire import StreamProtocolError, printable

if TYPE_CHECKING:
    from google.adk.events import Event

logger = logging.getLogger(__name__)

EventOrDict: TypeAlias = "Event | dict[str, Any]"
"""An ADK event, or its JSON as a dictionary with keys in snake_case or camelCase."""


class WarnOnce:
    """Logger that writes each warning only once. Escapes control characters, because a warning may quote text from a
    model or a file.
    """

    __slots__ = ("_given", "_silent")

    def __init__(self) -> None:
        self._given: set[str] | None = None
        self._silent = False

    def __call__(self, text: str) -> None:
        self._given = self._given or set()
        if text not in self._given and not self._silent:
            self._given.add(text)
            logger.warning("%s", printable(text))

    @contextmanager
    def silenced(self) -> Iterator[None]:
        """Context manager that suppresses warnings while events are read a second time."""
        before, self._silent = self._silent, True
        try:
            yield
        finally:
            self._silent = before


class NotAnEventError(StreamProtocolError):
    """Raised for a value that is not an ADK event.

    ``str(error)`` is one line of text, which contains ``reason``.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(f"This is not an ADK event: {reason}.")
        self.reason = reason


class UnexpectedItemError(NotAnEventError, TypeError):
    """Raised for an item of an event iterator that is neither an event nor a dictionary, such as a text or a chunk.

    Such an item is a bug in the app. So the app gets an exception, and the client gets no error text.
    """


def read_event(value: object, warn: WarnOnce) -> "Event":
    """Convert a dictionary to an ADK event. The dictionary is not changed.

    Omits values that the installed ADK cannot read, with a warning for each. Raises ``NotAnEventError`` if the rest is
    not an event.
    """
    if not isinstance(value, dict):
        raise UnexpectedItemError(f"it is of the type {type(value).__name__}")
    if not isinstance(value.get("author"), str) or not value["author"]:
        raise _no_author(value)  # every ADK event has an author
    from stream_protocol.adk._lenient_events import read_leniently

    return read_leniently(value, warn)


def _no_author(value: dict[str, Any]) -> NotAnEventError:
    if (author := value.get("author")) is not None:
        kind = "empty" if author == "" else f"of the type {type(author).__name__}"
        return NotAnEventError(f"its author is {kind}")
    from stream_protocol.wire.client import refusal

    refused = refusal(value, ai_sdk=7)
    if refused is None or refused.why not in ("no chunk", "unknown type"):
        return UnexpectedItemError("it is a chunk of a UI message stream")
    return NotAnEventError("it has no author")


def read_events(events: Iterable[EventOrDict], warn: WarnOnce) -> "Sequence[Event]":
    """Convert dictionaries among the events to ADK's events. If there is no dictionary, the given sequence itself is
    returned.

    Raises ``NotAnEventError`` for an item that is not an event.
    """
    known: Sequence[Any] = events if isinstance(events, Sequence) else tuple(events)
    example_of_type = {type(event): event for event in known}
    if all(map(_is_event, example_of_type.values())):
        return known
    return [event if _is_event(event) else read_event(event, warn) for event in known]


def _is_event(value: Any) -> bool:
    """Return True for an event object of ADK. A dictionary is never an event object, even if its class has an event's
    attributes.
    """
    return not isinstance(value, dict) and {"author", "branch", "node_info"} <= getattr(value, "__dict__", {}).keys()
