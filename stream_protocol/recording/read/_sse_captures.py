"""What ADK's API server sends: a capture of ``/run_sse``, of one or more requests.

Source: ``api_server.py`` of google-adk 2.13. An event with content and saved artifacts goes out in two frames with one
id, and all but the content and the artifacts stands in both. A run that raises ends in a frame with ``error``.
"""

from collections.abc import Iterator
from typing import IO, Any

from stream_protocol.recording.read._choose_session import choose
from stream_protocol.recording.read._detect import PIECE
from stream_protocol.recording.read._fields import field, time_of
from stream_protocol.recording.read._lines import event_lines, parsed
from stream_protocol.recording.read._records import EndRecord, EventRecord, Record
from stream_protocol.wire.client import SseEvent, sse_events


def read_capture(stream: IO[bytes], session: str | None) -> Iterator[Record]:
    """The records of a capture. Raises ``RecordingError``."""
    if session is not None:
        choose([], session)
    held: EventRecord | None = None
    for frame in sse_events(event_lines(iter(lambda: stream.read(PIECE), b""))):
        record = _record(frame)
        if held is not None and isinstance(record, EventRecord) and _belong_together(held.value, record.value):
            held.value["actions"] = record.value["actions"]
            continue
        if held is not None:
            yield held
        held = record if isinstance(record, EventRecord) else None
        if isinstance(record, EndRecord):
            yield record
    if held is not None:
        yield held


def is_failure(value: Any) -> bool:
    """Whether a frame says what the run raised."""
    return isinstance(value, dict) and isinstance(value.get("error"), str) and "author" not in value


def _record(frame: SseEvent) -> EventRecord | EndRecord:
    value = parsed(frame.data.encode("utf-8", "surrogatepass"), frame.line)
    return EndRecord("error", value["error"]) if is_failure(value) else EventRecord(frame.line, value, time_of(value))


def _belong_together(event: Any, rest: Any) -> bool:
    """Whether the two frames are one event; the artifacts are told in the second."""
    return (
        bool(field(event, "content"))
        and not field(event, "partial")
        and field(event, "id") is not None
        and field(event, "id") == field(rest, "id")
        and not field(rest, "content")
        and bool(field(field(rest, "actions"), "artifact_delta"))
    )
