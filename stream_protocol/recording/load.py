"""Recorded ADK events -> ``Event`` objects: a JSONL of events, a session's JSON, or a JSON array of events.

What it is, is told by its content: an object on the first line that is no session means JSONL, which is then read line
by line; anything else is one JSON document.
"""

import json
from collections.abc import Iterator
from typing import IO, Any

from google.adk.events import Event
from pydantic import ValidationError

from stream_protocol.recording.lenient import LenientReader


class RecordingError(ValueError):
    """The file is no recording. ``str(error)`` is one line that says why, and where in the file."""


def read_events(lines: IO[str], reader: LenientReader | None = None) -> Iterator[Event]:
    """The events of a recording, in order; those of a JSONL one by one as they are asked for.

    Keys that this version of ADK does not know are dropped with one warning each: the rest of such an event counts. A
    ``reader`` that has read before does not warn again. Raises ``RecordingError``.
    """
    reader = reader or LenientReader()
    try:
        empty = True
        for place, value in _objects(lines):
            empty = False
            yield _event(reader, place, value)
    except UnicodeDecodeError:
        raise RecordingError("not a text file") from None
    if empty:
        raise RecordingError("no events in it")


def _objects(lines: IO[str]) -> Iterator[tuple[str, Any]]:
    """Every event as parsed JSON, with the name of its place in the file."""
    numbered = ((number, line) for number, line in enumerate(lines, 1) if line.strip())
    number, first = next(numbered, (1, "[]"))
    try:
        document = json.loads(first)
    except json.JSONDecodeError:
        yield from _document(_parsed("\n" * (number - 1) + first + lines.read()))
        return
    except RecursionError:
        raise RecordingError(f"line {number} is nested too deeply") from None
    if isinstance(document, dict) and "events" not in document:
        yield f"line {number}", document
        for number, line in numbered:
            yield f"line {number}", _parsed(line, number)
    else:
        yield from _document(document)


def _parsed(text: str, first_line: int = 1) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise RecordingError(f"line {first_line + error.lineno - 1} is not JSON") from None
    except RecursionError:
        raise RecordingError(f"line {first_line} is nested too deeply") from None


def _document(document: Any) -> Iterator[tuple[str, Any]]:
    events = document.get("events") if isinstance(document, dict) else document
    if not isinstance(events, list):
        raise RecordingError("neither events nor a session")
    for number, value in enumerate(events, 1):
        yield f"event {number}", value


def _event(reader: LenientReader, place: str, value: Any) -> Event:
    if isinstance(value, dict) and not value.get("author"):  # the one key that ADK fills in and nobody leaves out
        raise RecordingError(f"{place} is not an ADK event: it has no author")
    try:
        return reader.read(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(map(str, first["loc"])) or "it"
        raise RecordingError(f"{place} is not an ADK event: {field}: {first['msg']}") from None
