"""Reads captures (stored responses) of ADK's route ``/run_sse``. A capture may have the responses to several requests.

The format comes from ``api_server.py`` of google-adk 2.13. An event with content and saved artifacts is sent in two
frames with the same id: first the content, then the artifacts. Both frames have all other fields of the event. If a run
fails with an exception, its last frame has the field ``error``.
"""

from collections.abc import Iterator
from typing import IO, Any

from stream_protocol.recording.read._choose_session import refuse_session
from stream_protocol.recording.read._lines import PIECE, event_lines
from stream_protocol.recording.read._parsing import event_time, field, parse_json_text
from stream_protocol.recording.read._records import EndRecord, EventRecord, Record
from stream_protocol.wire.client import SseEvent, sse_events


def read_capture(stream: IO[bytes], session: str | None) -> Iterator[Record]:
    """Yield the records in a capture of ADK's ``/run_sse``. Raises ``RecordingError`` for an invalid capture."""
    refuse_session(session)
    pending: EventRecord | None = None
    """The newest event. Its artifacts may follow in the next frame."""
    for frame in sse_events(event_lines(iter(lambda: stream.read(PIECE), b""))):
        record = _record(frame)
        if pending is not None and isinstance(record, EventRecord) and _has_artifacts_of(pending.value, record.value):
            pending.value["actions"] = record.value["actions"]
            continue
        if pending is not None:
            yield pending
        pending = record if isinstance(record, EventRecord) else None
        if isinstance(record, EndRecord):
            yield record
    if pending is not None:
        yield pending


def _record(frame: SseEvent) -> EventRecord | EndRecord:
    value = parse_json_text(frame.data.encode("utf-8", "surrogatepass"), frame.line, len("data: ") + 1)
    if isinstance(value, dict) and isinstance(value.get("error"), str) and "author" not in value:
        return EndRecord("error", value["error"])
    return EventRecord(frame.line, value, event_time(value))


def _has_artifacts_of(event: Any, second: Any) -> bool:
    """Return True if ``second`` is the second frame of ``event``. The second frame contains the saved artifacts."""
    return (
        bool(field(event, "content"))
        and not field(event, "partial")
        and field(event, "id") is not None
        and field(event, "id") == field(second, "id")
        and not field(second, "content")
        and bool(field(field(second, "actions"), "artifact_delta"))
    )
