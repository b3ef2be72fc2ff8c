"""Engine that stores records in memory, for workers in one process. It stores no results: models are called again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, get_args

from google.adk.runners import Runner

from stream_protocol.serving.engine import (
    Deployment,
    ExecutionState,
    LiveState,
    OrphanedRun,
    OtherVersionError,
    RunRecord,
    ToldEnd,
)


@dataclass
class KeptRun:
    record: RunRecord
    version: str
    log_id: str
    executions: dict[str, ExecutionState] = field(default_factory=dict)
    error_text: str = ""
    shown: tuple[str, ...] | None = None
    unfinished_text: str = ""


@dataclass
class Execution:
    """Execution of this engine."""

    runner: Runner
    is_live: bool = True

    async def repeats_model_call(self, _agent: str, _branch: str | None) -> bool:
        return False


class StoredRuns:
    """Runs that the engines of all workers store."""

    def __init__(self) -> None:
        self.runs: dict[str, KeptRun] = {}


class KeepingEngine:
    """Engine of one worker."""

    is_shared = False

    def __init__(self, kept: StoredRuns, *, version: str = "") -> None:
        self.kept = kept
        self.version = version
        self.is_dead = False
        """True if the worker has crashed: it stores nothing more."""
        self.is_paused = False
        """True if the worker does not search for orphaned runs."""
        self.error: Exception | None = None
        """Exception that each change raises."""
        self.writes = asyncio.Event()
        """Set while records are written."""
        self.writes.set()
        self._executed: set[str] = set()

    def attach(self, deployment: Deployment) -> None:
        self.deployment = deployment

    async def start(self) -> None:
        """Do nothing."""

    async def aclose(self) -> None:
        """Do nothing."""

    async def ping(self) -> None:
        self._fail()

    def unsupported(self, _runner: Runner) -> list[str]:
        return []

    async def execute(
        self, record: RunRecord, runner: Runner, log_id: str, work: Callable[[Any], Awaitable[None]]
    ) -> None:
        self._fail()
        await self.writes.wait()
        self.kept.runs[record.id] = KeptRun(record, self.version, log_id, {log_id: "running"})
        await self._do(record, Execution(runner), work)

    async def execute_again(
        self,
        record: RunRecord,
        runner: Runner,
        log_id: str,
        work: Callable[[Any], Awaitable[None]],
        *,
        alone: bool = False,
    ) -> None:
        self._fail()
        kept = self.kept.runs.get(record.id)
        if kept is None:
            return
        if kept.version != self.version:
            raise OtherVersionError
        kept.log_id = log_id
        kept.executions[log_id] = "alone" if alone else "running"
        await self._do(record, Execution(runner), work)

    async def mark(self, record: RunRecord, log_id: str, state: LiveState | ToldEnd) -> None:
        self._fail()
        if not self.is_dead and record.id in self.kept.runs:
            kept = self.kept.runs[record.id]
            if isinstance(state, ToldEnd):
                kept.executions[log_id] = state.outcome
                kept.error_text = state.error_text or kept.error_text
                kept.shown = kept.shown if state.shown is None else state.shown
                kept.unfinished_text = state.unfinished_text or kept.unfinished_text
            elif kept.executions.get(log_id, "running") in get_args(LiveState):
                kept.executions[log_id] = state

    async def unfinished(self, chat: tuple[str, str] | None = None) -> list[OrphanedRun]:
        return [
            OrphanedRun(
                record=kept.record,
                executions=dict(kept.executions),
                log_id=kept.log_id,
                error_text=kept.error_text,
                shown=kept.shown,
                unfinished_text=kept.unfinished_text,
            )
            for kept in self.kept.runs.values()
            if not self.is_paused
            and kept.record.id not in self._executed
            and chat in (None, (kept.record.user_id, kept.record.chat_id))
        ]

    async def cancel(self, record: RunRecord, *, has_ended: bool = False) -> None:
        self._fail()
        if not self.is_dead:
            self.kept.runs.pop(record.id, None)

    async def _do(self, record: RunRecord, execution: Execution, work: Callable[[Any], Awaitable[None]]) -> None:
        self._executed.add(record.id)
        try:
            await work(execution)
        finally:
            self._executed.discard(record.id)

    def _fail(self) -> None:
        if self.error is not None:
            raise self.error
