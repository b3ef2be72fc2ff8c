"""Chats over HTTP: everything that waits. Imports ADK and Starlette."""

from typing import TYPE_CHECKING

from stream_protocol.conversation.file_policy import FilePolicy
from stream_protocol.lazy import names_at_home
from stream_protocol.serving.app import create_app
from stream_protocol.serving.client_tools import client_tool
from stream_protocol.serving.content import default_run_config
from stream_protocol.serving.data import emit_data
from stream_protocol.serving.event_buffer import EventBuffer, LogBounds, RunReader
from stream_protocol.serving.finished import OnFinish, Outcome
from stream_protocol.serving.identity import Identify, header_user, local_user
from stream_protocol.serving.memory_run_log import MemoryRunLog
from stream_protocol.serving.prepared import Prepare, Prepared
from stream_protocol.serving.recorder import Recorder, TurnRecorder
from stream_protocol.serving.response import UIMessageStreamResponse
from stream_protocol.serving.routes import chat_routes
from stream_protocol.serving.run_log import ChatTakenError, Lease, Owner, RunInfo, RunLog, RunLogError
from stream_protocol.serving.service import ChatService
from stream_protocol.serving.sync import WSGI_SSE_HEADERS, SyncChatService
from stream_protocol.serving.target import Target, delegation_tools

if TYPE_CHECKING:
    from stream_protocol.serving.redis_run_log import RedisRunLog

__all__ = [
    "WSGI_SSE_HEADERS",
    "ChatService",
    "ChatTakenError",
    "EventBuffer",
    "FilePolicy",
    "Identify",
    "Lease",
    "LogBounds",
    "MemoryRunLog",
    "OnFinish",
    "Outcome",
    "Owner",
    "Prepare",
    "Prepared",
    "Recorder",
    "RedisRunLog",
    "RunInfo",
    "RunLog",
    "RunLogError",
    "RunReader",
    "SyncChatService",
    "Target",
    "TurnRecorder",
    "UIMessageStreamResponse",
    "chat_routes",
    "client_tool",
    "create_app",
    "default_run_config",
    "delegation_tools",
    "emit_data",
    "header_user",
    "local_user",
]

_HOMES = {"RedisRunLog": "redis_run_log"}  # which needs an extra

if not TYPE_CHECKING:
    __getattr__, __dir__ = names_at_home(__name__, _HOMES)
