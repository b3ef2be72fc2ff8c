"""A server that answers ``useChat`` from recordings: no agent, no model, nothing written. Imports ADK and Starlette."""

from stream_protocol.recording.pace import HELD, INSTANT
from stream_protocol.replay_server.app import create_replay_app
from stream_protocol.replay_server.chats import Chats
from stream_protocol.replay_server.shelf import load_shelf

__all__ = ["HELD", "INSTANT", "Chats", "create_replay_app", "load_shelf"]
