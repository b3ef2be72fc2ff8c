"""The records that every form of a recording becomes, and the errors for a file that is not a recording."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from stream_protocol.stream import ConverterOptions, Ending


class UnreadableError(ValueError):
    """The file cannot be read as a recording or as a stream. ``str(error)`` is one line that says why."""


class RecordingError(UnreadableError):
    """The file is not a recording. ``str(error)`` is one line with the cause and its place in the file."""


@dataclass(frozen=True, slots=True)
class EventRecord:
    """One ADK event."""

    number: int
    """The number of its line, from 1; of the event where events are not on lines of their own."""
    value: Any
    """The event's JSON, not validated. The reader may change it."""
    at: float | None = None
    """The time of the event, in seconds: since its ``TurnRecord`` if there is one, otherwise since 1970."""
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
    """A turn begins. In forms without such records, the events say where turns begin."""

    message_id: str
    """The id of the assistant's message; empty if it was not recorded."""
    request: Mapping[str, Any] | None = None
    """The client's request body."""
    options: ConverterOptions = field(default_factory=ConverterOptions)
    """The converter's options of the turn."""


@dataclass(frozen=True, slots=True)
class ChunkRecord:
    """A chunk that was sent."""

    chunk: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class EndRecord:
    """The response of the turn ended."""

    end: Ending
    failure: str = ""
    """The text of the exception that the run raised, if it was recorded."""


Record = EventRecord | TurnRecord | ChunkRecord | EndRecord
