"""Serves chats: the chat service, and its endpoint for Starlette, FastAPI and Django. Imports ADK and Starlette.

Who writes a run log imports from ``stream_protocol.serving.run_logs``.

Where to change what:

- ``_service``: a request from its arrival to its run; slots of runs.
- ``_service_options``: checks options of ``ChatService``.
- ``_limits``: limits of a user; 429 and 503.
- ``_overrides``: what ``prepare`` returns.
- ``_on_finish``: the hook ``on_finish``.
- ``_time_limit``: time limits of hooks and stores.
- ``_long_work``: large requests and long sessions beside the event loop.
- ``_audit``: the audit trail.
- ``_readiness``: stores that ``/readyz`` asks.
- ``_startup_objects``: garbage collection of objects that stay.
- ``_sync_service``: Flask and Django under WSGI.
"""

from typing import TYPE_CHECKING, Any

from stream_protocol.serving._agent_helpers import ClientTool, DataPart, client_tool, data_part, emit_data
from stream_protocol.serving._audit import AuditFile, AuditRecord, OnAudit
from stream_protocol.serving._limits import ServiceLimits
from stream_protocol.serving._on_finish import OnFinish, Outcome
from stream_protocol.serving._overrides import RunOverrides
from stream_protocol.serving._recorder_protocol import Recorder, TurnRecorder
from stream_protocol.serving._service import ChatService
from stream_protocol.serving._startup_objects import freeze_startup_objects
from stream_protocol.serving._sync_service import WSGI_SSE_HEADERS, SyncChatService
from stream_protocol.serving.adk_runner import Target, default_run_config, delegation_tools
from stream_protocol.serving.chats import ChatChanges, ChatListPage, ListedChat
from stream_protocol.serving.errors import explain_error, log_to_terminal
from stream_protocol.serving.http import (
    AddressError,
    ChatEndpoints,
    Identify,
    Prepare,
    ServerLimits,
    Suggestion,
    UIMessageStreamResponse,
    bind_socket,
    chat_router,
    create_app,
    exposure_warning,
    header_user,
    local_user,
    only_allowed_hosts,
    plain_text_errors,
    response_body,
    run_server,
)
from stream_protocol.serving.run_logs import LogBounds, MemoryRunLog
from stream_protocol.serving.telemetry import ChatIdFilter
from stream_protocol.session import FilePolicy
from stream_protocol.stream import RunLimitError

if TYPE_CHECKING:
    from stream_protocol.serving.run_logs.postgres import PostgresRunLog
    from stream_protocol.serving.run_logs.redis import RedisRunLog

__all__ = [
    "WSGI_SSE_HEADERS",
    "AddressError",
    "AuditFile",
    "AuditRecord",
    "ChatChanges",
    "ChatEndpoints",
    "ChatIdFilter",
    "ChatListPage",
    "ChatService",
    "ClientTool",
    "DataPart",
    "FilePolicy",
    "Identify",
    "ListedChat",
    "LogBounds",
    "MemoryRunLog",
    "OnAudit",
    "OnFinish",
    "Outcome",
    "PostgresRunLog",
    "Prepare",
    "Recorder",
    "RedisRunLog",
    "RunLimitError",
    "RunOverrides",
    "ServerLimits",
    "ServiceLimits",
    "Suggestion",
    "SyncChatService",
    "Target",
    "TurnRecorder",
    "UIMessageStreamResponse",
    "bind_socket",
    "chat_router",
    "client_tool",
    "create_app",
    "data_part",
    "default_run_config",
    "delegation_tools",
    "emit_data",
    "explain_error",
    "exposure_warning",
    "freeze_startup_objects",
    "header_user",
    "local_user",
    "log_to_terminal",
    "only_allowed_hosts",
    "plain_text_errors",
    "response_body",
    "run_server",
]


if not TYPE_CHECKING:  # a type checker that saw it would take any name for one of ours

    def __getattr__(name: str) -> Any:
        """The run logs that need an extra."""
        match name:
            case "PostgresRunLog":
                from stream_protocol.serving.run_logs.postgres import PostgresRunLog

                return PostgresRunLog
            case "RedisRunLog":
                from stream_protocol.serving.run_logs.redis import RedisRunLog

                return RedisRunLog
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
