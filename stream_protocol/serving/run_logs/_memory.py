"""The run log for a server with one worker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from uuid import uuid4

from stream_protocol.serving.run_logs._run_log import ChatTakenError, LogBounds, RunInfo, check_bounds, phase_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stream_protocol.serving.run_logs._readers import RunReader
    from stream_protocol.serving.run_logs._run_log import RunHandle

MAX_STOPS: Final = 1_000
"""The maximum number of stop ids that are kept, one per chat. A client can also stop chats that have no run."""


class MemoryRunLog:
    """A ``RunLog`` in the memory of this process. Removes a response when its run has ended.

    Use this class only for a server with one worker. With several workers, a worker could not resume or stop the runs
    of another worker, and a chat could have two runs.
    """

    place = "memory"
    """The name of the store in process memory. For a shared store, ``SharedRunLog.place`` has the corresponding
    name."""

    def __init__(self, bounds: LogBounds | None = None) -> None:
        check_bounds(bounds)
        self.bounds = bounds or LogBounds()
        self._leases: dict[str, _MemoryLease] = {}
        self._stops: dict[str, str] = {}
        """The id of the newest stop of each chat, the oldest stop first."""

    async def claim(self, chat: str, idempotency_key: str, owner: RunHandle) -> _MemoryLease:
        if (other := self._leases.get(chat)) is not None:
            raise ChatTakenError(other.info())
        lease = self._leases[chat] = _MemoryLease(self._leases, chat, idempotency_key, owner, self._stops.get(chat, ""))
        return lease

    async def current(self, chat: str) -> RunInfo | None:
        lease = self._leases.get(chat)
        return None if lease is None else lease.info()

    async def current_many(self, chats: Sequence[str]) -> list[RunInfo | None]:
        return [await self.current(chat) for chat in chats]

    async def read(
        self,
        chat: str,
        run_id: str,
        *,
        rebuild: bool = False,
        runs_are_recovered: bool = False,
    ) -> RunReader | None:
        """Returns a reader of the response of a run; ``None`` if the run is no longer active."""
        lease = self._leases.get(chat)
        return None if lease is None or lease.run_id != run_id else lease.owner.log.read(rebuild=rebuild)

    async def written(self, chat: str, run_id: str) -> list[bytes]:
        """Returns an empty list, because the events of a dead process are lost."""
        return []

    async def stop(self, chat: str, run_id: str | None = None) -> bool:
        if run_id is None:
            self._note_stop(chat)
        lease = self._leases.get(chat)
        if lease is None or run_id not in (None, lease.run_id):
            return False
        lease.owner.stop()
        return True

    async def post(self, chat: str, run_id: str, post: bytes) -> bytes | None:
        lease = self._leases.get(chat)
        return None if lease is None or lease.run_id != run_id else await lease.owner.receive(post)

    async def newest_stop(self, chat: str) -> str:
        return self._stops.get(chat, "")

    def _note_stop(self, chat: str) -> None:
        self._stops.pop(chat, None)
        self._stops[chat] = uuid4().hex
        if len(self._stops) > MAX_STOPS:
            del self._stops[next(iter(self._stops))]

    async def ping(self) -> None:
        """Does nothing, because memory is always available."""

    async def aclose(self) -> None:
        """Does nothing, because there are no resources to free."""


class _MemoryLease:
    """The ``Lease`` of a run in this process. It is never lost."""

    held = True
    read_elsewhere = False

    def __init__(
        self, leases: dict[str, _MemoryLease], chat: str, idempotency_key: str, owner: RunHandle, newest_stop: str
    ) -> None:
        self.run_id = uuid4().hex
        self.newest_stop = newest_stop
        self.owner = owner
        self._leases = leases
        self._chat = chat
        self._idempotency_key = idempotency_key
        self._open = False

    def info(self) -> RunInfo:
        phase = phase_of(self.owner.log, is_open=self._open)
        return RunInfo(run_id=self.run_id, idempotency_key=self._idempotency_key, phase=phase)

    async def confirm(self) -> bool:
        return True

    def open(self) -> None:
        self._open = True

    def release(self) -> None:
        if self._leases.get(self._chat) is self:
            del self._leases[self._chat]
