"""Keeps each chat to one run at a time. Claims, resumes and stops runs: here, and through the run log elsewhere."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final, TypeAlias

from stream_protocol.serving._run import Run, RunLimits
from stream_protocol.serving.run_logs import ChatTakenError, RunLogError
from stream_protocol.wire import ChatRequestError, StreamProtocolError

if TYPE_CHECKING:
    from stream_protocol.serving.run_logs import RunInfo, RunLog, RunReader

logger = logging.getLogger(__name__)

ChatKey: TypeAlias = tuple[str, str]
"""User id, chat id."""

DELETION: Final = ""
"""The fingerprint with which a deletion claims a chat. A deletion has no response, so no request can read one."""

STOPPING_WAIT: Final = 10.0
"""Seconds that a request waits for a run of its chat that is stopping: the user pressed stop and sent the next text."""

POLL_SECONDS: Final = 0.03
"""The pause between two checks whether such a run has ended. It may be at another worker."""


def closing_refusal() -> ChatRequestError:
    """The refusal of a request that comes after ``close``."""
    return ChatRequestError("The server is shutting down.", status=503)


@asynccontextmanager
async def _refuse_if_unreachable() -> AsyncIterator[None]:
    """Refuses a request (503) if the run log cannot be reached: nobody knows what runs in its chat."""
    try:
        yield
    except RunLogError as error:
        logger.error("The run log cannot be reached: %s", error)  # noqa: TRY400 - the operator needs the reason, in a line
        raise ChatRequestError("The server cannot reach its chats just now. Try again.", status=503) from error


class ActiveRuns:
    """The runs of this worker, by chat; and through the run log those of other workers.

    ``stopping_wait``: seconds that a request waits for a run that is stopping. Raises ``StreamProtocolError`` unless it
    is 0 or more. Methods raise ``ChatRequestError`` (503) if the run log cannot be reached.
    """

    def __init__(self, app_name: str, run_log: RunLog, stopping_wait: float) -> None:
        if not stopping_wait >= 0:  # refuses NaN, too
            raise StreamProtocolError("`stopping_wait` must be 0 or more seconds.")
        self._app_name = app_name
        self._run_log = run_log
        self._stopping_wait = stopping_wait
        self._runs: set[Run] = set()
        """A chat may have two for a moment: one that has lost its lease and is ending, and its successor."""
        self._closed = False

    @_refuse_if_unreachable()
    async def claim(self, key: ChatKey, request: str, limits: RunLimits) -> Run | RunReader:
        """Returns a new run, which holds the chat until ``release``, or a reader if an equal request is being answered.

        Waits for another run of the chat only if that one is stopping, or its worker may be dead. Raises
        ``ChatRequestError``: 409 if the other run goes on or does not end in time, 503 after ``close``.
        """
        deadline = _now() + self._stopping_wait
        while True:
            try:
                return await self._claim(key, request, limits)
            except ChatTakenError as taken:
                other = taken.run
            same = other.request == request
            if same and request != DELETION and other.phase != "claimed":
                if (reader := await self._run_log.read(self._name(key), other.run_id)) is not None:
                    return reader
            elif other.healthy and other.phase != "closed" and not same:
                raise ChatRequestError("This chat is still answering. Wait for the answer, or stop it.", status=409)
            if not await self._wait_for_change(key, other, deadline):
                raise ChatRequestError("The last answer of this chat has not stopped yet. Try again.", status=409)

    @_refuse_if_unreachable()
    async def resume(self, key: ChatKey) -> RunReader | None:
        """Returns a reader of the running response, for a page that has nothing of its message; else ``None``."""
        info = await self._run_log.current(self._name(key))
        deadline = _now() + self._stopping_wait
        while info is not None and info.phase == "claimed" and _now() < deadline:
            await asyncio.sleep(POLL_SECONDS)
            info = await self._run_log.current(self._name(key))
        if info is None or info.phase == "claimed":
            return None
        return await self._run_log.read(self._name(key), info.run_id, rebuild=True)

    @_refuse_if_unreachable()
    async def wait_until_settled(self, key: ChatKey) -> str | None:
        """Waits up to ``stopping_wait`` until a run of the chat that is stopping has ended and is stored.

        Returns the fingerprint of the request that a run answers now; ``None`` if none was accepted.
        """
        deadline = _now() + self._stopping_wait
        while (info := await self._run_log.current(self._name(key))) is not None and info.phase == "closed":
            if _now() >= deadline:
                break
            await asyncio.sleep(POLL_SECONDS)
        return None if info is None or info.phase == "claimed" else info.request

    @_refuse_if_unreachable()
    async def stop(self, key: ChatKey) -> bool:
        """Stops the run of this chat, whichever worker runs it. Returns whether there was one."""
        return await self._run_log.stop(self._name(key))

    def release(self, run: Run) -> None:
        """Ends the claim of this run. Frees its chat, unless another run has taken that."""
        self._runs.remove(run)
        run.release()

    def close(self) -> None:
        """Stops all runs of this worker; later claims are refused."""
        self._closed = True
        for run in self._runs:
            run.stop()

    async def _claim(self, key: ChatKey, request: str, limits: RunLimits) -> Run:
        run = Run(limits, self._run_log.bounds)
        if not self._closed:
            await run.claim(self._run_log, self._name(key), request)
            self._runs.add(run)
        if self._closed:  # also while the chat was being claimed
            if run in self._runs:
                self.release(run)
            raise closing_refusal()
        return run

    async def _wait_for_change(self, key: ChatKey, run: RunInfo, deadline: float) -> bool:
        """Waits until the chat has another run, or none, or its run has changed. Returns ``False`` at the deadline."""
        while await self._run_log.current(self._name(key)) == run:
            if _now() >= deadline:
                return False
            await asyncio.sleep(POLL_SECONDS)
        return True

    def _name(self, key: ChatKey) -> str:
        return json.dumps([self._app_name, *key])


def _now() -> float:
    return asyncio.get_running_loop().time()
