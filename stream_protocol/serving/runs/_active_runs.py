"""Keeps each chat to one run at a time. Claims, resumes and stops runs: here, and through the run log elsewhere."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Container, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Final, cast

from stream_protocol.serving.base import RUN_LOG, closing_refusal, not_ended_refusal, unreachable_refusal
from stream_protocol.serving.run_logs import ChatTakenError, RunLogError
from stream_protocol.serving.runs._claim import Claim
from stream_protocol.serving.runs._run import Run
from stream_protocol.serving.runs._steering_posts import delivery, question
from stream_protocol.serving.telemetry import observed_resume

if TYPE_CHECKING:
    from opentelemetry.trace import SpanContext

    from stream_protocol.serving.base import RunSlot, ServiceLimits, ServiceTimes, Tasks
    from stream_protocol.serving.chats import ChatKey
    from stream_protocol.serving.run_logs import RunInfo, RunLog, RunReader
    from stream_protocol.serving.runs._steering_posts import NextTurn, Reply
    from stream_protocol.wire import UIMessage

logger = logging.getLogger(__name__)

DELETION: Final = ""
"""The idempotency key with which a deletion claims a chat. A deletion has no response, so no request can read one."""

MIN_PAUSE, MAX_PAUSE = 0.001, 0.1
"""The least and the most seconds between two looks at a run, which may be at another worker. Between them, the pause is
a tenth of the time for which a request has waited. It should not miss a short run, and an answer may wait for an
hour."""


@dataclass(frozen=True)
class Taken:
    """The chat is another run's, which goes on."""

    run: RunInfo
    reader: RunReader | None = None
    """Reads its response, if that answers an equal request."""


@asynccontextmanager
async def _refuse_if_unreachable() -> AsyncIterator[None]:
    """Refuses a request (503) if the run log cannot be reached: nobody knows what runs in its chat."""
    try:
        yield
    except RunLogError as error:
        logger.error("The run log cannot be reached: %s", error)  # noqa: TRY400 - the operator needs the reason, in a line
        raise unreachable_refusal(RUN_LOG) from error


