"""Simulated engine, a model of ``DbosEngine``: records of runs, model replies and tool results, in one database.

The database forgets nothing. A tool that has started and not ended is not started again.
"""

from __future__ import annotations

import asyncio
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final, get_args

from stream_protocol.serving.engine import (
    Deployment,
    ExecutionState,
    LiveState,
    OrphanedRun,
    RunRecord,
    ToldEnd,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from google.adk.runners import Runner

    from tests.simulation.agent import ScriptedRunner
    from tests.simulation.network import Network, T

RETRY_SECONDS: Final = 0.3
"""Seconds between attempts of a call that waits for the engine's database."""


@dataclass
class KeptRun:
    """Record of a run in the database."""

    record: RunRecord
    log_id: str
    executions: dict[str, ExecutionState]
    answers: list[Any] = field(default_factory=list)
    """Model replies, in order."""
    tools: dict[str, str] = field(default_factory=dict)
    """Call -> ``started``, or its result."""
    told: ToldEnd | None = None


class EngineDatabase:
    """Data of the engine, by the ids of the records."""

    def __init__(self) -> None:
        self.runs: dict[str, KeptRun] = {}


class CallJournal:
    """Calls of one execution. A call waits while the database is unreachable."""

    def __init__(self, engine: SimulatedEngine, kept: KeptRun) -> None:
        self._engine = engine
        self._kept = kept
        self._read = 0
        self.is_live = False

    @property
    def repeats_next(self) -> bool:
        """True if the reply for the next model call is stored."""
        return self._read < len(self._kept.answers)

    def next_answer(self) -> Any | None:
        """Return the stored reply for the next model call; ``None`` if the model must be called."""
        if self.repeats_next:
            self._read += 1
            return self._kept.answers[self._read - 1]
        self.is_live = True
        return None

    async def keep_answer(self, answer: Any) -> None:
        """Store a model's reply."""
        self._read += 1
        place = self._read

        def keep() -> None:
            if len(self._kept.answers) < place:
                self._kept.answers.append(answer)

        await self._engine.until_kept("keep an answer", keep)

    async def begin_tool(self, call_id: str) -> str | None:
        """Store the start of a tool. Returns the record of an earlier execution; ``None`` if the tool must run."""
        noted: list[str | None] = []

        def begin() -> None:
            if not noted:
                noted.append(self._kept.tools.get(call_id))
                self._kept.tools.setdefault(call_id, "started")

        await self._engine.until_kept(f"start {call_id}", begin)
        return noted[0]

    async def end_tool(self, call_id: str, result: str) -> None:
        """Store the result of a tool."""
        await self._engine.until_kept(f"end {call_id}", lambda: self._kept.tools.__setitem__(call_id, result))


@dataclass(frozen=True)
class SimulatedExecution:
    """An ``Execution``."""

    runner: Runner
    journal: CallJournal

    @property
    def is_live(self) -> bool:
        return self.journal.is_live

    async def repeats_model_call(self, _agent: str, _branch: str | None) -> bool:
        return self.journal.repeats_next


class SimulatedEngine:
    """The engine of one worker. An ``Engine``."""

    is_shared = True

    def __init__(self, database: EngineDatabase, network: Network, worker: int) -> None:
        self._database = database
        self._network = network
        self._worker = worker
        self._executed: set[str] = set()

    def attach(self, deployment: Deployment) -> None:
        """Do nothing: there is one deployment."""

    async def start(self) -> None:
        """Do nothing: there is no connection."""

    async def aclose(self) -> None:
        """Do nothing: there is no connection."""

    async def ping(self) -> None:
        await self._ask("ping", lambda: None)

    def unsupported(self, runner: Runner) -> list[str]:
        return []

    async def execute(
        self,
        record: RunRecord,
        runner: ScriptedRunner,
        log_id: str,
        work: Callable[[SimulatedExecution], Awaitable[None]],
    ) -> None:
        def keep() -> KeptRun:
            return self._database.runs.setdefault(record.id, KeptRun(record, log_id, {log_id: "running"}))

        kept = await self._ask(f"record {record.id}", keep)
        await self._do(kept, runner, work)

    async def execute_again(
        self,
        record: RunRecord,
        runner: ScriptedRunner,
        log_id: str,
        work: Callable[[SimulatedExecution], Awaitable[None]],
        *,
        alone: bool = False,
    ) -> None:
        def begin() -> KeptRun | None:
            kept = self._database.runs.get(record.id)
            if kept is not None:
                kept.log_id = log_id
                kept.executions[log_id] = "alone" if alone else "running"
            return kept

        kept = await self._ask(f"execute {record.id} again", begin)
        if kept is not None:
            await self._do(kept, runner, work)

    async def mark(self, record: RunRecord, log_id: str, state: LiveState | ToldEnd) -> None:
        def mark() -> None:
            kept = self._database.runs.get(record.id)
            if kept is None:
                return
            if isinstance(state, ToldEnd):
                kept.executions[log_id] = state.outcome
                kept.told = state
            elif kept.executions.get(log_id, "running") in get_args(LiveState):
                kept.executions[log_id] = state

        told = state.outcome if isinstance(state, ToldEnd) else state  # the shown events of an end are in no order
        await self._ask(f"mark {record.id} {told}", mark)

    async def unfinished(self, chat: tuple[str, str] | None = None) -> list[OrphanedRun]:
        return await self._ask("unfinished", partial(self._unfinished, chat))

    async def cancel(self, record: RunRecord, *, has_ended: bool = False) -> None:
        await self._ask(f"forget {record.id}", lambda: self._database.runs.pop(record.id, None))

    async def until_kept(self, name: str, command: Callable[[], None]) -> None:
        """Repeat a command, which may run twice, until there is a reply."""
        while True:
            try:
                return await self._ask(name, command)
            except ConnectionError:
                await asyncio.sleep(RETRY_SECONDS)

    def _unfinished(self, chat: tuple[str, str] | None) -> list[OrphanedRun]:
        return [
            OrphanedRun(
                record=kept.record,
                executions=dict(kept.executions),
                log_id=kept.log_id,
                error_text=kept.told.error_text if kept.told else "",
                shown=kept.told.shown if kept.told else None,
                unfinished_text=kept.told.unfinished_text if kept.told else "",
            )
            for kept in self._database.runs.values()
            if kept.record.id not in self._executed and chat in (None, (kept.record.user_id, kept.record.chat_id))
        ]

    async def _do(
        self,
        kept: KeptRun,
        runner: ScriptedRunner,
        work: Callable[[SimulatedExecution], Awaitable[None]],
    ) -> None:
        own = copy(runner)
        own.journal = CallJournal(self, kept)
        self._executed.add(kept.record.id)
        try:
            await work(SimulatedExecution(own, own.journal))
        finally:
            self._executed.discard(kept.record.id)

    async def _ask(self, name: str, command: Callable[[], T]) -> T:
        return await self._network.ask("engine", self._worker, name, command, ConnectionError)
