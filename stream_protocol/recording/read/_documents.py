"""JSON and YAML: events on lines, a recording of ours, and the documents that ADK's tools write."""

from collections.abc import Iterator
from itertools import chain
from typing import Any

from stream_protocol.convert import WarnOnce
from stream_protocol.recording.read._choose_session import choose
from stream_protocol.recording.read._conformance import is_conformance, read_conformance
from stream_protocol.recording.read._evalsets import cases_of, read_case
from stream_protocol.recording.read._fields import field, time_of
from stream_protocol.recording.read._lines import Lines, parsed
from stream_protocol.recording.read._own_format import is_header, read_own
from stream_protocol.recording.read._records import EventRecord, Record
from stream_protocol.recording.read._unreadable import RecordingError
from stream_protocol.recording.read._yaml import parsed_yaml


def read_json(lines: Lines, session: str | None, warn: WarnOnce) -> Iterator[Record]:
    """The records of JSON text. An object on the first line that is no whole document means one on each line."""
    first = next(iter(lines), b"")
    number = lines.number
    try:
        document = parsed(first, number)
    except RecordingError:
        document = parsed(b"\n" * (number - 1) + first + (b"" if lines.cut_off else b"\n") + lines.rest())
        return read_document(document, session)
    if is_header(document):
        return read_own(document, lines, session, warn)
    if isinstance(document, dict) and not _is_document(document):
        if session is not None:
            choose([], session)
        return _events_on_lines(document, number, lines)
    if next(iter(lines), None) is not None:
        raise RecordingError(f"line {lines.number} follows a whole document")
    return read_document(document, session)


def read_yaml(lines: Lines, session: str | None) -> Iterator[Record]:
    """The records of a YAML document."""
    return read_document(parsed_yaml(lines.rest()), session)


def read_document(document: Any, session: str | None) -> Iterator[Record]:
    """The records of a session, an array of events, an evalset or a case of one, or recorded model responses."""
    cases = cases_of(document)
    if cases is not None:
        return read_case(cases[choose([str(field(case, "eval_id")) for case in cases], session)])
    if is_conformance(document):
        if session is not None:
            choose([], session)
        return read_conformance(document)
    events = document.get("events") if isinstance(document, dict) else document
    if not isinstance(events, list):
        raise RecordingError("neither events nor a session")
    if session is not None:
        choose([str(document["id"])] if isinstance(document, dict) and "id" in document else [], session)
    return (EventRecord(number, value, time_of(value), "event") for number, value in enumerate(events, 1))


def _is_document(value: dict[str, Any]) -> bool:
    return "events" in value or cases_of(value) is not None or is_conformance(value)


def _events_on_lines(first: dict[str, Any], number: int, lines: Lines) -> Iterator[EventRecord]:
    rest = ((lines.number, parsed(line, lines.number)) for line in lines)
    for place, value in chain([(number, first)], rest):
        yield EventRecord(place, value, time_of(value))
