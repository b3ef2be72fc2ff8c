"""A server that replays recordings to ``useChat``. The server needs no agent and no model, and writes no files.

Importing this package loads ADK and Starlette.

The module ``_turn_matching`` finds the recorded turn for a request.
"""

from stream_protocol.recording import INSTANT
from stream_protocol.replay_server._playback import HELD
from stream_protocol.replay_server._played_chats import Chats
from stream_protocol.replay_server._recording_library import RecordingLibrary, load_library
from stream_protocol.replay_server._replay_app import create_replay_app

__all__ = [
    "HELD",
    "INSTANT",
    "Chats",
    "RecordingLibrary",
    "create_replay_app",
    "load_library",
]
