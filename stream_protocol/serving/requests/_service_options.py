"""The options of ``ChatService``, their checks, and those of the arguments of its methods."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, get_args

from google.adk.agents.run_config import RunConfig

from stream_protocol.serving.base import RunOverrides, ServiceLimits, ServiceTimes, check_recorder
from stream_protocol.serving.engine import Engine
from stream_protocol.serving.run_logs import RunLog
from stream_protocol.session import FilePolicy, HistoryCut, HistoryMode
from stream_protocol.wire import (
    ChatRequest,
    check_callable,
    check_choice,
    check_instance,
    check_interface,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from google.adk.sessions import BaseSessionService

    from stream_protocol.serving.base import OnAudit, Recorder
    from stream_protocol.serving.runs import OnFinish

OnBusy: TypeAlias = Literal["interrupt", "reject"]

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
    "limits": partial(check_instance, kind=ServiceLimits, expected="a ServiceLimits", or_none=True),
    "on_busy": partial(check_choice, choices=get_args(OnBusy)),
    "history_cut": partial(check_choice, choices=get_args(HistoryCut)),
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


@dataclass(frozen=True, kw_only=True)
class ServiceOptions:
    """The options of a ``ChatService``, which describes them. Raises ``InvalidArgumentError`` for a wrong value."""

    session_service: BaseSessionService | None
    history: HistoryMode
    run_config: RunConfig | None
    run_log: RunLog | None
    limits: ServiceLimits | None
    on_busy: OnBusy
    history_cut: HistoryCut
    files: FilePolicy | None
    on_finish: OnFinish | None
    on_audit: OnAudit | None
    recorder: Recorder | Sequence[Recorder] | None
    engine: Engine | None
    times: ServiceTimes

    def __post_init__(self) -> None:
        for name, check in CHECKS.items():
            check(name, getattr(self, name))


def check_request(request: object, overrides: object) -> None:
    """Raises ``InvalidArgumentError`` unless these are a request and how it is run."""
    check_instance("request", request, ChatRequest, "a ChatRequest", hint="parse_chat_request(body) makes one")
    check_instance("overrides", overrides, RunOverrides, "a RunOverrides")
