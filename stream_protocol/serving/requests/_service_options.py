"""The options of ``ChatService``, and checks of options and arguments."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, cast, get_args

from google.adk.agents.run_config import RunConfig

from stream_protocol.serving.base import DEFAULT_TIMES, RunOverrides, ServiceLimits, ServiceTimes, check_recorder
from stream_protocol.serving.engine import Engine
from stream_protocol.serving.run_logs import RunLog
from stream_protocol.session import FilePolicy, HistoryMode, PageContext, SharedState, TruncatedHistory
from stream_protocol.stream import ConverterOptions
from stream_protocol.wire import (
    ChatRequest,
    check_callable,
    check_choice,
    check_instance,
    check_interface,
    check_option_names,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from google.adk.sessions import BaseSessionService

    from stream_protocol.serving.base import OnAudit, Recorder
    from stream_protocol.serving.runs import OnFinish

OnBusy: TypeAlias = Literal["interrupt", "steer", "reject"]

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
    "truncated_history": partial(check_choice, choices=get_args(TruncatedHistory)),
    "files": partial(check_instance, kind=FilePolicy, expected="a FilePolicy", or_none=True),
    "context": partial(check_instance, kind=PageContext, expected="a PageContext", or_none=True),
    "shared_state": partial(check_instance, kind=SharedState, expected="a SharedState", or_none=True),
    "on_finish": partial(check_callable, arguments=("messages", "message", "outcome"), or_none=True),
    "on_audit": partial(check_callable, arguments=("record",), or_none=True),
    "recorder": check_recorder,
    "engine": partial(
        check_interface, interface=Engine, expected="an engine", or_none=True, hint="give DbosEngine(url)"
    ),
    "times": partial(check_instance, kind=ServiceTimes, expected="a ServiceTimes"),
}
"""The check of each option. ``as_runner`` checks the target and the session service, the converter its own options."""


class ServiceOptions(ConverterOptions, total=False):
    """Keyword options of ``ChatService``, in addition to the options of the converter."""

    session_service: BaseSessionService | None
    """Store of the sessions.

    Any session service of ADK works, such as ``SqliteSessionService`` or ``DatabaseSessionService`` (extra
    ``postgres``). In memory by default. A ``Runner`` has its own session service.
    """
    history: HistoryMode
    """History that the model reads. ``"server"``: the stored session. ``"client"``: the messages of the request.
    ``"text"``: only the texts of these messages. With ``"client"`` and ``"text"``, the server stores nothing, and
    refuses approvals.

    With ``"server"``, the model reads only the last message of the request.
    """
    run_config: RunConfig | None
    """ADK's ``RunConfig``. The default sets ``StreamingMode.SSE``, and runs plain ``def`` tools in threads.

    ``default_run_config()`` returns the default.
    """
    run_log: RunLog | None
    """Store of running responses.

    By default ``MemoryRunLog()``, for one process. Several workers need ``RedisRunLog`` or ``PostgresRunLog``. The
    service closes the run log.
    """
    limits: ServiceLimits | None
    """Limits of runs and requests, as a ``ServiceLimits``.

    ``RunConfig.max_llm_calls`` limits the model calls of a run (500 by default). ``LogBounds.max_size`` limits the
    bytes of a response.
    """
    on_busy: OnBusy
    """Effect of a new message during a run of its chat.

    ``"interrupt"`` (default): the run stops, and the agent answers the message. ``"steer"``: the run reads the message
    before its next model call. An edit of an earlier message still interrupts the run. ``"steer"`` needs
    ``history="server"``. ``"reject"``: every request for a response is refused (409), except a retry of the request
    that began the run.
    """
    truncated_history: TruncatedHistory
    """Effect of a new message if the client sends fewer messages than are stored.

    ``"append"`` (default): the server appends the message. ``"rewind"``: the server first removes the later messages
    that the client did not send. assistant-ui needs ``"rewind"``. A request with one ``message`` in place of
    ``messages`` removes nothing.
    """
    files: FilePolicy | None
    """Limits of attached files, as a ``FilePolicy``.

    The policy also determines whether the client gets the agent's files as links or as bytes. By default, all files are
    accepted.
    """
    context: PageContext | None
    """Type of the ``context`` in a request.

    The models of the turn read this context. With ``None``, the default, requests have no context.
    """
    shared_state: SharedState | None
    """Keys of the session state that the client may read and write.

    With ``None``, the default, the client may read and write no keys.
    """
    on_finish: OnFinish | None
    """Function called after each run, with the messages of the chat: see ``OnFinish``."""
    on_audit: OnAudit | None
    """Function that gets a record of each user's decision, such as an approval.

    The function also gets records of refused actions: see ``AuditRecord``. The logger ``stream_protocol.audit`` gets
    the same records.
    """
    recorder: Recorder | Sequence[Recorder] | None
    """Recorder of the chats, such as a ``ChatRecorder``, or a list of recorders.

    A failing recorder does not affect the other recorders.
    """
    engine: Engine | None
    """A ``DbosEngine`` of ``stream_protocol.durable``. With an engine, another worker finishes the runs of a dead
    worker.

    The engine needs ``history="server"``, and agents of ADK's own classes. The service closes the engine.
    """
    times: ServiceTimes
    """Internal timeouts, which only tests change: see ``ServiceTimes``."""


DEFAULTS: Final[ServiceOptions] = {
    "session_service": None,
    "history": "server",
    "run_config": None,
    "run_log": None,
    "limits": None,
    "on_busy": "interrupt",
    "truncated_history": "append",
    "files": None,
    "context": None,
    "shared_state": None,
    "on_finish": None,
    "on_audit": None,
    "recorder": None,
    "engine": None,
    "times": DEFAULT_TIMES,
}


def checked_options(options: ServiceOptions) -> tuple[ServiceOptions, ConverterOptions]:
    """Split ``options`` into the options of the service, with their defaults, and the options of the converter. Raises
    ``InvalidArgumentError`` for an invalid value, and ``TypeError`` for an unknown option.
    """
    check_option_names(options, ServiceOptions.__annotations__)
    given: ServiceOptions = {**DEFAULTS, **options}
    values = dict[str, Any](given)
    for name, check in CHECKS.items():
        check(name, values[name])
    converting = {name: value for name, value in options.items() if name not in DEFAULTS}
    return given, cast("ConverterOptions", converting)


def check_request(request: object, overrides: object) -> None:
    check_instance("request", request, ChatRequest, "a ChatRequest", hint="parse_chat_request(body) makes one")
    check_instance("overrides", overrides, RunOverrides, "a RunOverrides")
