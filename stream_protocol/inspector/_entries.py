"""The entries that the page draws: the lines of a recording, with further keys.

One entry is one JSON object: ``{"turn"}``, ``{"event", "bytes"}``, ``{"chunk", "bytes", "closing"}`` or ``{"end"}``, as
docs/recording.md describes them, each with ``at``. ``bytes``: the size of an event's JSON, or of the bytes sent for a
chunk. ``closing``: true if the end of the response made the chunk, not an event. Two more entries are not part of a
recording. ``{"text"}`` is data in a capture that is not a chunk, and ``{"cut"}`` tells what is missing at the end of a
turn.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry."""

    line: bytes
    """Its line in a recording, with the line end."""
    extra: bytes = b""
    """The keys that are not in a recording, as JSON members, each with a comma after it."""
    recorded: bool = True
    """True if it is part of a recording."""

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
