"""Conversations on their way to a file: recorders, the format, redaction."""

from stream_protocol.recording.write._record_events import record
from stream_protocol.recording.write._recorder import ChatRecorder, FileRecorder
from stream_protocol.recording.write._redaction import Redact

__all__ = [
    "ChatRecorder",
    "FileRecorder",
    "Redact",
    "record",
]
