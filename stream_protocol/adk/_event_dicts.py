"""Events that come as dictionaries: from an Agent Engine, the API server, a file.

They become ADK's ``Event``, which is loaded with the first of them.
"""

import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

from stream_protocol.wire import StreamProtocolError, printable

if TYPE_CHECKING:
    from google.adk.events import Event

logger = logging.getLogger(__name__)

EventOrDict: TypeAlias = "Event | dict[str, Any]"
"""An ADK event; or its JSON as a dictionary, with keys in snake_case or camelCase."""


class WarnOnce:
    """Logs each warning the first time. It may quote what a model or a file says."""

    __slots__ = ("_given", "_silent")

    def __init__(self) -> None:
        self._given: dict[str, None] = {}
        self._silent = False

    def __call__(self, text: str) -> None:
        if text not in self._given and not self._silent:
            self._given[text] = None
            logger.warning("%s", printable(text))

    @contextmanager
    def silenced(self) -> Iterator[None]:
        """Nothing is logged meanwhile: for events that are read again. Their first reader was told."""
        before, self._silent = self._silent, True
        try:
            yield
        finally:
            self._silent = before


class NotAnEventError(StreamProtocolError):
    """A value that should be an ADK event is not one. ``str(error)`` is one line; ``reason`` is the part with the
    cause."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"This is not an ADK event: {reason}.")
        self.reason = reason


class UnexpectedItemError(NotAnEventError, TypeError):
    """The item cannot have been meant as an event: a text, a chunk, any object. The program is wrong, not its data.

    Functions over an iterator raise this, where another failure of the run is a part of the response.
    """


def read_event(value: object, warn: WarnOnce) -> "Event":
    """Returns the event of a dictionary, which is not changed.

    Fields and values that the installed ADK cannot read are left out, with a warning each. Raises ``NotAnEventError``.
    """
    if not isinstance(value, dict):
        raise UnexpectedItemError(f"it is of the type {type(value).__name__}")
    if not isinstance(value.get("author"), str) or not value["author"]:
        raise _no_author(value)  # the one key that every ADK event has
    from stream_protocol.adk._lenient_events import read_leniently

    return read_leniently(value, warn)


def _no_author(value: dict[str, Any]) -> NotAnEventError:
    """The error for a dictionary without an author."""
    if (author := value.get("author")) is not None:
        kind = "empty" if author == "" else f"of the type {type(author).__name__}"
        return NotAnEventError(f"its author is {kind}")
    from stream_protocol.wire.client import refusal

    refused = refusal(value, ai_sdk=7)
    if refused is None or refused.why not in ("no chunk", "unknown type"):
        return UnexpectedItemError("it is a chunk of a UI message stream")
    return NotAnEventError("it has no author")


def read_events(events: Iterable[EventOrDict], warn: WarnOnce) -> "Sequence[Event]":
    """Return the events, each that is not ADK's own object read by ``read_event``. If all are ADK's objects, they are
    not copied.

    Raises ``NotAnEventError``.
    """
    known: Sequence[Any] = events if isinstance(events, Sequence) else tuple(events)
    one_of_each_type = {type(event): event for event in known}
    if all(map(_is_event, one_of_each_type.values())):
        return known
    return [event if _is_event(event) else read_event(event, warn) for event in known]


def _is_event(value: Any) -> bool:
    """Returns True for an event of ADK. A dictionary is not one, even with its keys as attributes."""
    return not isinstance(value, dict) and {"author", "branch", "node_info"} <= getattr(value, "__dict__", {}).keys()
