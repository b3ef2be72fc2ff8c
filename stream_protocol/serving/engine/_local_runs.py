"""``LocalRuns``: the runs that this worker executes, and what the engine is told of them."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from stream_protocol.serving.base import HookTimeoutError, Tasks
from stream_protocol.serving.engine._engine import ToldEnd
from stream_protocol.serving.engine._shown import told_end
from stream_protocol.serving.errors import is_unreachable, log_error
from stream_protocol.serving.run_logs import RunLogError
from stream_protocol.wire import ChatRequestError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

    from google.adk.runners import Runner

    from stream_protocol.serving.base import ServiceTimes
    from stream_protocol.serving.chats import ChatKey, ChatStore
    from stream_protocol.serving.engine._engine import Deployment, EndState, Engine, LiveState, RunRecord
    from stream_protocol.serving.runs import ActiveRuns, Planner, Run, RunWork

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class DurableService:
    """The objects of one service that its durable runs use. ``deployment``: whose orphaned runs it recovers."""

    engine: Engine
    runner: Runner
    deployment: Deployment
    runs: ActiveRuns
    store: ChatStore
    planner: Planner
    work: RunWork
    times: ServiceTimes


class LocalRun:
    """A run that this worker executes."""

    def __init__(self, record: RunRecord, run: Run) -> None:
        self.record = record
        self.run = run
        self.is_over = asyncio.Event()
        """Set when this worker has ended or left the run."""
        self._is_kept = False
        self._is_ended = False

    @property
    def key(self) -> ChatKey:
        """The key of its chat."""
        return self.record.user_id, self.record.chat_id

    @property
    def log_id(self) -> str:
        """The run's id in the run log."""
        return self.run.id

    @property
    def is_kept(self) -> bool:
        """True once the engine knows of this execution."""
        return self._is_kept

    def keep(self) -> None:
        """The engine knows of this execution."""
        self._is_kept = True

    @property
    def is_ended(self) -> bool:
        """True once the engine is told the end that the page was told. Nothing else is noted of the execution then."""
        return self._is_ended

    def end(self) -> None:
        """The engine is told the end."""
        self._is_ended = True

    @property
    def told_end(self) -> ToldEnd | None:
        """The end of a run that was ended. ``None`` if it has finished: another execution would finish, too."""
        output = self.run.output
        shown = tuple(output.shown_ids) if self.run.log.closed else None
        match self.run.outcome:
            case "finish":
                return None
            case "error" | "timeout" as outcome:
                told = told_end(list(self.run.log.events()))
                text = "" if told is None else told.error_text
                state: EndState = "failed" if outcome == "error" else "timeout"
                return ToldEnd(state, text, shown, output.unfinished_text)
            case "abort" | None:
                return ToldEnd("stopped", "", shown, output.unfinished_text)