class ActiveRuns:
    """The runs of this worker, by chat; and through the run log those of other workers.

    ``limits``: of each run. ``chat_exists``: tells whether this deployment's session store has a chat.
    ``runs_are_recovered``: orphaned runs are recovered, so readers come back. Methods raise ``ChatRequestError`` (503)
    if the run log cannot be reached.
    """

    def __init__(
        self,
        app_name: str,
        run_log: RunLog,
        limits: ServiceLimits,
        tasks: Tasks,
        times: ServiceTimes,
        *,
        chat_exists: Callable[[ChatKey], Awaitable[bool]],
        runs_are_recovered: bool,
    ) -> None:
        self._app_name = app_name
        self._run_log = run_log
        self._limits = limits
        self._tasks = tasks
        self._times = times
        self._chat_exists = chat_exists
        self._runs_are_recovered = runs_are_recovered
        self._runs: dict[Run, ChatKey] = {}
        """A chat may have two for a moment: one that has lost its lease and is ending, and its successor."""
        self._closed = False
        self._begin_turn: Callable[[ChatKey, NextTurn], None] | None = None

    def begin_turns_with(self, begin_turn: Callable[[ChatKey, NextTurn], None]) -> None:
        """Calls this when a run has released its chat, and a message waits that came too late for the run."""
        self._begin_turn = begin_turn

    @_refuse_if_unreachable()
    async def claim(
        self,
        key: ChatKey,
        idempotency_key: str,
        waiting: RunSlot,
        *,
        begins_run: bool = True,
        requested_at: float | None = None,
    ) -> Claim | Taken:
        """Claims the chat for a new run, unless another run of the chat goes on.

        Waits for another run only if that one is stopping, its worker may be dead, or its chat is not here (yet). It
        takes the slot ``waiting`` first, which may refuse that. ``begins_run=False``: only finds an equal request that
        is being answered. Raises ``ChatRequestError`` (503) if the other run does not end in time, if there is nothing
        to read, and after ``close``.
        """
        deadline = _now() + self._limits.stop_timeout
        # Asked before: a run log may wait by itself for a run that is about to end.
        was_busy = await self._run_log.current(self._name(key)) is not None
        while True:
            if begins_run:
                found = await self._claim(key, idempotency_key, chat_was_busy=was_busy, requested_at=requested_at)
                if isinstance(found, Claim):
                    return found
                other = found
            else:
                other = await self._equal_run(key, idempotency_key)
            if (ours := await self._is_ours(key)) and (taken := await self._taken(key, other, idempotency_key)):
                return taken
            was_busy = True
            await waiting.take()
            if await self._wait_while(key, other.__eq__, deadline, until_close=True) == other:
                if not ours and other.phase != "claimed":
                    logger.error("A run in a chat that the session store lacks: give each deployment its own prefix.")
                raise not_ended_refusal()

    @_refuse_if_unreachable()
    async def claim_free(self, key: ChatKey, idempotency_key: str) -> Claim | None:
        """Claims the chat for a new run; ``None`` if another one holds the chat.

        Raises ``ChatRequestError`` (503) after ``close``.
        """
        found = await self._claim(key, idempotency_key, chat_was_busy=False)
        return found if isinstance(found, Claim) else None

    @_refuse_if_unreachable()
    async def without_run(self, keys: Sequence[ChatKey]) -> set[ChatKey]:
        """Returns those of these chats whose lease no run holds. One round trip, however many they are."""
        runs = await self._run_log.current_many([self._name(key) for key in keys])
        return {key for key, run in zip(keys, runs, strict=True) if run is None}

    async def written(self, key: ChatKey, run_id: str) -> list[bytes]:
        """The SSE events of a run whose worker is dead; none if its log is gone, or cannot be reached."""
        try:
            return await self._run_log.written(self._name(key), run_id)
        except RunLogError as error:
            logger.warning("What a page was shown before is not known: the run log cannot be reached: %s", error)
            return []

    @_refuse_if_unreachable()
    async def interrupt(self, key: ChatKey, run: RunInfo) -> None:
        """Stops this run, whichever worker runs it, and waits until it has ended and is stored.

        Raises ``ChatRequestError`` (503): if it does not end within ``stop_timeout``, and after ``close``.
        """
        self._refuse_if_closed()
        await self._run_log.stop(self._name(key), run.run_id)
        deadline = _now() + self._limits.stop_timeout
        left = await self._wait_while(key, lambda now: now.run_id == run.run_id, deadline, until_close=True)
        if left is not None and left.run_id == run.run_id:
            raise not_ended_refusal()

    @_refuse_if_unreachable()
    async def wait_for_end(self, key: ChatKey, run: RunInfo, patience: float | None) -> bool:
        """Waits until this run has ended and is stored, up to ``patience`` seconds; ``None``: however long it takes.
        Returns whether it has.

        Raises ``ChatRequestError`` (503) when this worker is closed: the run may be another worker's, and go on.
        """
        deadline = inf if patience is None else _now() + patience
        left = await self._wait_while(key, lambda now: now.run_id == run.run_id, deadline, until_close=True)
        return left is None or left.run_id != run.run_id

    @_refuse_if_unreachable()
    async def resume(self, key: ChatKey) -> RunReader | None:
        """Returns a reader of the running response, for a page that has nothing of its message; else ``None``."""
        with observed_resume(*key) as found:
            info = await self._wait_while(key, lambda run: run.phase == "claimed", _now() + self._limits.stop_timeout)
            if info is None or info.phase == "claimed" or not await self._is_ours(key):
                return None
            reader = await self._read(key, info.run_id, rebuild=True)
            if reader is not None:
                found(info.run_id, self._span_of(info.run_id))
            return reader

    @_refuse_if_unreachable()
    async def wait_until_settled(self, key: ChatKey) -> str | None:
        """Waits up to ``stop_timeout`` until a run of the chat that is stopping has ended and is stored. Waits as well
        until a request that waited for that has its run.

        Returns the idempotency key of the request that a run answers now; ``None`` if none was accepted.
        """
        deadline = _now() + self._limits.stop_timeout
        info = await self._run_log.current(self._name(key))
        if info is not None and info.phase != "open":
            info = await self._wait_while(key, _is_changing, deadline)
            if info is None:  # a request that waits for the chat has it after one pause
                await asyncio.sleep(MAX_PAUSE)
                info = await self._wait_while(key, _is_changing, deadline)
        return None if info is None or info.phase == "claimed" else info.idempotency_key

    @_refuse_if_unreachable()
    async def is_open(self, key: ChatKey) -> bool:
        """Return True if a response is being written in the chat, by a worker that lives."""
        run = await self._run_log.current(self._name(key))
        return run is not None and run.phase == "open" and run.healthy

    async def running(self, keys: Sequence[ChatKey]) -> set[ChatKey]:
        """Returns those of these chats in which a response is being written, whichever worker runs it.

        None if the run log cannot be reached: the list of chats can do without.
        """
        try:
            runs = await self._run_log.current_many([self._name(key) for key in keys])
        except RunLogError as error:
            logger.warning("No chat is listed as running: the run log cannot be reached: %s", error)
            return set()
        return {key for key, run in zip(keys, runs, strict=True) if run is not None and run.phase == "open"}

    @_refuse_if_unreachable()
    async def stop(self, key: ChatKey) -> bool:
        """Stops the run of this chat, whichever worker runs it. Returns whether there was one.

        A request that waits for the chat, at any worker, is stopped with it: see ``newest_stop``. A chat may be so new
        that another worker has not stored it yet: waits for that up to ``stop_timeout``.
        """
        ours = await self._is_ours(key)
        if not ours:
            await self._wait_while(key, lambda run: run.phase == "claimed", _now() + self._limits.stop_timeout)
            ours = await self._is_ours(key)
        return ours and await self._run_log.stop(self._name(key))

    @_refuse_if_unreachable()
    async def newest_stop(self, key: ChatKey) -> str:
        """Returns the id of the newest stop of the chat, at any worker; empty if there was none lately.

        A request that finds another one when it has the chat was stopped while it waited.
        """
        return await self._run_log.newest_stop(self._name(key))

    @_refuse_if_unreachable()
    async def stop_if_answering(self, key: ChatKey, idempotency_keys: Container[str]) -> None:
        """Stops the run of this chat, whichever worker runs it, if it answers one of these requests."""
        info = await self._run_log.current(self._name(key))
        if info is not None and info.idempotency_key in idempotency_keys:
            await self._run_log.stop(self._name(key), info.run_id)

    @_refuse_if_unreachable()
    async def not_accepted_yet(self, key: ChatKey) -> str | None:
        """Returns the id of the chat's run if its request is not accepted yet; else ``None``."""
        info = await self._run_log.current(self._name(key))
        return info.run_id if info is not None and info.phase == "claimed" else None

    @_refuse_if_unreachable()
    async def wait_until_accepted(self, key: ChatKey, run_id: str) -> None:
        """Waits up to ``stop_timeout`` until the request of this run is accepted, or the run is over."""
        deadline = _now() + self._limits.stop_timeout
        await self._wait_while(key, lambda run: run.run_id == run_id and run.phase != "open", deadline)

    @_refuse_if_unreachable()
    async def open_run(self, key: ChatKey) -> RunInfo | None:
        """Returns the run whose response is being written in the chat; ``None`` if there is none. Waits for a run whose
        request is not accepted yet."""
        info = await self._wait_while(key, lambda run: run.phase == "claimed", _now() + self._limits.stop_timeout)
        return info if info is not None and info.phase == "open" else None

    async def steer(self, key: ChatKey, run: RunInfo, message: UIMessage) -> Reply:
        """Gives a steering message to this run, whichever worker runs it. Raises ``ChatRequestError`` (503) if the run
        does not reply."""
        reply = await self._post(key, run, delivery(message), self._limits.stop_timeout)
        if reply is None or reply == "left":
            raise unreachable_refusal(RUN_LOG)
        return reply

    async def wait_until_taken_in(
        self, key: ChatKey, run: RunInfo, message_id: str, patience: float | None
    ) -> Reply | None:
        """Waits until the run takes in the message, or ends; ``None`` after ``patience`` seconds."""
        return await self._post(key, run, question(message_id), patience)

    @_refuse_if_unreachable()
    async def _post(self, key: ChatKey, run: RunInfo, post: bytes, patience: float | None) -> Reply | None:
        """Returns the reply of the run; ``finished`` if the run is over, ``None`` if it does not reply in time."""
        try:
            async with asyncio.timeout(patience):
                reply = await self._run_log.post(self._name(key), run.run_id, post)
        except TimeoutError:
            return None
        return "finished" if reply is None else cast("Reply", reply.decode())

    @_refuse_if_unreachable()
    async def read(self, key: ChatKey, run: RunInfo) -> RunReader | None:
        """Returns a reader of this run's response, for a client that has nothing of its message."""
        return await self._read(key, run.run_id, rebuild=True)

    @property
    def any_here(self) -> bool:
        """Return True if this worker has a run, or a request of its own holds a chat."""
        return bool(self._runs)

    @property
    def is_closed(self) -> bool:
        """True if ``close`` was called."""
        return self._closed

    def close(self) -> None:
        """Stops all runs of this worker, but leaves those to another worker that it can recover; later claims are
        refused."""
        self._closed = True
        for run in self._runs:
            if run.can_be_recovered:
                run.leave()
            else:
                run.stop()

    async def _claim(
        self, key: ChatKey, idempotency_key: str, *, chat_was_busy: bool, requested_at: float | None = None
    ) -> Claim | RunInfo:
        """Claims the chat, or returns the run that holds it."""
        run = Run(
            self._limits, self._run_log.bounds, self._times, chat_was_busy=chat_was_busy, requested_at=requested_at
        )
        self._refuse_if_closed()
        try:
            await run.claim(self._run_log, self._name(key), idempotency_key)
        except ChatTakenError as taken:
            return taken.run
        self._runs[run] = key
        if self._closed:  # while the chat was being claimed
            self._release(run)
            raise closing_refusal()
        return Claim(run, self._release, self._tasks)

    def _refuse_if_closed(self) -> None:
        if self._closed:
            raise closing_refusal()

    def _release(self, run: Run) -> None:
        """Ends the claim of this run. Frees its chat, unless another run has taken that."""
        key = self._runs.pop(run)
        run.release()
        if run.next_turn is not None and self._begin_turn is not None:
            self._begin_turn(key, run.next_turn)

    async def _taken(self, key: ChatKey, other: RunInfo, idempotency_key: str) -> Taken | None:
        """Returns the run of the chat, if it goes on or answers an equal request; ``None`` if its end is near."""
        if other.idempotency_key != idempotency_key:
            return Taken(other) if other.healthy and other.phase != "closed" else None
        if idempotency_key == DELETION or other.phase == "claimed":
            return None
        reader = await self._read(key, other.run_id)
        return None if reader is None else Taken(other, reader)

    async def _read(self, key: ChatKey, run_id: str, *, rebuild: bool = False) -> RunReader | None:
        return await self._run_log.read(
            self._name(key), run_id, rebuild=rebuild, runs_are_recovered=self._runs_are_recovered
        )

    async def _equal_run(self, key: ChatKey, idempotency_key: str) -> RunInfo:
        """The run of the chat. Raises ``ChatRequestError`` (503) if there is none, or if it answers another request."""
        run = await self._run_log.current(self._name(key))
        if run is None or run.idempotency_key != idempotency_key:
            raise closing_refusal()
        return run

    def _span_of(self, run_id: str) -> SpanContext | None:
        """The span of a run of this worker."""
        return next((run.observer.span_context for run in self._runs if run.id == run_id), None)

    async def _is_ours(self, key: ChatKey) -> bool:
        """Return True if the run of this chat is this deployment's. The run log may be shared with another deployment,
        which has sessions of its own. A response is open only after its session was stored. A run of this worker is
        ours before."""
        for run in [run for run, chat in self._runs.items() if chat == key]:
            if await run.holds_lease():
                return True
        return await self._chat_exists(key)

    async def _wait_while(
        self, key: ChatKey, goes_on: Callable[[RunInfo], bool], deadline: float, *, until_close: bool = False
    ) -> RunInfo | None:
        """Waits until the chat is free or this is true of its run no longer. Returns the run that the chat has then, or
        at the deadline. ``until_close``: raises ``ChatRequestError`` (503) after ``close``."""
        begun = _now()
        while True:
            if until_close:
                self._refuse_if_closed()
            run = await self._run_log.current(self._name(key))
            if run is None or not goes_on(run) or _now() >= deadline:
                return run
            await asyncio.sleep(min(max(MIN_PAUSE, (_now() - begun) / 10), MAX_PAUSE))

    def _name(self, key: ChatKey) -> str:
        return json.dumps([self._app_name, *key])


def _is_changing(run: RunInfo) -> bool:
    """Return True if the chat is about to have another run, or this run is about to have a response."""
    return run.phase != "open"


def _now() -> float:
    return asyncio.get_running_loop().time()
