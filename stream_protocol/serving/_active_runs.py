"""One run at a time in a chat, and who else may read it."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final, TypeAlias

from stream_protocol.serving._run import Run, RunLimits
from stream_protocol.serving.run_logs import ChatTakenError, EventBuffer, RunLogError
from stream_protocol.wire import ChatRequestError, StreamProtocolError

if TYPE_CHECKING:
    from stream_protocol.serving.run_logs import RunInfo, RunLog, RunReader

logger = logging.getLogger(__name__)

ChatKey: TypeAlias = tuple[str, str]
"""User id, chat id."""

DELETION: Final = ""
"""Stands for the fingerprint of a request where none is answered: there is nothing to read, so two wait their turn."""

STOPPING_WAIT: Final = 10.0
"""Seconds that a request waits for a run of its chat that is stopping: somebody pressed stop and typed on."""

POLL_SECONDS: Final = 0.03
"""How often is looked whether such a run has ended; it may be another worker's."""


@asynccontextmanager
async def _reachable() -> AsyncIterator[None]:
    """Without the log nobody knows what runs: nothing may begin then."""
    try:
        yield
    except RunLogError as error:
        logger.error("The run log cannot be had: %s", error)  # noqa: TRY400 - the operator needs the reason, in a line
        raise ChatRequestError("The server cannot reach its chats just now. Try again.", status=503) from error


class ActiveRuns:
    """The chats in which this worker runs something, or is about to, and what the log knows of other workers'."""

    def __init__(self, app_name: str, log: RunLog, stopping_wait: float) -> None:
        if not stopping_wait >= 0:  # so is NaN refused, too
            raise StreamProtocolError("`stopping_wait` must be 0 or more seconds.")
        self._app_name = app_name
        self._log = log
        self._stopping_wait = stopping_wait
        self._runs: dict[ChatKey, Run] = {}
        self._closed = False

    def __len__(self) -> int:
        return len(self._runs)

    def get(self, key: ChatKey) -> Run | None:
        """What this worker runs in the chat."""
        return self._runs.get(key)

    @_reachable()
    async def claim(self, key: ChatKey, request: str, limits: RunLimits) -> Run | RunReader:
        """A new run that has the chat to itself until ``release``; or what is written for a request that said the same.

        Waits for another run of the chat only if that one is stopping, or its worker perhaps dead. Raises
        ``ChatRequestError`` (409) if it is neither, or does not end in time, and (503) once everything is being closed.
        """
        deadline = _now() + self._stopping_wait
        while True:
            try:
                return await self._begin(key, request, limits)
            except ChatTakenError as taken:
                other = taken.run
            same = other.request == request
            if same and request != DELETION and other.phase != "claimed":
                if (reader := await self._log.read(self._name(key), other.run_id)) is not None:
                    return reader
            elif other.healthy and other.phase != "closed" and not same:
                raise ChatRequestError("This chat is still answering. Wait for the answer, or stop it.", status=409)
            if not await self._gone(key, other, deadline):
                raise ChatRequestError("The last answer of this chat has not stopped yet. Try again.", status=409)

    @_reachable()
    async def resume(self, key: ChatKey) -> RunReader | None:
        """The response that is being written in the chat, for a page that has nothing of its message."""
        info = await self._log.current(self._name(key))
        deadline = _now() + self._stopping_wait
        while info is not None and info.phase == "claimed" and _now() < deadline:
            await asyncio.sleep(POLL_SECONDS)
            info = await self._log.current(self._name(key))
        if info is None or info.phase == "claimed":
            return None
        return await self._log.read(self._name(key), info.run_id, rebuild=True)

    @_reachable()
    async def settled(self, key: ChatKey) -> bool:
        """Waits until a run of the chat that is stopping has ended and been stored, but not for ever.

        Returns whether one goes on that is not stopping.
        """
        deadline = _now() + self._stopping_wait
        while (info := await self._log.current(self._name(key))) is not None and info.phase == "closed":
            if _now() >= deadline:
                return True
            await asyncio.sleep(POLL_SECONDS)
        return info is not None

    @_reachable()
    async def stop(self, key: ChatKey) -> bool:
        """Stops what runs in this chat, whichever worker runs it. Returns whether anything does."""
        return await self._log.stop(self._name(key))

    def release(self, key: ChatKey) -> None:
        """Makes the chat free again."""
        self._runs.pop(key).release()

    def close(self) -> None:
        """Stops all runs of this worker and lets no new one begin."""
        self._closed = True
        for run in self._runs.values():
            run.stop()

    async def _begin(self, key: ChatKey, request: str, limits: RunLimits) -> Run:
        run = Run(limits, EventBuffer(self._log.bounds))
        if not self._closed:
            run.lease = await self._log.claim(self._name(key), request, run)
            self._runs[key] = run
        if self._closed:  # perhaps only by now
            if key in self._runs:
                self.release(key)
            raise ChatRequestError("The server is shutting down.", status=503)
        return run

    async def _gone(self, key: ChatKey, run: RunInfo, deadline: float) -> bool:
        """Waits until something else is true of the chat than that."""
        while await self._log.current(self._name(key)) == run:
            if _now() >= deadline:
                return False
            await asyncio.sleep(POLL_SECONDS)
        return True

    def _name(self, key: ChatKey) -> str:
        return json.dumps([self._app_name, *key])


def _now() -> float:
    return asyncio.get_running_loop().time()
