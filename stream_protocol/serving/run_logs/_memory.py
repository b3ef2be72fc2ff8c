"""The run log of a single process."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from stream_protocol.serving.run_logs._event_buffer import LogBounds
from stream_protocol.serving.run_logs._run_log import ChatTakenError, RunInfo

if TYPE_CHECKING:
    from stream_protocol.serving.run_logs._event_buffer import RunReader
    from stream_protocol.serving.run_logs._run_log import Owner, Phase


class MemoryRunLog:
    """Keeps the responses that are being written in this process. A chat that is free is not remembered.

    For one worker: another one knows nothing of these runs, so it can neither resume nor stop them, nor keep two runs
    of a chat apart.
    """

    def __init__(self, bounds: LogBounds | None = None) -> None:
        self.bounds = bounds or LogBounds()
        self._leases: dict[str, _MemoryLease] = {}
        self._numbers = count(1)

    async def claim(self, chat: str, request: str, owner: Owner) -> _MemoryLease:
        """Gives the chat to a new run. Raises ``ChatTakenError``."""
        if (other := self._leases.get(chat)) is not None:
            raise ChatTakenError(other.info())
        lease = self._leases[chat] = _MemoryLease(self._leases, chat, str(next(self._numbers)), request, owner)
        return lease

    async def current(self, chat: str) -> RunInfo | None:
        """What runs in the chat."""
        lease = self._leases.get(chat)
        return None if lease is None else lease.info()

    async def read(self, chat: str, run_id: str, *, rebuild: bool = False) -> RunReader | None:
        """Reads a run's response; ``None`` if it is gone."""
        lease = self._leases.get(chat)
        return None if lease is None or lease.run_id != run_id else lease.owner.log.read(rebuild=rebuild)

    async def stop(self, chat: str) -> bool:
        """Stops what runs in the chat. Returns whether anything did."""
        lease = self._leases.get(chat)
        if lease is not None:
            lease.owner.stop()
        return lease is not None

    async def aclose(self) -> None:
        """Does nothing: what runs belongs to its owner."""


class _MemoryLease:
    """Nobody can lose it."""

    held = True
    watched_elsewhere = False

    def __init__(self, leases: dict[str, _MemoryLease], chat: str, run_id: str, request: str, owner: Owner) -> None:
        self.run_id = run_id
        self.owner = owner
        self._leases = leases
        self._chat = chat
        self._request = request
        self._open = False

    def info(self) -> RunInfo:
        phase: Phase = "closed" if self.owner.log.closed else "open" if self._open else "claimed"
        return RunInfo(run_id=self.run_id, request=self._request, phase=phase)

    def open(self) -> None:
        self._open = True

    def release(self) -> None:
        if self._leases.get(self._chat) is self:
            del self._leases[self._chat]
