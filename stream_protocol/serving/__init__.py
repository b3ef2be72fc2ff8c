"""The chat service, and its routes for Starlette, FastAPI and Django. Imports ADK and Starlette.

To implement a run log, import from ``stream_protocol.serving.run_logs``.

Where to change what:

- ``_service``: the public methods.
- ``base``: limits for users (429, 503), timeouts, threads for long computations, the audit trail.
- ``requests``: handles a chat request until its run begins, and all requests for histories, stops and deletions.
- ``runs``: active runs. ``run_logs``: responses that several workers share. ``engine``: recovers runs of dead workers.
- ``chats``: stored chats. ``adk_runner``: creates ADK's runner, loads agents that a command line names, and creates
  session services from URIs. ``http``: the routes.
- ``errors``, ``telemetry``: error texts, logs, traces and metrics.
- ``_sync_service``: Flask and Django under WSGI.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from stream_protocol.serving._service import ChatService
from stream_protocol.serving._sync_service import WSGI_SSE_HEADERS, SyncChatService
from stream_protocol.serving.adk_runner import Target, default_run_config, task_agent_tools
from stream_protocol.serving.base import (
    AuditFile,
    AuditRecord,
    OnAudit,
    Recorder,
    RunOverrides,
    ServiceLimits,
    ServiceTimes,
    TurnRecorder,
)
from stream_protocol.serving.chats import ChatChanges, ChatListPage, ListedChat
from stream_protocol.serving.errors import explain_error
from stream_protocol.serving.http import (
    ChatEndpoints,
    Identify,
    Prepare,
    RouteOptions,
    Suggestion,
    UIMessageStreamResponse,
    chat_router,
    create_app,
    header_user,
    local_user,
    plain_text_errors,
    response_body,
)
from stream_protocol.serving.requests import FailedMessage, ServiceOptions, StoredChat
from stream_protocol.serving.run_logs import LogBounds, MemoryRunLog
from stream_protocol.serving.runs import OnFinish, Outcome, run_events
from stream_protocol.serving.telemetry import ChatIdFilter
from stream_protocol.session import FilePolicy, MessageVersions, PageContext, SharedState
from stream_protocol.stream import RunLimitError

if TYPE_CHECKING:
    from stream_protocol.serving.run_logs.postgres import PostgresRunLog
    from stream_protocol.serving.run_logs.redis import RedisRunLog

__all__ = [
    "WSGI_SSE_HEADERS",
    "AuditFile",
    "AuditRecord",
    "ChatChanges",
    "ChatEndpoints",
    "ChatIdFilter",
    "ChatListPage",
    "ChatService",
    "FailedMessage",
    "FilePolicy",
    "Identify",
    "ListedChat",
    "LogBounds",
    "MemoryRunLog",
    "MessageVersions",
    "OnAudit",
    "OnFinish",
    "Outcome",
    "PageContext",
    "PostgresRunLog",
    "Prepare",
    "Recorder",
    "RedisRunLog",
    "RouteOptions",
    "RunLimitError",
    "RunOverrides",
    "ServiceLimits",
    "ServiceOptions",
    "ServiceTimes",
    "SharedState",
    "StoredChat",
    "Suggestion",
    "SyncChatService",
    "Target",
    "TurnRecorder",
    "UIMessageStreamResponse",
    "chat_router",
    "create_app",
    "default_run_config",
    "explain_error",
    "header_user",
    "local_user",
    "plain_text_errors",
    "response_body",
    "run_events",
    "task_agent_tools",
]


if not TYPE_CHECKING:  # with `__getattr__`, a type checker would accept any name

    def __getattr__(name: str) -> Any:
        """Import the run logs that need an extra."""
        stores = {"PostgresRunLog": "postgres", "RedisRunLog": "redis"}
        if name not in stores:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.run_logs.{stores[name]}"), name)
