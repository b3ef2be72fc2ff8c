"""The entries that the Inspector's page shows: lines of a recording (see ``docs/recording.md``) with additional keys.

An entry is a JSON object. It has the key ``at`` (the time), and one of these sets of keys: ``turn`` and
``one_message``; ``event`` and ``bytes``; ``chunk``, ``bytes`` and ``closing``; ``end``. ``one_message``: true if the
request had the key ``message``, which a recording writes as ``messages``. ``bytes``: the size of an event's JSON, or
of a chunk's SSE event. ``closing``: true if the converter wrote the chunk at the end of the response, and not for an
event.

Entries with these keys are not in a recording:

- ``text``: a line of a captured response that is not a chunk.
- ``cut``: the turn is too large, and its later entries are missing.
- ``prompt`` and ``answer``: the beginning and the end of a model call.
- ``failure``: the exception of a failed run.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import orjson

ObservedKind: TypeAlias = Literal["prompt", "answer", "failure"]
"""Kinds of entries that are not in a recording: prompts and answers of model calls, and failures of the run."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of the Inspector's page, such as an event or a chunk."""

    line: bytes
    """The line of the entry in a recording, with its line end."""
    extra: bytes = b""
    """Additional keys that a recording does not have, as JSON members with a comma after each."""
    recorded: bool = True
    """True if the entry is part of a recording."""

    @property
    def shown(self) -> bytes:
        """The entry as JSON for the page."""
        return b"{" + self.extra + self.line[1:-1]


def event_entry(line: bytes, size: int) -> Entry:
    """Return the entry of an ADK event. ``line``: the event's line in a recording. ``size``: the size of the event's
    JSON, in bytes.
    """
    return Entry(line, b'"bytes":%d,' % size)


def chunk_entry(line: bytes, size: int, *, closing: bool = False) -> Entry:
    """Return the entry of a chunk. ``line``: the chunk's line in a recording. ``size``: the size of its SSE event with
    the blank line, in bytes.
    """
    return Entry(line, b'"bytes":%d,%b' % (size, b'"closing":true,' if closing else b""))


def observed_entry(kind: ObservedKind, value: Mapping[str, Any], at: float) -> Entry:
    """Return an entry of a kind that is not in recordings. ``at``: the time, in seconds since the turn began."""
    return Entry(orjson.dumps({kind: value, "at": round(at, 4)}, option=orjson.OPT_APPEND_NEWLINE), recorded=False)


def as_recording(header: bytes, entries: Iterable[Entry]) -> bytes:
    """Return the content of a recording file with these entries. ``header``: the first line of the file."""
    return header + b"".join(entry.line for entry in entries if entry.recorded)


def json_array(items: Sequence[bytes]) -> bytes:
    """Return the JSON text of an array. ``items``: the JSON text of each item."""
    return b"[" + b",".join(items) + b"]"
