"""One run at a time in a chat, within this process."""

import asyncio
from contextlib import suppress
from typing import Final, TypeAlias

from stream_protocol.serving.run import Run, RunLimits
from stream_protocol.wire.errors import ChatRequestError

ChatKey: TypeAlias = tuple[str, str]
"""User id, chat id."""

STOPPING_WAIT: Final = 10.0
"""Seconds that a request waits for a run of its chat that is stopping: somebody pressed stop and typed on."""


class ActiveRuns:
    """The chats in which something runs, or is about to. A chat that is free is not remembered."""

    def __init__(self, stopping_wait: float) -> None:
        self._stopping_wait = stopping_wait
        self._runs: dict[ChatKey, Run] = {}
        self._closed = False

    def __len__(self) -> int:
        return len(self._runs)

    def __contains__(self, key: ChatKey) -> bool:
        return key in self._runs

    def get(self, key: ChatKey) -> Run | None:
        """What runs in the chat."""
        return self._runs.get(key)

    async def claim(self, key: ChatKey, limits: RunLimits) -> Run:
        """A new run that has the chat to itself until ``release``.

        Waits for another run of the chat only if that one is stopping. Raises ``ChatRequestError`` (409) if it is not,
        or does not end in time, and (503) once everything is being closed.
        """
        clock = asyncio.get_running_loop().time
        deadline = clock() + self._stopping_wait
        while (other := self._runs.get(key)) is not None:
            if not other.stopping:
                raise ChatRequestError("This chat is still answering. Wait for the answer, or stop it.", status=409)
            await self._ended(other, deadline - clock())
        if self._closed:
            raise ChatRequestError("The server is shutting down.", status=503)
        run = self._runs[key] = Run(limits)
        return run

    async def settle(self, key: ChatKey) -> None:
        """Waits until a run of the chat that is stopping has ended and been stored, but not for ever."""
        run = self._runs.get(key)
        if run is not None and run.stopping:
            with suppress(TimeoutError):
                await asyncio.wait_for(run.ended.wait(), self._stopping_wait)

    def stop(self, key: ChatKey) -> None:
        """Stops what runs in this chat, if anything does."""
        if (run := self._runs.get(key)) is not None:
            run.stop()

    def release(self, key: ChatKey) -> None:
        """Makes the chat free again. Whoever waits to hear what its run does hears that it does nothing."""
        run = self._runs.pop(key)
        run.ended.set()
        if not run.planned.done():
            run.planned.set_result(None)

    def close(self) -> None:
        """Stops all runs and lets no new one begin."""
        self._closed = True
        for run in self._runs.values():
            run.stop()

    async def _ended(self, run: Run, seconds: float) -> None:
        try:
            await asyncio.wait_for(run.ended.wait(), max(seconds, 0))
        except TimeoutError:
            raise ChatRequestError("The last answer of this chat has not stopped yet. Try again.", status=409) from None
