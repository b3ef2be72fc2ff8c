"""A server that answers ``useChat`` from recordings: no agent, no model, nothing written. Imports ADK and Starlette."""

from stream_protocol.recording.pace import Pace, parse_pace
from stream_protocol.replay_server.app import create_replay_app
from stream_protocol.replay_server.chats import Chats
from stream_protocol.replay_server.shelf import load_shelf

__all__ = ["Chats", "Pace", "create_replay_app", "load_shelf", "parse_pace"]
