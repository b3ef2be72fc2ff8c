"""What ``stream_protocol.recording`` exports. Loads ADK."""

from stream_protocol.recording._lenient_events import LenientReader
from stream_protocol.recording._pacing import HELD, INSTANT, check_times, paced
from stream_protocol.recording._recording import RecordedTurn, Recording, load_recording, replay
from stream_protocol.recording._replaying import Turns, end_as_recorded, replay_messages, replay_sse, selected
from stream_protocol.recording._responses import Moment, Step
from stream_protocol.recording.read import RecordingError
from stream_protocol.recording.write import ChatRecorder, FileRecorder, Redact, record

__all__ = [
    "HELD",
    "INSTANT",
    "ChatRecorder",
    "FileRecorder",
    "LenientReader",
    "Moment",
    "RecordedTurn",
    "Recording",
    "RecordingError",
    "Redact",
    "Step",
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
