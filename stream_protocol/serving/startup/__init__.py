"""What is needed before a service can start: the target, its session service, a look at other workers."""

from stream_protocol.serving.startup._load_target import TargetError, load_target
from stream_protocol.serving.startup._session_services import SessionServiceError, load_session_service
from stream_protocol.serving.startup._target import (
    Target,
    agent_names,
    announces_user_message,
    as_runner,
    delegation_tools,
)
from stream_protocol.serving.startup._worker_check import warn_of_other_workers

__all__ = [
    "SessionServiceError",
    "Target",
    "TargetError",
    "agent_names",
    "announces_user_message",
    "as_runner",
    "delegation_tools",
    "load_session_service",
    "load_target",
    "warn_of_other_workers",
]
