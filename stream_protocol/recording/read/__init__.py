"""Reads a recording in any form as a sequence of records, without ADK.

The forms: this package's recordings; ADK's SQLite stores, sessions, evalsets, conformance tests and SSE captures;
events as JSON lines.
"""

from stream_protocol.recording.read._detect_form import PIECE, Form, detect_form, text_of
from stream_protocol.recording.read._expectations import EXPECTED, is_expectation
from stream_protocol.recording.read._lines import event_lines, text_lines
from stream_protocol.recording.read._native_format import HEADER_KEY, VERSION
from stream_protocol.recording.read._open_file import copy_of_stream, rereadable
from stream_protocol.recording.read._read_records import read_records
from stream_protocol.recording.read._records import (
    ChunkRecord,
    EndRecord,
    EventRecord,
    RecordingError,
    TurnRecord,
    UnreadableError,
)
