"""Writes conversations to files: recorders, the format of the file, redaction."""

from stream_protocol.recording.write._record_events import record
from stream_protocol.recording.write._recorder import ChatRecorder, FileRecorder
from stream_protocol.recording.write._redaction import Redact

__all__ = [
    "ChatRecorder",
    "FileRecorder",
    "Redact",
    "record",
]
