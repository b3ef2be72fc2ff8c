"""A server that answers ``useChat`` from recordings: no agent, no model, nothing written. Imports ADK and Starlette."""

from stream_protocol.recording import HELD, INSTANT
from stream_protocol.replay_server._library import load_library
from stream_protocol.replay_server._played_chats import Chats
from stream_protocol.replay_server._replay_app import create_replay_app

__all__ = [
    "HELD",
    "INSTANT",
    "Chats",
    "create_replay_app",
    "load_library",
]
