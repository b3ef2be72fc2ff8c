"""``ServiceContext``: the objects that answer the requests of one service, and how they are put together."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from stream_protocol.serving._audit import AuditTrail
from stream_protocol.serving._limits import RunSlots, ServiceLimits
from stream_protocol.serving._readiness import Readiness
from stream_protocol.serving._recorder_protocol import as_one_recorder
from stream_protocol.serving._response_memory import ResponseMemory
from stream_protocol.serving._tasks import Tasks
from stream_protocol.serving.adk_runner import as_runner, default_run_config, delegation_tools
from stream_protocol.serving.chats import ChatStore
from stream_protocol.serving.engine import DurableExecutor, deployment_of
from stream_protocol.serving.run_logs import MemoryRunLog
from stream_protocol.serving.runs import (
    ActiveRuns,
    ClientHistory,
    DirectExecutor,
    Planner,
    RunLimits,
    RunWork,
    ServerHistory,
    warn_of_other_workers,
)
from stream_protocol.session import FilePolicy
from stream_protocol.stream import Settings, hide_tools
from stream_protocol.wire import StreamProtocolError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from google.adk.agents.run_config import RunConfig
    from google.adk.runners import Runner
    from google.adk.sessions import BaseSessionService

    from stream_protocol.serving._audit import OnAudit
    from stream_protocol.serving._on_finish import OnFinish
    from stream_protocol.serving._recorder_protocol import Recorder
    from stream_protocol.serving._times import ServiceTimes
    from stream_protocol.serving.adk_runner import Target
    from stream_protocol.serving.engine import Engine
    from stream_protocol.serving.run_logs import RunLog
    from stream_protocol.serving.runs import Executor, HistoryPolicy
    from stream_protocol.session import HistoryCut, HistoryMode
    from stream_protocol.stream import ConverterOptions

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class ServiceContext:
    """The objects that answer the requests of one service."""

    runner: Runner
    settings: Settings
    store: ChatStore
    history: HistoryPolicy
    run_log: RunLog
    runs: ActiveRuns
    executor: Executor
    planner: Planner
    audit: AuditTrail
    memory: ResponseMemory
    readiness: Readiness
    tasks: Tasks
    """The tasks of runs, and of requests whose response has begun before they are answered."""
    slots: RunSlots
    """The runs that go on."""
    waiting: RunSlots
    """The requests that wait for the end of a run."""
    on_busy: Literal["interrupt", "reject"]
    stopping_wait: float
    times: ServiceTimes


def assemble(  # noqa: PLR0913 - one argument per option
    target: Target,
    *,
    session_service: BaseSessionService | None,
    history: HistoryMode,
    run_config: RunConfig | None,
    run_log: RunLog | None,
    disconnect_grace: float | None,
    run_timeout: float | None,
    limits: ServiceLimits | None,
    on_busy: Literal["interrupt", "reject"],
    history_cut: HistoryCut,
    stopping_wait: float,
    hook_timeout: float | None,
    files: FilePolicy | None,
    on_finish: OnFinish | None,
    on_audit: OnAudit | None,
    recorder: Recorder | Sequence[Recorder] | None,
    engine: Engine | None,
    options: ConverterOptions,
    times: ServiceTimes,
) -> ServiceContext:
    """Makes the objects of a service from its options: see ``ChatService``."""
    runner = as_runner(target, session_service)
    options = hide_tools(delegation_tools(runner.agent), options)
    settings = Settings(**options)
    limits, files, tasks = limits or ServiceLimits(), files or FilePolicy(), Tasks()
    if run_log is None:
        warn_of_other_workers()
    run_log = run_log or MemoryRunLog()
    engine = _usable(engine, history, runner, run_log)
    store = ChatStore(runner, hook_timeout)
    policy = ServerHistory(runner, store, files, history_cut) if history == "server" else ClientHistory(files, history)
    planner = Planner(runner, run_config or default_run_config(), options, policy, as_one_recorder(recorder))
    run_limits = RunLimits(disconnect_grace=disconnect_grace, run_timeout=run_timeout, max_chunks=limits.max_chunks)
    runs = ActiveRuns(
        runner.app_name,
        run_log,
        run_limits,
        tasks,
        times,
        stopping_wait=stopping_wait,
        chat_exists=policy.has_chat,
        recovers=engine is not None,
    )
    ai_sdk = settings.options["ai_sdk"]
    work = RunWork(runner, runs, policy, on_finish=on_finish, hook_timeout=hook_timeout, ai_sdk=ai_sdk, times=times)
    executor: Executor = DirectExecutor(runs, work)
    if engine is not None:
        deployment = deployment_of(runner, run_log)
        executor = DurableExecutor(engine, runner, deployment, runs, store, planner, work, times)
    return ServiceContext(
        runner=runner,
        settings=settings,
        store=store,
        history=policy,
        run_log=run_log,
        runs=runs,
        executor=executor,
        planner=planner,
        audit=AuditTrail(runner.app_name, on_audit, timeout=hook_timeout),
        memory=ResponseMemory(limits.max_response_bytes, with_state=settings.options["send_state"]),
        readiness=Readiness(runner, run_log, engine),
        tasks=tasks,
        slots=RunSlots(limits.max_runs_per_user, limits.max_runs, patience=stopping_wait),
        waiting=RunSlots(limits.max_waiting_per_user, limits.max_runs),
        on_busy=on_busy,
        stopping_wait=stopping_wait,
        times=times,
    )


def _usable(engine: Engine | None, history: HistoryMode, runner: Runner, run_log: RunLog) -> Engine | None:
    """Returns the engine, if it can keep the runs of this service. Raises ``StreamProtocolError``."""
    if engine is None:
        return None
    if history != "server":
        raise StreamProtocolError('`engine` needs `history="server"`: else nothing is stored.')
    if not engine.holds(runner):
        logger.warning("Runs are not executed again: the engine cannot keep what these agents do.")
        return None
    if engine.is_shared and isinstance(run_log, MemoryRunLog):
        raise StreamProtocolError(
            "The engine's database can be used by several workers, so `engine` needs a run log that they share: "
            "`run_log=RedisRunLog(…)` or `PostgresRunLog(…)`; with `serve`, `--run-log URL`."
        )
    return engine
