"""Recorded events and streams: load, replay, check. ADK is imported by what needs it, not by this package."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stream_protocol.recording.lenient import LenientReader
    from stream_protocol.recording.load import RecordingError, read_events
    from stream_protocol.recording.replay import replay_sse

__all__ = ["LenientReader", "RecordingError", "read_events", "replay_sse"]

_HOMES = {"LenientReader": "lenient", "RecordingError": "load", "read_events": "load", "replay_sse": "replay"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
