"""A store for run logs, made of the public names alone: a few dictionaries that all workers share."""

import asyncio
from collections.abc import AsyncGenerator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from time import monotonic
from typing import Final
from uuid import uuid4

from stream_protocol.serving.run_logs import (
    BROKEN,
    STOP_SECONDS,
    ChatTakenError,
    Entry,
    LeaseTimes,
    LeaseView,
    LogBatch,
    Phase,
    Post,
    Renewal,
    RunIdentity,
    RunInfo,
    RunStore,
    Snapshot,
    run_info,
)

TIMES: Final = LeaseTimes(lease=3.0, log_retention=60.0)


@dataclass
class StoredLease:
    run: RunIdentity
    token: int
    phase: Phase = "claimed"
    stop: bool = False
    until: float = 0.0


@dataclass
class StoredLog:
    count: int = 0
    entries: list[Entry] = field(default_factory=list)
    snapshot: Snapshot = field(default_factory=lambda: Snapshot(0, b"", b""))
    readers: dict[str, float] = field(default_factory=dict)
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def has_ended(self) -> bool:
        return any(entry.end for entry in self.entries)

    def wake(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()


@dataclass
class Shared:
    """The data of all workers. It forgets nothing, as a test takes only seconds."""

    leases: dict[str, StoredLease] = field(default_factory=dict)
    newest: dict[str, int] = field(default_factory=dict)
    logs: dict[str, StoredLog] = field(default_factory=dict)
    stops: dict[str, tuple[str, int, float]] = field(default_factory=dict)
    """Chat -> the id of its newest stop, the token at that time, and the end of its validity."""
    posts: dict[str, dict[str, Post]] = field(default_factory=dict)
    replies: dict[tuple[str, str], bytes] = field(default_factory=dict)
    requests: dict[str, asyncio.Queue[str | None]] = field(default_factory=dict)
    tokens: Iterator[int] = field(default_factory=lambda: count(1))

    def lease(self, chat: str) -> StoredLease | None:
        lease = self.leases.get(chat)
        return lease if lease is not None and lease.until > monotonic() else None

    def held_by(self, run: RunIdentity, token: int) -> bool:
        lease = self.lease(run.chat)
        return lease is not None and (lease.run.run_id, lease.token) == (run.run_id, token)


class DictStore(RunStore):
    """The connection of one worker."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._worker = uuid4().hex
        shared.requests[self._worker] = asyncio.Queue()

    @property
    def worker(self) -> str:
        return self._worker

    @property
    def place(self) -> str:
        return "dictionaries"

    async def ping(self) -> None: ...

    async def aclose(self) -> None: ...

    async def claim(self, run: RunIdentity) -> int:
        lease = self._shared.lease(run.chat)
        if lease is not None and lease.run != run:
            raise ChatTakenError(_info(lease))
        lease = lease or StoredLease(run, next(self._shared.tokens))
        self._keep(run.chat, lease)
        return lease.token

    async def peek(self, chats: Sequence[str]) -> list[RunInfo | None]:
        leases = [self._shared.lease(chat) for chat in chats]
        return [None if lease is None else _info(lease) for lease in leases]

    async def renew(self, run: RunIdentity, token: int, phase: Phase) -> Renewal | None:
        if self._shared.newest[run.chat] > token:
            return None
        lease = self._shared.lease(run.chat)
        if lease is None or lease.run != run:
            _, stopped_at, until = self._shared.stops.get(run.chat, ("", 0, 0.0))
            is_stopped = lease is None and until > monotonic() and stopped_at > token
            lease = StoredLease(run, token, stop=is_stopped)
        lease.phase = "closed" if lease.phase == "closed" else phase
        self._keep(run.chat, lease)
        log = self._shared.logs.get(run.run_id, StoredLog())
        readers = [until for until in log.readers.values() if until > monotonic()]
        posts = tuple(self._shared.posts.get(run.run_id, {}).values())
        return Renewal(stop=lease.stop, readers=len(readers), posts=posts)

    async def append(self, run: RunIdentity, token: int, piece: LogBatch) -> int | None:
        if not self._shared.held_by(run, token):
            return None
        log, entry = self._shared.logs.setdefault(run.run_id, StoredLog()), piece.entry
        if log.count != entry.after or log.has_ended:
            return log.count
        if not log.count:
            log.snapshot = Snapshot(0, b"", piece.past)
        if entry.events:
            log.entries.append(replace(entry, end=""))
        if entry.end:
            log.entries.append(Entry(entry.count, entry.count, end=entry.end))
            lease = self._shared.leases[run.chat]
            lease.phase = "closed" if lease.phase == "open" else lease.phase
        log.count = entry.count
        log.wake()
        return log.count

    async def replace(self, run: RunIdentity, token: int, snapshot: Snapshot) -> int | None:
        if not self._shared.held_by(run, token):
            return None
        log = self._shared.logs.setdefault(run.run_id, StoredLog())
        log.snapshot, log.count = snapshot, max(log.count, snapshot.compacted)
        log.entries = [entry for entry in log.entries if entry.count > snapshot.compacted or entry.end]
        log.wake()
        return log.count

    async def free(self, run: RunIdentity) -> None:
        lease = self._shared.lease(run.chat)
        if lease is None or lease.run != run:
            return
        del self._shared.leases[run.chat]
        self._shared.newest[run.chat] = next(self._shared.tokens)
        if (log := self._shared.logs.get(run.run_id)) is not None and not log.has_ended:
            log.entries.append(Entry(log.count, log.count, end=BROKEN))
            log.wake()

    async def watch(self, chat: str, run_id: str, *, reads: bool) -> LeaseView:
        lease, log = self._shared.lease(chat), self._shared.logs.get(run_id)
        if lease is not None and lease.run.run_id == run_id:
            log = log or self._shared.logs.setdefault(run_id, StoredLog())
            log.readers[self.worker] = monotonic() + TIMES.lease if reads else 0.0
        available = None if log is None else log.count
        if lease is None:
            return LeaseView("", "", 0, available)
        return LeaseView(lease.run.run_id, lease.run.worker, lease.token, available)

    async def snapshot(self, chat: str, run_id: str) -> Snapshot:
        return self._shared.logs.get(run_id, StoredLog()).snapshot

    async def entries(self, chat: str, run_id: str, after: int, wait: float) -> list[Entry]:
        log = self._shared.logs.get(run_id, StoredLog())
        if not (found := _after(log, after)) and wait:
            await asyncio.wait([asyncio.ensure_future(log.changed.wait())], timeout=wait)
            found = _after(log, after)
        return found

    async def stop(self, chat: str, run_id: str, stop_id: str) -> tuple[str, str] | None:
        if stop_id:
            self._shared.stops[chat] = stop_id, next(self._shared.tokens), monotonic() + STOP_SECONDS
        lease = self._shared.lease(chat)
        if lease is None or run_id not in ("", lease.run.run_id):
            return None
        lease.stop = True
        return lease.run.run_id, lease.run.worker

    async def newest_stop(self, chat: str) -> str:
        stop_id, _, until = self._shared.stops.get(chat, ("", 0, 0.0))
        return stop_id if until > monotonic() else ""

    async def post(self, chat: str, run_id: str, post: Post) -> str | None:
        lease = self._shared.lease(chat)
        if lease is None or lease.run.run_id != run_id:
            return None
        if (run_id, post.id) not in self._shared.replies:
            self._shared.posts.setdefault(run_id, {})[post.id] = post
        return lease.run.worker

    async def reply(self, chat: str, run_id: str, post_id: str, reply: bytes) -> None:
        self._shared.posts.get(run_id, {}).pop(post_id, None)
        self._shared.replies[run_id, post_id] = reply

    async def reply_to(self, chat: str, run_id: str, post_id: str) -> bytes | None:
        return self._shared.replies.get((run_id, post_id))

    async def request_renewal(self, worker: str, run_id: str) -> None:
        if worker in self._shared.requests:
            self._shared.requests[worker].put_nowait(run_id)

    async def renewal_requests(self) -> AsyncGenerator[str | None]:
        while True:
            yield await self._shared.requests[self.worker].get()

    def _keep(self, chat: str, lease: StoredLease) -> None:
        lease.until = monotonic() + TIMES.lease
        self._shared.leases[chat] = lease
        self._shared.newest[chat] = lease.token


def _after(log: StoredLog, after: int) -> list[Entry]:
    return [entry for entry in log.entries if entry.count > after or entry.end]


def _info(lease: StoredLease) -> RunInfo:
    run, left_ms = lease.run, (lease.until - monotonic()) * 1000
    return run_info(run.run_id, run.idempotency_key, lease.phase, stop=lease.stop, left_ms=left_ms, times=TIMES)
