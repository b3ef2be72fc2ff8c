"""The records that are read from every form of a recording, and the errors for a file that is not a recording."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from stream_protocol.stream import ConverterOptions, Ending


class UnreadableError(ValueError):
    """Raised if the file cannot be read as a recording or as a stream. ``str(error)`` is one line with the reason."""


class RecordingError(UnreadableError):
    """Raised if the file is not a recording. ``str(error)`` is one line with the reason and the place in the file."""


@dataclass(frozen=True, slots=True)
class EventRecord:
    """One ADK event."""

    number: int
    """The number of its line, from 1, or of the event if events are not on separate lines."""
    value: Any
    """The event's JSON, not validated. The receiver may change it."""
    at: float | None = None
    """The time of the event in seconds: since its ``TurnRecord`` if there is one, otherwise since 1970."""
    unit: Literal["line", "event"] = "line"
    """The unit that ``number`` counts."""
    line: int | None = None
    """The number of its first line, if ``number`` counts events and the line is known."""

    @property
    def place(self) -> str:
        """The place in the file, for an error message: ``line 3``, or ``event 3 (line 12)``."""
        return f"{self.unit} {self.number}" + (f" (line {self.line})" if self.line is not None else "")


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """The beginning of a turn. In forms without such records, turns are derived from the events."""

    message_id: str
    """The id of the assistant message; empty if it was not recorded."""
    request: Mapping[str, Any] | None = None
    options: ConverterOptions = field(default_factory=ConverterOptions)


@dataclass(frozen=True, slots=True)
class ChunkRecord:
    """A chunk that was sent."""

    chunk: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class EndRecord:
    """The end of a turn's response."""

    end: Ending
    failure: str = ""
    """The text of the exception that the run raised, if it was recorded."""


Record = EventRecord | TurnRecord | ChunkRecord | EndRecord
