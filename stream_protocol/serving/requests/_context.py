"""Provides ``ServiceContext``, the internal objects of a service. ``assemble`` creates it from the options of
``ChatService``.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from stream_protocol.serving.adk_runner import ServedRunner, as_runner, default_run_config, task_agent_tools
from stream_protocol.serving.base import (
    AuditTrail,
    RequestRates,
    ResponseMemory,
    RunSlots,
    ServiceLimits,
    Tasks,
    all_recorders,
)
from stream_protocol.serving.chats import ChatStore
from stream_protocol.serving.engine import DurableExecutor, DurableService, deployment_of
from stream_protocol.serving.errors import log_error
from stream_protocol.serving.requests._lifecycle import RequestLifecycle
from stream_protocol.serving.requests._readiness import Readiness
from stream_protocol.serving.run_logs import MemoryRunLog
from stream_protocol.serving.runs import (
    ActiveRuns,
    ClientHistory,
    Executor,
    Planner,
    RunWork,
    ServerHistory,
    warn_of_other_workers,
)
from stream_protocol.session import CONTEXT_KEY, FilePolicy
from stream_protocol.stream import Settings, hide_task_agents
from stream_protocol.wire import ChatRequestError, StreamProtocolError, parse_chat_request

if TYPE_CHECKING:
    from google.adk.runners import Runner

    from stream_protocol.serving.adk_runner import Target
    from stream_protocol.serving.base import InProgress, ServiceTimes
    from stream_protocol.serving.chats import ChatKey
    from stream_protocol.serving.engine import Engine
    from stream_protocol.serving.requests._service_options import OnBusy, ServiceOptions
    from stream_protocol.serving.run_logs import RunLog
    from stream_protocol.serving.runs import HistoryPolicy, NextTurn
    from stream_protocol.session import PageContext, SharedState
    from stream_protocol.stream import ConverterOptions

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class ServiceContext:
    runner: Runner
    served: ServedRunner
    """Closes ``runner`` if the service has created the runner."""
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
    rates: RequestRates
    foreign_rates: RequestRates
    """Limits requests from pages of other sites."""
    tasks: Tasks
    """The tasks of runs, and of requests that still wait although their response has begun."""
    slots: RunSlots
    """Limits and counts the active runs."""
    waiting: RunSlots
    """Limits and counts the requests that wait for the end of a run."""
    on_busy: OnBusy
    keeps_history: bool
    """True if the server stores the chats."""
    max_file_bytes: int
    """Size limit of an attached file, in decoded bytes."""
    context: PageContext | None
    shared_state: SharedState | None
    limits: ServiceLimits
    times: ServiceTimes

    async def drain(self) -> None:
        """Stops recovering the runs of dead workers, and waits until no run or request is active."""
        self.executor.drain()
        while self.tasks or self.runs.any_here or self.waiting:  # noqa: ASYNC110 - three conditions, polled once
            await asyncio.sleep(self.times.drain_check)

    async def aclose(self, in_progress: InProgress) -> None:
        """Stops the runs, then closes all stores. Closes the runner, if the service has created it. ``in_progress``:
        unfinished method calls of the service. They get some time to finish before the stores are closed.
        """
        self.runs.close()
        if late := await self.tasks.wait(self.times.shutdown):
            text = "The end of %s may be lost: it was not stored within %s seconds."
            logger.error(text, "1 run" if late == 1 else f"{late} runs", self.times.shutdown)
        await self.audit.aclose()
        await in_progress.wait(self.times.answering)
        await self.executor.aclose()
        await self.run_log.aclose()
        await self.served.aclose(self.times.closing)


def assemble(target: Target, given: ServiceOptions, options: ConverterOptions) -> ServiceContext:
    runner = as_runner(target, given["session_service"])
    options = hide_task_agents(task_agent_tools(runner.agent), options)
    if (shared := given["shared_state"]) is not None:
        options.setdefault("send_state", shared.keys)
    settings = Settings(**options)
    limits, tasks = given["limits"] or ServiceLimits(), Tasks()
    run_log = _run_log(given)
    engine = _usable_engine(given, runner, run_log)
    store = ChatStore(runner, limits.hook_timeout)
    history = _history_policy(given, runner, store)
    planner = _planner(given, runner, options, history)
    runs = ActiveRuns(
        runner.app_name,
        run_log,
        limits,
        tasks,
        given["times"],
        chat_exists=history.has_chat,
        runs_are_recovered=engine is not None,
    )
    work = RunWork(
        runner,
        runs,
        history,
        on_finish=given["on_finish"],
        hook_timeout=limits.hook_timeout,
        ai_sdk=settings.client.major,
        times=given["times"],
    )
    executor = Executor(runs, work)
    if engine is not None:
        service = DurableService(
            engine=engine,
            runner=runner,
            deployment=deployment_of(runner, run_log),
            runs=runs,
            store=store,
            planner=planner,
            work=work,
            times=given["times"],
        )
        executor = DurableExecutor(service)
    context = ServiceContext(
        runner=runner,
        served=ServedRunner(runner, is_own=runner is not target),
        settings=settings,
        store=store,
        history=history,
        run_log=run_log,
        runs=runs,
        executor=executor,
        planner=planner,
        audit=AuditTrail(runner.app_name, given["on_audit"], timeout=limits.hook_timeout),
        memory=ResponseMemory(limits.max_response_bytes, with_state=bool(settings.options["send_state"])),
        readiness=Readiness(runner, run_log, engine, given["times"]),
        rates=RequestRates(limits.max_requests_per_minute),
        foreign_rates=RequestRates(limits.max_requests_per_minute),
        tasks=tasks,
        slots=RunSlots(limits.max_runs_per_user, limits.max_runs, patience=limits.stop_timeout),
        waiting=RunSlots(limits.max_waiting_per_user, limits.max_runs),
        on_busy=given["on_busy"],
        keeps_history=given["history"] == "server",
        max_file_bytes=(given["files"] or FilePolicy()).max_bytes,
        context=given["context"],
        shared_state=given["shared_state"],
        limits=limits,
        times=given["times"],
    )
    runs.begin_turns_with(partial(begin_turn, context))
    return context


def _run_log(given: ServiceOptions) -> RunLog:
    if given["run_log"] is not None:
        return given["run_log"]
    warn_of_other_workers()
    return MemoryRunLog()


def _planner(given: ServiceOptions, runner: Runner, options: ConverterOptions, history: HistoryPolicy) -> Planner:
    return Planner(
        runner,
        given["run_config"] or default_run_config(),
        options,
        history,
        all_recorders(given["recorder"]),
        context=given["context"],
        shared_state=given["shared_state"] if given["history"] == "server" else None,
    )


def _history_policy(given: ServiceOptions, runner: Runner, store: ChatStore) -> HistoryPolicy:
    files = given["files"] or FilePolicy()
    if given["history"] == "server":
        return ServerHistory(runner, store, files, given["truncated_history"])
    if given["on_busy"] == "steer":
        raise StreamProtocolError('`on_busy="steer"` needs `history="server"`: else nothing is stored.')
    return ClientHistory(files, given["history"])


def _usable_engine(given: ServiceOptions, runner: Runner, run_log: RunLog) -> Engine | None:
    """Return the engine; ``None`` if it does not support the agents of the app. Raises ``StreamProtocolError`` if the
    engine cannot work with the options ``history`` or ``run_log``.
    """
    engine = given["engine"]
    if engine is None:
        return None
    if given["history"] != "server":
        raise StreamProtocolError('`engine` needs `history="server"`: else nothing is stored.')
    if unsupported := engine.unsupported(runner):
        logger.warning(
            "Runs of this service end with their worker: the engine does not support %s.", ", ".join(unsupported)
        )
        return None
    if engine.is_shared and isinstance(run_log, MemoryRunLog):
        raise StreamProtocolError(
            "The engine's database can be used by several workers, so `engine` needs a run log that they share: "
            "`run_log=RedisRunLog(…)` or `PostgresRunLog(…)`; with `serve`, `--run-log URL`."
        )
    return engine


def begin_turn(service: ServiceContext, key: ChatKey, turn: NextTurn) -> None:
    """Begins a run with a user message that came too late for the last run. If the new run is refused, the next run
    reads the message.
    """
    _ = service.tasks.start(_begin_turn(service, key, turn))


async def _begin_turn(service: ServiceContext, key: ChatKey, turn: NextTurn) -> None:
    user_id, chat_id = key
    lifecycle = RequestLifecycle(
        service,
        parse_chat_request({"id": chat_id, "message": turn.message, CONTEXT_KEY: turn.context}),
        user_id=user_id,
        overrides=turn.overrides,
        begins_run=True,
        since_stop=turn.since_stop,
        interrupts=False,  # a newer message has begun a run, which reads this message, too
    )
    try:
        events = await lifecycle.respond()
    except ChatRequestError as refused:
        logger.warning("A message that came too late for its run waits for the next run of the chat: %s", refused)
    except Exception as error:  # noqa: BLE001 - any error of the agent; no client gets it
        logger.error("A message that came too late for its run waits for the next run of the chat.")  # noqa: TRY400 - the next line has the reason
        log_error(logger, error)
    else:
        if isinstance(events, AsyncGenerator):
            await events.aclose()
