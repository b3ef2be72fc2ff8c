"""Reads a recording in any form as a sequence of records, without ADK.

The forms are this package's recordings; ADK's SQLite stores, sessions, evalsets, conformance tests and SSE captures;
and events as JSON lines.
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
    RecordingError,
    TurnRecord,
    UnreadableError,
)
