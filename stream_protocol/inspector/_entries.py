"""The entries that the page draws: the lines of a recording, with what a recording does not say.

One entry is one JSON object: ``{"turn"}``, ``{"event", "bytes"}``, ``{"chunk", "bytes", "closing"}`` or ``{"end"}``, as
docs/recording.md describes them, each with ``at``. ``bytes``: those of an event's JSON, and those that were sent for a
chunk. ``closing``: whether the end of the response made the chunk, and no event. Two more have no place in a recording:
``{"text"}`` is data in a capture that is no chunk, and ``{"cut"}`` says what is missing at the end of a turn.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry."""

    line: bytes
    """Its line in a recording, with the line end."""
    extra: bytes = b""
    """The keys that a recording does not have, as JSON members, each with a comma after it."""
    recorded: bool = True
    """Whether it has a place in a recording."""

    @property
    def shown(self) -> bytes:
        """Its JSON for the page."""
        return b"{" + self.extra + self.line[1:-1]


def event_entry(line: bytes, size: int) -> Entry:
    """An ADK event. ``size``: the bytes of its JSON."""
    return Entry(line, b'"bytes":%d,' % size)


def chunk_entry(line: bytes, size: int, *, closing: bool = False) -> Entry:
    """A chunk. ``size``: the bytes of its SSE event, with the blank line."""
    return Entry(line, b'"bytes":%d,%b' % (size, b'"closing":true,' if closing else b""))


def as_recording(header: bytes, entries: Iterable[Entry]) -> bytes:
    """The entries as a file that ``load_recording`` reads. ``header``: its first line."""
    return header + b"".join(entry.line for entry in entries if entry.recorded)


def json_array(items: Sequence[bytes]) -> bytes:
    """A JSON array of these JSON texts."""
    return b"[" + b",".join(items) + b"]"
