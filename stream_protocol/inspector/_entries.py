"""Entries that the page shows: the lines of a recording, with additional keys.

An entry is one JSON object: ``{"turn"}``, ``{"event", "bytes"}``, ``{"chunk", "bytes", "closing"}`` or ``{"end"}``.
Each entry also has ``at``. For these keys, see docs/recording.md. ``bytes``: size of an event's JSON, or of the sent
SSE event of a chunk.
``closing``: true if the chunk belongs to the end of the response, and to no event.

Two kinds of entries are not part of a recording. ``{"text"}`` is data in a capture that is not a chunk. ``{"cut"}``
means that the rest of a turn was dropped.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of the page."""

    line: bytes
    """Line of the entry in a recording, with the line end."""
    extra: bytes = b""
    """Keys that are not in a recording, as JSON members, each with a comma after it."""
    recorded: bool = True
    """True if the entry is part of a recording."""

    @property
    def shown(self) -> bytes:
        """The entry as JSON for the page."""
        return b"{" + self.extra + self.line[1:-1]


def event_entry(line: bytes, size: int) -> Entry:
    """Return the entry of an ADK event. ``size``: bytes of its JSON."""
    return Entry(line, b'"bytes":%d,' % size)


def chunk_entry(line: bytes, size: int, *, closing: bool = False) -> Entry:
    """Return the entry of a chunk. ``size``: bytes of its SSE event, with the blank line."""
    return Entry(line, b'"bytes":%d,%b' % (size, b'"closing":true,' if closing else b""))


def as_recording(header: bytes, entries: Iterable[Entry]) -> bytes:
    """Return the entries as a file that ``load_recording`` reads. ``header``: its first line."""
    return header + b"".join(entry.line for entry in entries if entry.recorded)


def json_array(items: Sequence[bytes]) -> bytes:
    """Return the text of a JSON array. ``items``: the elements, each as JSON text."""
    return b"[" + b",".join(items) + b"]"
