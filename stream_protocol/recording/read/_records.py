"""Record types for all formats of recordings, and errors for files that are not recordings."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from stream_protocol.stream import ConverterOptions, Ending


class UnreadableError(ValueError):
    """Raised for a file that cannot be read as a recording or as a stream. ``str(error)`` is one line with the
    reason."""


class RecordingError(UnreadableError):
    """Raised for a file that is not a recording. ``str(error)`` is one line with the reason and the position in the
    file."""


NOT_A_RECORDING: Final = (
    "not a recording: pass ADK events as JSON, JSON lines, YAML, an SSE response or an SQLite store"
)


class NotARecordingError(RecordingError):
    """Raised for JSON or YAML that has neither events nor a session."""

    def __init__(self) -> None:
        super().__init__(NOT_A_RECORDING)


@dataclass(frozen=True, slots=True)
class EventRecord:
    """A recorded ADK event."""

    number: int
    """The number of the event's line, from 1, or of the event, if events are not on separate lines."""
    value: Any
    """The event as JSON, not validated. The receiver may change this object."""
    at: float | None = None
    """Seconds since the ``TurnRecord``, or since 1970 without a ``TurnRecord``."""
    unit: Literal["line", "event"] = "line"
    """The items that ``number`` counts: lines or events."""
    line: int | None = None
    """The first line of the event, if known and if ``number`` counts events."""

    @property
    def place(self) -> str:
        """The position of the event in the file, for an error message: ``line 3``, or ``event 3 (line 12)``."""
        return f"{self.unit} {self.number}" + (f" (line {self.line})" if self.line is not None else "")


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """The beginning of a turn in a recording. Only some formats have such records."""

    message_id: str
    """The id of the assistant message; empty if it was not recorded."""
    request: Mapping[str, Any] | None = None
    options: ConverterOptions = field(default_factory=ConverterOptions)


@dataclass(frozen=True, slots=True)
class ChunkRecord:
    """A recorded chunk."""

    chunk: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class EndRecord:
    """The end of a turn's response in a recording."""

    end: Ending
    failure: str = ""
    """The text of the run's exception; empty if it was not recorded."""


Record = EventRecord | TurnRecord | ChunkRecord | EndRecord
