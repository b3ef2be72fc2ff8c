"""Provides ``RunEnds``, which stores the ends of runs in the engine.

An end is the outcome of a response, with its error text: see ``ToldEnd``. When the client has received an end, it is
stored. After that, no worker executes the run again.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final

from stream_protocol.serving.engine._engine import OrphanedRun, ToldEnd
from stream_protocol.serving.errors import log_error
from stream_protocol.serving.runs import TEXTS_OF_TIMEOUTS
from stream_protocol.wire import ChatRequestError
from stream_protocol.wire.client import parse_sse

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from stream_protocol.serving.engine._engine import RunRecord
    from stream_protocol.serving.engine._local_runs import DurableService, LocalRun
    from stream_protocol.serving.runs import Run
    from stream_protocol.stream import Ending

logger = logging.getLogger(__name__)

_ENDS: Final[tuple[Ending, ...]] = ("abort", "error", "timeout")
"""The ends of responses, by priority. If the executions of a run ended differently, the first of these ends counts."""


class RunEnds:
    """Stores the ends of durable runs in the engine. ``closed``: event that is set when this worker shuts down."""

    def __init__(self, service: DurableService, closed: asyncio.Event) -> None:
        self._engine = service.engine
        self._runs = service.runs
        self._times = service.times
        self._closed = closed
        self._unforgotten: set[str] = set()
        """The ids of runs for which a call of the engine has failed. Only the first failure is logged."""

    async def find(self, orphan: OrphanedRun) -> ToldEnd | None:
        """Return the end of a run of a dead worker; ``None`` if the client has received no end."""
        return end_of_orphan(orphan, await self._runs.written(orphan.record.key, orphan.log_id))

    async def report(self, local: LocalRun, task: asyncio.Task[object]) -> None:
        """Waits until a run is stopped, and stores its end in the engine. ``task``: the task of the run.

        If the engine does not store the new run within ``ServiceTimes.shutdown`` seconds after the stop, cancels the
        task.
        """
        await local.run.agent_task.abort_signal.wait()
        try:
            async with asyncio.timeout(self._times.shutdown):
                await local.has_record.wait()
        except TimeoutError:
            text = "A stopped run frees its chat: the engine has not recorded it for %s seconds."
            logger.error(text, self._times.shutdown)  # noqa: TRY400 - a traceback would not help
            task.cancel()
            return
        if not local.run.was_left:
            await self.repeat(local.record, partial(self.store, local))

    async def store(self, unfinished: LocalRun | OrphanedRun) -> ToldEnd:
        """Stores the end of a run in the engine, and returns the end. An unfinished response gets the end ``abort``.

        The end ``finish`` is not stored, because a new execution of the run also ends with ``finish``.
        """
        if isinstance(unfinished, OrphanedRun):
            end = await self.find(unfinished) or ToldEnd("abort")
        else:
            end = end_of_local(unfinished.run)
        if end.outcome != "finish":
            await self._engine.mark(unfinished.record, unfinished.log_id, end)
        return end

    async def repeat(self, record: RunRecord, call: Callable[[], Awaitable[object]]) -> None:
        """Repeats a call of the engine until the call succeeds, or this worker is closed.

        A call fails if it raises, returns False, or takes longer than ``ServiceTimes.shutdown``.
        """
        pause = self._times.forgetting
        while not self._closed.is_set():
            try:
                async with asyncio.timeout(self._times.shutdown):
                    is_done = await call() is not False
            except ChatRequestError:
                is_done = False  # the run log is unreachable, which is logged, or this worker shuts down
            except Exception as error:  # noqa: BLE001 - after any error, the run is still stored
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


def log_absence(text: str, error: Exception) -> None:
    """Logs that a store is unreachable. ``text``: a sentence about the consequence."""
    logger.error(text)
    log_error(logger, error)


def end_of_orphan(orphan: OrphanedRun, log: Sequence[bytes]) -> ToldEnd | None:
    """Return the end of a run of a dead worker; ``None`` if neither the engine nor the run log contains an end.

    If one execution was stopped and another has failed, returns the end of the stopped execution. ``log``: the SSE
    events of the last execution.
    """
    ends = (end for end in _ENDS if end in orphan.executions.values())
    recorded = (ToldEnd(end, orphan.error_text, orphan.shown, orphan.unfinished_text) for end in ends)
    return next(recorded, None) or end_in_log(log)


def end_of_local(run: Run) -> ToldEnd:
    """Return the end of a run of this worker. An unfinished response gets the end ``abort``."""
    if run.outcome == "finish":
        return ToldEnd("finish")
    shown, unfinished = tuple(run.output.shown_ids) if run.log.closed else None, run.output.unfinished_text
    if run.outcome in ("abort", None):
        return ToldEnd("abort", "", shown, unfinished)
    return ToldEnd(run.outcome, run.output.error_text or "", shown, unfinished)


def end_in_log(log: Sequence[bytes]) -> ToldEnd | None:
    """Return the end in the SSE events of a run; ``None`` if the events contain no end.

    A timeout is recognized by its error text. If the app's ``on_error`` has replaced this text, returns an error.
    """
    match next((chunks[-1] for events in reversed(log) if (chunks := [*parse_sse(events)])), None):
        case {"type": "abort"}:
            return ToldEnd("abort")
        case {"type": "error", "errorText": str(text)}:
            return ToldEnd("timeout" if text in TEXTS_OF_TIMEOUTS else "error", text)
        case {"type": "finish"}:
            return ToldEnd("finish")
    return None
