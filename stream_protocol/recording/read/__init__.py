"""Reads a recording in any supported format as a sequence of records. Does not need ADK.

The formats are this package's recordings, events as JSON lines, and these formats of ADK: SQLite stores, sessions,
evalsets, conformance tests and SSE captures.
"""

from stream_protocol.recording.read._lines import PIECE, event_lines, text_lines
from stream_protocol.recording.read._native_format import HEADER_KEY, VERSION
from stream_protocol.recording.read._parsing import list_field
from stream_protocol.recording.read._read_records import (
    EXPECTED,
    Form,
    copy_of_stream,
    detect_form,
    is_expectation,
    read_records,
    rereadable,
    text_of,
)
from stream_protocol.recording.read._records import (
    ChunkRecord,
    EndRecord,
    EventRecord,
    NotARecordingError,
    RecordingError,
    TurnRecord,
    UnreadableError,
)