class LocalRuns:
    """The runs that this worker executes. It repeats each call of the engine until the call succeeds."""

    def __init__(self, service: DurableService) -> None:
        self._engine = service.engine
        self._runs = service.runs
        self._times = service.times
        self._local: dict[str, LocalRun] = {}
        """By the records' ids."""
        self._unforgotten: set[str] = set()
        """The records' ids of runs that have ended and wait for the engine."""
        self._tasks = Tasks()
        self._draining = False
        self._closed = asyncio.Event()

    def in_chat(self, key: ChatKey) -> list[LocalRun]:
        """The runs of this chat."""
        return [local for local in self._local.values() if local.key == key]

    def drain(self) -> None:
        """If this worker is killed from now on, no run is blamed for that."""
        self._draining = True
        for local in self._local.values():
            _ = self._tasks.start(self._mark(local, "left"))

    async def aclose(self) -> None:
        """Tells the engine no more. Calls of the engine that have begun get ``ServiceTimes.engine`` seconds."""
        self._closed.set()
        if not (tasks := [*self._tasks]):
            return
        await asyncio.wait(tasks, timeout=self._times.engine)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def execute(self, local: LocalRun, execution: Coroutine[None, None, None]) -> None:
        """Waits for the execution. A run that is stopped is not executed again, whatever becomes of this worker."""
        record, run = local.record, local.run
        self._local[record.id] = local
        marking = asyncio.create_task(self._mark_when_stopped(local))
        try:
            await execution
        finally:
            marking.cancel()
            del self._local[record.id]
            local.is_over.set()
            if run.was_left:
                await asyncio.shield(self._tasks.start(self._mark(local, "left")))
            elif local.is_kept or run.log.closed:
                await asyncio.shield(self._tasks.start(self.forget(record, has_ended=True)))
            else:  # the request is refused, and the engine may have the record all the same
                _ = self._tasks.start(self._until_done(record, partial(self._forget_refused, local)))

    async def note_record(self, local: LocalRun) -> None:
        """The engine has the record of a new run, which begins."""
        local.keep()
        local.run.allow_recovery()
        if self._draining:  # `drain` came before the record
            _ = self._tasks.start(self._mark(local, "left"))
        if local.run.abort_signal.is_set():  # the stop came before the record, and found nothing to mark
            await self._until_done(local.record, partial(self.mark_ended, local))

    async def mark_ended(self, local: LocalRun) -> None:
        """Tells the engine the end that the page of a run was told."""
        if (end := local.told_end) is not None:
            local.end()
            await self._engine.mark(local.record, local.log_id, end)

    async def forget(self, record: RunRecord, *, has_ended: bool = False) -> None:
        """Forgets a run that has ended. The chat waits for that: its page was told the end, so no worker may find the
        run."""
        await self._until_done(record, partial(self._engine.cancel, record, has_ended=has_ended))

    async def let_others_in(self, local: LocalRun) -> None:
        """Notes that a suspect is not alone any more: if this worker crashes now, that proves nothing."""
        while not self._draining and not local.is_ended:
            with suppress(Exception):  # the engine is away, so no other run can begin
                await self._engine.mark(local.record, local.log_id, "running")
                return
            await asyncio.sleep(self._times.forgetting)

    async def _mark_when_stopped(self, local: LocalRun) -> None:
        await local.run.abort_signal.wait()
        if not local.run.was_left:
            await self._until_done(local.record, partial(self.mark_ended, local))

    async def _mark(self, local: LocalRun, state: LiveState) -> None:
        if not local.is_kept or local.is_ended or self._closed.is_set():
            return
        try:
            await self._engine.mark(local.record, local.log_id, state)
        except Exception as error:  # noqa: BLE001 - a worker that ends has no time for more
            log_absence(f"Run {local.record.id} may be taken for one that has crashed its worker.", error)

    async def _forget_refused(self, local: LocalRun) -> bool:
        """Forgets the record of a request that was refused, unless the request was sent again and is answered now.

        Returns ``False`` while another run holds the chat.
        """
        claim = await self._runs.claim_free(local.key, local.record.idempotency_key)
        if claim is None:
            return False
        with claim:  # nobody begins to recover the run meanwhile
            for orphan in await self._engine.unfinished(local.key):
                if orphan.record.id == local.record.id and orphan.log_id == local.log_id:  # nobody has recovered it
                    await self._engine.cancel(local.record)
        return True

    async def _until_done(self, record: RunRecord, tell: Callable[[], Awaitable[bool | None]]) -> None:
        """Tells the engine that a run has ended or was stopped, until that succeeds: ``tell`` returns ``False`` to be
        called again. Gives up only when this worker is closed."""
        pause = self._times.forgetting
        while not self._closed.is_set():
            try:
                is_done = await tell() is not False
            except ChatRequestError:
                is_done = False  # the run log is away, which is logged, or this worker is about to end
            except Exception as error:  # noqa: BLE001 - whatever it is, the run is not forgotten
                is_done = False
                if record.id not in self._unforgotten:
                    self._unforgotten.add(record.id)
                    log_absence("A run that has ended keeps its chat until the engine has forgotten it.", error)
            if is_done:
                self._unforgotten.discard(record.id)
                return
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._closed.wait()
            pause = min(pause * 2, self._times.max_forgetting)


def is_away(error: Exception) -> bool:
    """Return True if a store does not answer: a later attempt may succeed."""
    return is_unreachable(error) or isinstance(error, (RunLogError, ChatRequestError, HookTimeoutError))


def log_absence(text: str, error: Exception) -> None:
    """Logs what cannot be done while a store is away, and the reason."""
    logger.error(text)
    log_error(logger, error)
