"""Recorded events and streams: record, load, replay, check. ADK is imported by what needs it, not by this package."""

from typing import TYPE_CHECKING

from stream_protocol.lazy import names_at_home

if TYPE_CHECKING:
    from stream_protocol.recording.lenient import LenientReader
    from stream_protocol.recording.recorded_events import record
    from stream_protocol.recording.recorder import ChatRecorder, FileRecorder
    from stream_protocol.recording.recording import Recording, Turn, load_recording, replay
    from stream_protocol.recording.redaction import Redact
    from stream_protocol.recording.unreadable import RecordingError

__all__ = [
    "ChatRecorder",
    "FileRecorder",
    "LenientReader",
    "Recording",
    "RecordingError",
    "Redact",
    "Turn",
    "load_recording",
    "record",
    "replay",
]

_HOMES = {
    "ChatRecorder": "recorder",
    "FileRecorder": "recorder",
    "LenientReader": "lenient",
    "Recording": "recording",
    "RecordingError": "unreadable",
    "Redact": "redaction",
    "Turn": "recording",
    "load_recording": "recording",
    "record": "recorded_events",
    "replay": "recording",
}

if not TYPE_CHECKING:
    __getattr__, __dir__ = names_at_home(__name__, _HOMES)
