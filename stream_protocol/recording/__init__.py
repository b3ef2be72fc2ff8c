"""Recorded events, in whatever form, and their replay. Imports ADK."""

from stream_protocol.recording.lenient import LenientReader
from stream_protocol.recording.load import RecordingError, read_events
from stream_protocol.recording.replay import replay_sse

__all__ = ["LenientReader", "RecordingError", "read_events", "replay_sse"]
