"""Provides ``ActiveRuns``, which lets a chat have only one active run."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Container, Sequence
from contextlib import asynccontextmanager
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Final

from stream_protocol.serving.base import RUN_LOG, closing_refusal, not_ended_refusal, unreachable_refusal
from stream_protocol.serving.run_logs import ChatTakenError, RunLogError
from stream_protocol.serving.runs._claim import Claim, Taken
from stream_protocol.serving.runs._run import Run
from stream_protocol.serving.runs._steering_posts import post
from stream_protocol.serving.telemetry import observed_resume

if TYPE_CHECKING:
    from stream_protocol.serving.base import RunSlot, ServiceLimits, ServiceTimes, Tasks
    from stream_protocol.serving.chats import ChatKey
    from stream_protocol.serving.run_logs import RunInfo, RunLog, RunReader
    from stream_protocol.serving.runs._steering_posts import NextTurn, Reply
    from stream_protocol.wire import ChatRequest

logger = logging.getLogger(__name__)

DELETION: Final = ""
"""The idempotency key with which a deletion claims a chat. A second deletion waits for the first, which has no response
to read."""

MIN_PAUSE, MAX_PAUSE = 0.001, 0.1
"""The limits of the pause between two polls of the run log, in seconds. The pause is a tenth of the time that the
request has waited."""


@asynccontextmanager
async def _refuse_if_unreachable() -> AsyncIterator[None]:
    """Context manager: refuse a request with status 503 if the run log is unreachable."""
    try:
        yield
    except RunLogError as error:
        logger.error("The run log cannot be reached: %s", error)  # noqa: TRY400 - the operator needs the reason, in a line
        raise unreachable_refusal(RUN_LOG) from error


class ActiveRuns:
    """The active runs of this worker, and access to the runs of other workers through the run log.

    ``chat_exists``: function that returns True if the session store of this deployment has the chat.
    ``runs_are_recovered``: True if an engine recovers the runs of dead workers. The clients that read a dead
    worker's run are then disconnected, so that they reconnect. Methods raise ``ChatRequestError`` (503) if the run log
    is unreachable.
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
        self._new_run = partial(Run, limits, run_log.bounds, times)
        self._chat_exists = chat_exists
        self._runs_are_recovered = runs_are_recovered
        self._runs: dict[Run, ChatKey] = {}
        """The runs of this worker, each with its chat. A chat may also have a run that has lost its lease and is
        ending."""
        self._closing = asyncio.Event()
        self._waits_until = inf
        """The event-loop time after which requests no longer wait for runs of other workers. Infinite until this worker
        shuts down."""
        self._patience_after_close = times.answering / 3
        self._begin_turn: Callable[[ChatKey, NextTurn], None] | None = None

    def begin_turns_with(self, begin_turn: Callable[[ChatKey, NextTurn], None]) -> None:
        """Sets the function ``begin_turn``. It is called for a steering message (a user message to an active run) that
        came too late, and begins a new run with this message.
        """
        self._begin_turn = begin_turn

    @_refuse_if_unreachable()
    async def claim(
        self,
        key: ChatKey,
        idempotency_key: str,
        waiting: RunSlot,
        *,
        request: ChatRequest | None = None,
        since_stop: str | None = None,
        begins_run: bool = True,
        requested_at: float | None = None,
    ) -> Claim | Taken:
        """Claims the chat for a new run. If the chat already has an active run, returns that run instead.

        If the active run is stopping, or its worker may be dead, first waits for the end of this run. Also waits if the
        session store lacks the chat, because the active run may belong to another deployment. ``waiting``: the slot of
        this request within the limit of waiting requests. At the limit, a request that must wait is refused (429, 503).

        ``request``: the request, or ``None`` to change the chat without a run. ``since_stop``: see ``Run``.
        ``begins_run``: False to search for an active run with this idempotency key, and not to begin a run.

        Raises ``ChatRequestError`` (503) if the active run does not end in time, or after ``close``. With
        ``begins_run=False``, also raises this error if no run with this key is active.
        """
        deadline = _now() + self._limits.stop_timeout
        # Read before the claim, because some run logs wait in `claim` for a run that is about to end.
        was_busy = await self._run_log.current(self._name(key)) is not None
        while True:
            if begins_run:
                run = self._new_run(since_stop=since_stop, chat_was_busy=was_busy, requested_at=requested_at)
                if request is not None:
                    run.continue_message(request)
                found = await self._claim(key, idempotency_key, run)
                if isinstance(found, Claim):
                    return found
                other = found
            else:
                current = await self._run_log.current(self._name(key))
                if current is None or current.idempotency_key != idempotency_key:
                    raise closing_refusal()
                other = current
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
        """Claims the chat for a new run. Returns ``None`` if the chat has an active run. Raises ``ChatRequestError``
        (503) after ``close``.
        """
        found = await self._claim(key, idempotency_key, self._new_run())
        return found if isinstance(found, Claim) else None

    @_refuse_if_unreachable()
    async def without_run(self, keys: Sequence[ChatKey]) -> set[ChatKey]:
        """Returns the chats that have no active run, in one round trip to the run log."""
        runs = await self._run_log.current_many([self._name(key) for key in keys])
        return {key for key, run in zip(keys, runs, strict=True) if run is None}

    async def written(self, key: ChatKey, run_id: str) -> list[bytes]:
        """Returns the SSE events that the run of a dead worker has written. Returns an empty list if the events are
        deleted, or if the run log is unreachable.
        """
        try:
            return await self._run_log.written(self._name(key), run_id)
        except RunLogError as error:
            logger.warning("The earlier part of a response is unknown: the run log cannot be reached: %s", error)
            return []

    @_refuse_if_unreachable()
    async def interrupt(self, key: ChatKey, run: RunInfo) -> None:
        """Stops a run on any worker, and waits until its end is stored. Raises ``ChatRequestError`` (503) if this takes
        longer than ``stop_timeout``, or if ``close`` was called.
        """
        self._refuse_if_closed()
        await self._run_log.stop(self._name(key), run.run_id)
        if not await self.wait_for_end(key, run, self._limits.stop_timeout):
            raise not_ended_refusal()

    @_refuse_if_unreachable()
    async def wait_for_end(self, key: ChatKey, run: RunInfo, patience: float | None) -> bool:
        """Waits until the end of a run is stored, but at most ``patience`` seconds (``None`` for no limit). Returns
        False if the run is still active. Raises ``ChatRequestError`` (503) when this worker shuts down.
        """
        deadline = inf if patience is None else _now() + patience
        left = await self._wait_while(key, lambda now: now.run_id == run.run_id, deadline, until_close=True)
        return left is None or left.run_id != run.run_id

    @_refuse_if_unreachable()
    async def resume(self, key: ChatKey) -> RunReader | None:
        """Returns a reader of the chat's running response, from its beginning; ``None`` if the chat has no running
        response.
        """
        with observed_resume(*key) as found:
            info = await self._accepted(key)
            if info is None or info.phase == "claimed" or not await self._is_ours(key):
                return None
            reader = await self.read(key, info.run_id)
            if reader is not None:
                here = (run.observer.span_context for run in self._runs if run.id == info.run_id)
                found(info.run_id, next(here, None))
            return reader

    @_refuse_if_unreachable()
    async def wait_until_settled(self, key: ChatKey) -> str | None:
        """Waits while a run of the chat is beginning or ending, but at most ``stop_timeout``.

        If the chat then has an active run, returns the idempotency key of the run's request. Returns ``None`` if the
        chat has no run, or if the request is not yet accepted.
        """
        deadline = _now() + self._limits.stop_timeout
        info = await self._run_log.current(self._name(key))
        if info is not None and info.phase != "open":
            info = await self._wait_while(key, lambda run: run.phase != "open", deadline)
            if info is None:  # a waiting request claims the chat within one pause
                await asyncio.sleep(MAX_PAUSE)
                info = await self._wait_while(key, lambda run: run.phase != "open", deadline)
        return None if info is None or info.phase == "claimed" else info.idempotency_key

    @_refuse_if_unreachable()
    async def is_open(self, key: ChatKey) -> bool:
        """Return True if the chat has a running response, and the worker of the run is alive."""
        run = await self._run_log.current(self._name(key))
        return run is not None and run.phase == "open" and run.healthy

    async def running(self, keys: Sequence[ChatKey]) -> set[ChatKey]:
        """Returns the chats with a running response, on any worker. Returns no chats if the run log is unreachable."""
        try:
            runs = await self._run_log.current_many([self._name(key) for key in keys])
        except RunLogError as error:
            logger.warning("No chat is listed as running: the run log cannot be reached: %s", error)
            return set()
        return {key for key, run in zip(keys, runs, strict=True) if run is not None and run.phase == "open"}

    @_refuse_if_unreachable()
    async def stop(self, key: ChatKey) -> RunInfo | None:
        """Stops the run of a chat, on any worker. Returns the ``RunInfo`` from before the stop, or ``None`` if the chat
        had no run.

        Also stops requests that wait for the chat. For a new chat, first waits up to ``stop_timeout`` until the chat is
        stored.
        """
        run = await self._run_log.current(self._name(key))
        if not await self._is_ours(key):
            await self._accepted(key)
            if not await self._is_ours(key):
                return None
        run = run or await self._run_log.current(self._name(key))
        await self._run_log.stop(self._name(key))
        return run

    @_refuse_if_unreachable()
    async def newest_stop(self, key: ChatKey) -> str:
        """Returns the id of the chat's newest stop, from any worker; an empty string if the chat was not stopped
        recently.
        """
        return await self._run_log.newest_stop(self._name(key))

    @_refuse_if_unreachable()
    async def stop_recovery(self, key: ChatKey, idempotency_keys: Container[str]) -> None:
        """Stops the active run of the chat if ``idempotency_keys`` contains the idempotency key of the run."""
        run = await self._run_log.current(self._name(key))
        if run is not None and run.idempotency_key in idempotency_keys:
            await self._run_log.stop(self._name(key), run.run_id)

    @_refuse_if_unreachable()
    async def wait_until_accepted(self, key: ChatKey, run_id: str) -> None:
        """Waits up to ``stop_timeout`` until the request of a run is accepted, or the run has ended."""
        deadline = _now() + self._limits.stop_timeout
        await self._wait_while(key, lambda run: run.run_id == run_id and run.phase != "open", deadline)

    @_refuse_if_unreachable()
    async def open_run(self, key: ChatKey) -> RunInfo | None:
        """Returns the active run of the chat if its response is running. First waits up to ``stop_timeout`` until the
        request of the run is accepted.
        """
        info = await self._accepted(key)
        return info if info is not None and info.phase == "open" else None

    @_refuse_if_unreachable()
    async def ask(self, key: ChatKey, run: RunInfo, content: bytes, patience: float | None) -> Reply | None:
        """Sends the bytes ``content`` to a run on any worker, and returns the reply of the run. Returns ``None`` if the
        run sends no reply within ``patience`` seconds. ``content``: the result of the function ``delivery`` or
        ``question``.
        """
        # `close` ends the runs of this worker. So a request waits for their replies even after `close`.
        closing = None if key in self._runs.values() else self._closing
        return await post(self._run_log, self._name(key), run, content, patience, closing)

    @_refuse_if_unreachable()
    async def read(self, key: ChatKey, run_id: str, *, rebuild: bool = True) -> RunReader | None:
        """Returns a reader of a run's whole response. ``rebuild``: see ``EventBuffer.read``."""
        return await self._run_log.read(
            self._name(key), run_id, rebuild=rebuild, runs_are_recovered=self._runs_are_recovered
        )

    @property
    def is_closed(self) -> bool:
        return self._closing.is_set()

    @property
    def any_here(self) -> bool:
        """True if this worker has an active run, or a request that has claimed a chat."""
        return bool(self._runs)

    def close(self) -> None:
        """Refuses all later claims. Runs of this worker that other workers can recover are left to these workers. All
        other runs of this worker are stopped.
        """
        self._closing.set()
        self._waits_until = _now() + self._patience_after_close
        for run in self._runs:
            if run.can_be_recovered:
                run.leave()
            else:
                run.stop()

    async def _claim(self, key: ChatKey, idempotency_key: str, run: Run) -> Claim | RunInfo:
        self._refuse_if_closed()
        try:
            await run.claim(self._run_log, self._name(key), idempotency_key)
        except ChatTakenError as taken:
            return taken.run
        self._runs[run] = key
        if self.is_closed:  # the worker was closed meanwhile
            self._release(run)
            raise closing_refusal()
        return Claim(run, self._release, self._tasks)

    def _refuse_if_closed(self) -> None:
        if self.is_closed:
            raise closing_refusal()

    def _release(self, run: Run) -> None:
        """End the lease of a run (its right to be the chat's only active run), so that the chat can have another run.
        If the run has a ``next_turn``, begin a run for it.
        """
        key = self._runs.pop(run)
        run.release()
        if run.next_turn is not None and self._begin_turn is not None:
            self._begin_turn(key, run.next_turn)

    async def _taken(self, key: ChatKey, other: RunInfo, idempotency_key: str) -> Taken | None:
        """Return the active run ``other`` as a ``Taken``, or ``None`` if the request must wait until this run ends."""
        if other.idempotency_key != idempotency_key:
            return Taken(other) if other.healthy and other.phase != "closed" else None
        if idempotency_key == DELETION or other.phase == "claimed":
            return None
        reader = await self.read(key, other.run_id, rebuild=False)
        return None if reader is None else Taken(other, reader)

    async def _is_ours(self, key: ChatKey) -> bool:
        """Return True if the active run of the chat belongs to this deployment.

        Deployments with separate session stores may share a run log. A run belongs to this deployment if the session
        store has the chat, or if this worker executes the run.
        """
        for run in [run for run, chat in self._runs.items() if chat == key]:
            if await run.holds_lease():
                return True
        return await self._chat_exists(key)

    async def _accepted(self, key: ChatKey) -> RunInfo | None:
        """Return the active run of the chat. First wait up to ``stop_timeout`` until the request of the run is
        accepted.
        """
        return await self._wait_while(key, lambda run: run.phase == "claimed", _now() + self._limits.stop_timeout)

    async def _wait_while(
        self, key: ChatKey, goes_on: Callable[[RunInfo], bool], deadline: float, *, until_close: bool = False
    ) -> RunInfo | None:
        """Wait while ``goes_on`` returns True for the run of the chat, but at most until ``deadline`` (a time of the
        event loop). Return the run that the chat has after the wait, or ``None``.

        After ``close``, wait only briefly for a run of another worker, then raise ``ChatRequestError`` (503). With
        ``until_close``, raise this error immediately after ``close``.
        """
        begun = _now()
        while True:
            if until_close:
                self._refuse_if_closed()
            run = await self._run_log.current(self._name(key))
            if run is None or not goes_on(run) or _now() >= deadline:
                return run
            if key not in self._runs.values() and _now() >= self._waits_until:
                raise closing_refusal()
            await asyncio.sleep(min(max(MIN_PAUSE, (_now() - begun) / 10), MAX_PAUSE))

    def _name(self, key: ChatKey) -> str:
        return json.dumps([self._app_name, *key])


def _now() -> float:
    return asyncio.get_running_loop().time()
