"""Any recorded form -> records: our own recordings, stores of ADK, evalsets, captures, lines of JSON."""

from stream_protocol.recording.read._detect import PIECE, Form, form_of, text_of
from stream_protocol.recording.read._lines import event_lines, text_lines
from stream_protocol.recording.read._own_format import HEADER_KEY, VERSION
from stream_protocol.recording.read._pipes import as_file, copied
from stream_protocol.recording.read._read_records import read_records
from stream_protocol.recording.read._records import ChunkRecord, EndRecord, EventRecord, TurnRecord
from stream_protocol.recording.read._unreadable import RecordingError, UnreadableError

__all__ = [
    "HEADER_KEY",
    "PIECE",
    "VERSION",
    "ChunkRecord",
    "EndRecord",
    "EventRecord",
    "Form",
    "RecordingError",
    "TurnRecord",
    "UnreadableError",
    "as_file",
    "copied",
    "event_lines",
    "form_of",
    "read_records",
    "text_lines",
    "text_of",
]
