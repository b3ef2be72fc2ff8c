"""The checks of ``ChatService``'s options, and of what its methods are given."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, get_args

from google.adk.agents.run_config import RunConfig

from stream_protocol.serving._limits import ServiceLimits
from stream_protocol.serving._overrides import RunOverrides
from stream_protocol.serving._recorder_protocol import check_recorder
from stream_protocol.serving._times import ServiceTimes
from stream_protocol.serving.engine import Engine
from stream_protocol.serving.run_logs import RunLog
from stream_protocol.session import FilePolicy, HistoryCut, HistoryMode
from stream_protocol.wire import (
    ChatRequest,
    check_callable,
    check_choice,
    check_instance,
    check_interface,
    check_seconds,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

CHECKS: Final[Mapping[str, Callable[[str, object], None]]] = {
    "history": partial(check_choice, choices=get_args(HistoryMode)),
    "run_config": partial(check_instance, kind=RunConfig, expected="a RunConfig of ADK", or_none=True),
    "run_log": partial(
        check_interface,
        interface=RunLog,
        expected="a run log",
        or_none=True,
        hint="give RedisRunLog(…), PostgresRunLog(…) or MemoryRunLog()",
    ),
    "disconnect_grace": partial(check_seconds, zero=True, or_none=True),
    "run_timeout": partial(check_seconds, or_none=True),
    "limits": partial(check_instance, kind=ServiceLimits, expected="a ServiceLimits", or_none=True),
    "on_busy": partial(check_choice, choices=("interrupt", "reject")),
    "history_cut": partial(check_choice, choices=get_args(HistoryCut)),
    "stopping_wait": partial(check_seconds, zero=True),
    "hook_timeout": partial(check_seconds, or_none=True),
    "files": partial(check_instance, kind=FilePolicy, expected="a FilePolicy", or_none=True),
    "on_finish": partial(check_callable, arguments=("messages", "message", "outcome"), or_none=True),
    "on_audit": partial(check_callable, arguments=("record",), or_none=True),
    "recorder": check_recorder,
    "engine": partial(
        check_interface, interface=Engine, expected="an engine", or_none=True, hint="give DbosEngine(url)"
    ),
    "times": partial(check_instance, kind=ServiceTimes, expected="a ServiceTimes"),
}
"""Option -> its check. The target and the session service are checked by ``as_runner``, the others by the converter."""


def check_options(**given: object) -> None:
    """Raises ``InvalidArgumentError`` for the first option that has a wrong value."""
    for name, value in given.items():
        CHECKS[name](name, value)


def check_request(request: object, overrides: object) -> None:
    """Raises ``InvalidArgumentError`` unless these are a request and how it is run."""
    check_instance("request", request, ChatRequest, "a ChatRequest", hint="parse_chat_request(body) makes one")
    check_instance("overrides", overrides, RunOverrides, "a RunOverrides")
