"""Recorded conversations: record them, load them, replay them."""

from stream_protocol.recording._pace import HELD, INSTANT, Pace, ServerPace
from stream_protocol.recording._pacing import check_times, paced
from stream_protocol.recording._recording import Recording, Turn, load_recording, replay
from stream_protocol.recording._replaying import Turns, end_as_recorded, replay_messages, replay_sse, selected
from stream_protocol.recording._responses import Moment, Step
from stream_protocol.recording.read import LenientReader, RecordingError
from stream_protocol.recording.write import ChatRecorder, FileRecorder, Redact, record

__all__ = [
    "HELD",
    "INSTANT",
    "ChatRecorder",
    "FileRecorder",
    "LenientReader",
    "Moment",
    "Pace",
    "Recording",
    "RecordingError",
    "Redact",
    "ServerPace",
    "Step",
    "Turn",
    "Turns",
    "check_times",
    "end_as_recorded",
    "load_recording",
    "paced",
    "record",
    "replay",
    "replay_messages",
    "replay_sse",
    "selected",
]
