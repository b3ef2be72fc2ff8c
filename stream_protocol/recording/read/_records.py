"""What the forms of a recording have in common: a sequence of records, as JSON, in the order of the file."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from stream_protocol.convert import ConverterOptions, Ending


@dataclass(frozen=True, slots=True)
class EventRecord:
    """One ADK event."""

    number: int
    """Of its line, or, where events do not stand on lines, of the event; from 1."""
    value: Any
    """The event's JSON, which nobody has checked. Whoever reads it may change it."""
    at: float | None = None
    """When it came, in seconds: since the record of its turn if there is one, since 1970 otherwise."""
    unit: Literal["line", "event"] = "line"
    """What ``number`` counts."""

    @property
    def place(self) -> str:
        """Where it stands, for people."""
        return f"{self.unit} {self.number}"


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """A turn begins here. Forms without such records have their turns where the events say so."""

    message_id: str
    """Empty if it was not recorded."""
    request: Mapping[str, Any] | None = None
    options: ConverterOptions = field(default_factory=ConverterOptions)
    """Those that the turn's stream was made with."""


@dataclass(frozen=True, slots=True)
class ChunkRecord:
    """A chunk that went out."""

    chunk: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class EndRecord:
    """How the turn ended."""

    end: Ending
    failure: str = ""
    """What the run raised, if that was recorded."""


Record = EventRecord | TurnRecord | ChunkRecord | EndRecord
