"""The public names of ``stream_protocol.recording``. Importing this module loads ADK."""

from stream_protocol.recording._pace import INSTANT, check_has_times, pace_turns
from stream_protocol.recording._recording import RecordedTurn, Recording, load_recording
from stream_protocol.recording._replay import (
    ReplayStep,
    end_as_recorded,
    replay,
    replay_messages,
    replay_sse,
    replay_steps,
    select_turn,
)
from stream_protocol.recording._split_turns import TimedEvent, TurnItem, TurnStream
from stream_protocol.recording.read import RecordingError
from stream_protocol.recording.write import ChatRecorder, FileRecorder, Redact, record, redact_texts

__all__ = [
    "INSTANT",
    "ChatRecorder",
    "FileRecorder",
    "RecordedTurn",
    "Recording",
    "RecordingError",
    "Redact",
    "ReplayStep",
    "TimedEvent",
    "TurnItem",
    "TurnStream",
    "check_has_times",
    "end_as_recorded",
    "load_recording",
    "pace_turns",
    "record",
    "redact_texts",
    "replay",
    "replay_messages",
    "replay_sse",
    "replay_steps",
    "select_turn",
]
