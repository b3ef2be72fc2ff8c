"""Reads JSON and YAML files. They contain events (one per line), a recording of this package, or a document from ADK's
tools.
"""

from collections.abc import Iterator
from itertools import chain
from types import MappingProxyType
from typing import Any, Final

from stream_protocol.adk import WarnOnce
from stream_protocol.recording.read._choose_session import choose_session, distinct_names, refuse_session
from stream_protocol.recording.read._conformance import is_conformance, read_conformance
from stream_protocol.recording.read._evalsets import eval_cases, is_eval_result, read_eval_cases
from stream_protocol.recording.read._lines import Lines
from stream_protocol.recording.read._native_format import is_header, read_native
from stream_protocol.recording.read._parsing import ItemLines, event_time, field, parse_json_text, parse_yaml_text
from stream_protocol.recording.read._records import EventRecord, NotARecordingError, Record, RecordingError

_SESSION_FIELDS: Final = ("app_name", "user_id", "last_update_time")
"""Fields that identify a session that was written without its events."""

NO_LINES: Final[ItemLines] = MappingProxyType({})


def read_json(lines: Lines, session: str | None, warn: WarnOnce) -> Iterator[Record]:
    """Return the records in a JSON text: a recording of this package, one document, or an event on each line.

    If the first line is a JSON object, it may be a document, or the header of a recording. Otherwise, each line is an
    event.
    """
    first = next(iter(lines), b"")
    number = lines.number
    try:
        document = parse_json_text(first, number)
    except RecordingError:  # A document on several lines. The blank lines keep the line numbers of errors right.
        whole = b"\n" * (number - 1) + first + (b"" if lines.cut_off else b"\n") + lines.rest()
        return read_document(parse_json_text(whole), session)
    if is_header(document):
        return read_native(document, lines, session, warn)
    if isinstance(document, dict) and not _is_document(document):
        refuse_session(session)
        return _events_on_lines(document, number, lines)
    if next(iter(lines), None) is not None:
        raise RecordingError(f"line {lines.number} follows a whole document")
    return read_document(document, session)


def read_yaml(lines: Lines, session: str | None) -> Iterator[Record]:
    document, item_lines = parse_yaml_text(lines.rest())
    return read_document(document, session, item_lines)


def read_document(document: Any, session: str | None, lines: ItemLines = NO_LINES) -> Iterator[Record]:
    """Return the records in a document: a session, an array of events, an evalset, an eval case, or a conformance test.

    ``session``: the name of the session, if the document has several sessions. ``lines``: the line numbers of list
    items, if known.
    """
    if isinstance(document, str):
        document = parse_json_text(document.encode("utf-8", "surrogatepass"))
    cases = eval_cases(document)
    if cases is not None:
        return read_eval_cases(cases, session)
    if is_eval_result(document):
        raise RecordingError("the results of an evaluation, and no evalset")
    if is_conformance(document):
        refuse_session(session)
        return read_conformance(document, lines)
    sessions = _sessions(document)
    if sessions is not None:
        document = sessions[choose_session(distinct_names(sessions, "id", kind="session"), session)]
    elif session is not None:
        choose_session([str(document["id"])] if isinstance(document, dict) and "id" in document else [], session)
    events = document.get("events") if isinstance(document, dict) else document
    if not isinstance(events, list):
        raise _without_events(document)
    key = "events" if isinstance(document, dict) else ""
    return (
        EventRecord(number, value, event_time(value), "event", None if sessions else lines.get((key, number - 1)))
        for number, value in enumerate(events, 1)
    )


def _without_events(document: Any) -> RecordingError:
    """Return the error for a document whose events are not a list."""
    if not isinstance(document, dict):
        return NotARecordingError()
    if (events := document.get("events")) is not None:
        return RecordingError(f"its `events` are of the type {type(events).__name__}, no list")
    if document.get("sessions") == []:
        return RecordingError("no sessions in it")
    if isinstance(document.get("session"), dict):
        return _without_events(document["session"])
    return RecordingError("no events in it") if _is_without_events(document) else NotARecordingError()


def _is_without_events(document: dict[str, Any]) -> bool:
    return "events" in document or any(field(document, name) is not None for name in _SESSION_FIELDS)


def _sessions(document: Any) -> list[Any] | None:
    """Return the sessions in a document. The document is a list of sessions, or has this list in the key ``sessions``.
    Return ``None`` for any other document.
    """
    if isinstance(document, dict) and "events" not in document:
        inner = document.get("sessions", [document["session"]] if "session" in document else None)
    else:
        inner = document
    return inner if isinstance(inner, list) and inner and all(map(_is_session, inner)) else None


def _is_session(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("events"), list) and "author" not in value


def _is_document(value: dict[str, Any]) -> bool:
    return (
        "events" in value
        or ("author" not in value and (_is_without_events(value) or "session" in value or "sessions" in value))
        or eval_cases(value) is not None
        or is_eval_result(value)
        or is_conformance(value)
    )


def _events_on_lines(first: dict[str, Any], first_number: int, lines: Lines) -> Iterator[EventRecord]:
    rest = ((lines.number, parse_json_text(line, lines.number)) for line in lines)
    for number, value in chain([(first_number, first)], rest):
        yield EventRecord(number, value, event_time(value))
