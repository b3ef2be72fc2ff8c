"""Simulated store of run logs, a model of Redis with ``_scripts``, and of PostgreSQL with its SQL.

``StoreServer`` has the data. Each of its methods is one atomic step. ``SimulatedStore`` is a worker's connection: a
``RunStore``. The conformance suite of run logs also tests it.
"""

from __future__ import annotations

import asyncio
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from stream_protocol.serving.run_logs import ChatTakenError, RunInfo, RunLogError
from stream_protocol.serving.run_logs._run_log import STOP_SECONDS
from stream_protocol.serving.run_logs._run_store import (
    BROKEN,
    Entry,
    LeaseTimes,
    LeaseView,
    LogBatch,
    Post,
    Renewal,
    RunIdentity,
    Snapshot,
    run_info,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Sequence

    from stream_protocol.serving.run_logs._run_log import Phase
    from tests.simulation.network import Network

T = TypeVar("T")

ENTRIES_AT_ONCE: Final = 16


@dataclass
class LeaseRow:
    """Lease of a chat."""

    run: RunIdentity
    token: int
    expires: float
    phase: Phase = "claimed"
    stop: bool = False


@dataclass
class LogRow:
    """Log of a run. ``entries``: each is an ``Entry``; the last may be the end."""

    count: int = 0
    end: str = ""
    compacted: int = 0
    joined: bytes = b""
    past: bytes = b""
    expires: float = 0.0
    entries: list[Entry] = field(default_factory=list)


@dataclass
class Tables:
    """All data that a fail-over may lose."""

    leases: dict[str, LeaseRow] = field(default_factory=dict)
    tokens: dict[str, tuple[int, float]] = field(default_factory=dict)
    """Chat -> newest token, and its expiry."""
    logs: dict[str, LogRow] = field(default_factory=dict)
    readers: dict[str, dict[str, float]] = field(default_factory=dict)
    """Run -> its readers, each with its expiry."""
    stops: dict[str, tuple[str, float]] = field(default_factory=dict)
    posts: dict[str, dict[str, Post]] = field(default_factory=dict)
    """Run -> id -> post without a reply."""
    replies: dict[tuple[str, str], bytes] = field(default_factory=dict)
    """Run and id -> reply."""

    def snapshot(self) -> Tables:
        """Return a copy."""
        return Tables(
            leases={chat: copy(row) for chat, row in self.leases.items()},
            tokens=dict(self.tokens),
            logs={run: replace(row, entries=list(row.entries)) for run, row in self.logs.items()},
            readers={run: dict(found) for run, found in self.readers.items()},
            stops=dict(self.stops),
            posts={run: dict(found) for run, found in self.posts.items()},
            replies=dict(self.replies),
        )


class StoreServer:
    """The store. ``now``: its clock. A fail-over loses channels and waiting readers."""

    def __init__(self, times: LeaseTimes, now: Callable[[], float]) -> None:
        self.tables = Tables()
        self._times = times
        self._now = now
        self._waiting: dict[str, list[asyncio.Future[list[Entry]]]] = {}
        """By run: the readers that wait for entries."""
        self.channels: dict[str, asyncio.Queue[str | None]] = {}
        """By worker."""
        self.has_joined_events = False
        """True after a run has replaced its entries by joined events."""

    def fail_over(self, replica: Tables) -> None:
        """Replace the data by a replica's, which lacks the newest writes."""
        self.tables = replica
        for run_id in list(self._waiting):
            self._wake(run_id)

    def holder(self, chat: str) -> LeaseRow | None:
        """Return the lease of the chat, if a run holds it."""
        row = self.tables.leases.get(chat)
        if row is not None and row.expires <= self._now():
            del self.tables.leases[chat]
            return None
        return row

    def claim(self, run: RunIdentity) -> int:
        row = self.holder(run.chat)
        if row is not None and row.run.run_id != run.run_id:
            raise ChatTakenError(self._info(row))
        if row is not None:
            return row.token
        token = max(self._newest(run.chat) + 1, round(self._now() * 1e6))
        self._keep_token(run.chat, token)
        self.tables.leases[run.chat] = LeaseRow(run, token, self._now() + self._times.lease)
        return token

    def peek(self, chats: Sequence[str]) -> list[RunInfo | None]:
        return [None if (row := self.holder(chat)) is None else self._info(row) for chat in chats]

    def renew(self, run: RunIdentity, token: int, phase: Phase) -> Renewal | None:
        row = self.holder(run.chat)
        if max(self._newest(run.chat), row.token if row else 0) > token:
            return None
        if row is None or row.run.run_id != run.run_id:
            _, kept_until = self.tables.stops.get(run.chat, ("", 0.0))
            stop = row is None and round((kept_until - STOP_SECONDS) * 1e6) > token
            row = self.tables.leases[run.chat] = LeaseRow(run, token, 0.0, stop=stop)
            self.tables.posts.pop(run.run_id, None)
        row.phase = "closed" if row.phase == "closed" else phase
        row.token = token
        row.expires = self._now() + self._times.lease
        self._keep_token(run.chat, token)
        if run.run_id in self.tables.logs:
            self.tables.logs[run.run_id].expires = self._now() + self._times.log_ttl_ms / 1000
        now = self._now()
        readers = [reader for reader, until in self.tables.readers.get(run.run_id, {}).items() if until > now]
        posts = tuple(self.tables.posts.get(run.run_id, {}).values())
        return Renewal(stop=row.stop, readers=len(readers), posts=posts)

    def append(self, run: RunIdentity, token: int, piece: LogBatch) -> int | None:
        row = self.holder(run.chat)
        if row is None or (row.run.run_id, row.token) != (run.run_id, token):
            return None
        log = self._log(run.run_id) or LogRow()
        entry = piece.entry
        if log.count != entry.after or log.end:
            return log.count
        self.tables.logs[run.run_id] = log
        if entry.events:
            log.entries.append(Entry(entry.after, entry.count, entry.events))
        if not log.count:
            log.past = piece.past
        log.count = entry.count
        if entry.end:
            log.end = entry.end
            log.entries.append(Entry(entry.count, entry.count, end=entry.end))
            row.phase = "closed" if row.phase == "open" else row.phase
        log.expires = self._now() + self._times.log_ttl_ms / 1000
        self._wake(run.run_id)
        return log.count

    def replace(self, run: RunIdentity, token: int, snapshot: Snapshot) -> int | None:
        row = self.holder(run.chat)
        if row is None or (row.run.run_id, row.token) != (run.run_id, token):
            return None
        self.has_joined_events = True
        log = self.tables.logs.setdefault(run.run_id, self._log(run.run_id) or LogRow())
        log.count = max(log.count, snapshot.compacted)
        log.compacted, log.joined, log.past = snapshot.compacted, snapshot.events, snapshot.past
        log.entries = [entry for entry in log.entries if entry.count > snapshot.compacted or entry.end]
        log.expires = self._now() + self._times.log_ttl_ms / 1000
        self._wake(run.run_id)
        return log.count

    def free(self, run: RunIdentity) -> None:
        row = self.holder(run.chat)
        if row is None or row.run.run_id != run.run_id:
            return
        del self.tables.leases[run.chat]
        self._keep_token(run.chat, row.token + 1)
        if (log := self._log(run.run_id)) is not None:
            if not log.end:
                log.end = BROKEN
                log.entries.append(Entry(log.count, log.count, end=BROKEN))
            log.expires = self._now() + self._times.log_retention
            self._wake(run.run_id)

    def watch(self, chat: str, run_id: str, reader: str, *, reads: bool) -> LeaseView:
        log, row = self._log(run_id), self.holder(chat)
        if row is not None and row.run.run_id == run_id:
            readers = self.tables.readers.setdefault(run_id, {})
            if reads:
                readers[reader] = self._now() + self._times.lease
            else:
                readers.pop(reader, None)
        available = None if log is None else log.count
        if row is None:
            return LeaseView("", "", 0, available)
        return LeaseView(row.run.run_id, row.run.worker, row.token, available)

    def snapshot(self, run_id: str) -> Snapshot:
        log = self._log(run_id)
        return Snapshot(0, b"", b"") if log is None else Snapshot(log.compacted, log.joined, log.past)

    def entries(self, run_id: str, after: int, wait: float) -> list[Entry] | asyncio.Future[list[Entry]]:
        found = self._found(run_id, after)
        if found or not wait:
            return found
        loop = asyncio.get_running_loop()
        late: asyncio.Future[list[Entry]] = loop.create_future()
        woken: asyncio.Future[list[Entry]] = loop.create_future()
        self._waiting.setdefault(run_id, []).append(woken)
        timer = loop.call_later(wait, _wake, woken)

        def give(_: asyncio.Future[list[Entry]]) -> None:
            timer.cancel()
            self._waiting[run_id].remove(woken)
            if not late.done():
                late.set_result(self._found(run_id, after))

        woken.add_done_callback(give)
        return late

    def stop(self, chat: str, run_id: str, stop_id: str) -> tuple[str, str] | None:
        if stop_id:
            self.tables.stops[chat] = stop_id, self._now() + STOP_SECONDS
        row = self.holder(chat)
        if row is None or run_id not in ("", row.run.run_id):
            return None
        row.stop = True
        return row.run.run_id, row.run.worker

    def newest_stop(self, chat: str) -> str:
        stop_id, until = self.tables.stops.get(chat, ("", 0.0))
        return stop_id if until > self._now() else ""

    def post(self, chat: str, run_id: str, post: Post) -> str | None:
        row = self.holder(chat)
        if row is None or row.run.run_id != run_id:
            return None
        if (run_id, post.id) not in self.tables.replies:
            self.tables.posts.setdefault(run_id, {}).setdefault(post.id, post)
        return row.run.worker

    def reply(self, run_id: str, post_id: str, reply: bytes) -> None:
        self.tables.posts.get(run_id, {}).pop(post_id, None)
        self.tables.replies[run_id, post_id] = reply

    def reply_to(self, run_id: str, post_id: str) -> bytes | None:
        return self.tables.replies.get((run_id, post_id))

    def publish(self, worker: str, run_id: str) -> None:
        if worker in self.channels:
            self.channels[worker].put_nowait(run_id)

    def _found(self, run_id: str, after: int) -> list[Entry]:
        """Return the entries after this position, as ``XREAD``. The end comes after all events."""
        log = self._log(run_id)
        if log is None:
            return []
        return [entry for entry in log.entries if entry.count > after or entry.end][:ENTRIES_AT_ONCE]

    def _log(self, run_id: str) -> LogRow | None:
        log = self.tables.logs.get(run_id)
        return log if log is not None and log.expires > self._now() else None

    def _info(self, row: LeaseRow) -> RunInfo:
        left_ms = (row.expires - self._now()) * 1000
        run = row.run
        return run_info(run.run_id, run.idempotency_key, row.phase, stop=row.stop, left_ms=left_ms, times=self._times)

    def _newest(self, chat: str) -> int:
        token, until = self.tables.tokens.get(chat, (0, 0.0))
        return token if until > self._now() else 0

    def _keep_token(self, chat: str, token: int) -> None:
        self.tables.tokens[chat] = token, self._now() + self._times.token_ms / 1000

    def _wake(self, run_id: str) -> None:
        for waiting in self._waiting.get(run_id, ()):
            _wake(waiting)


def _wake(waiting: asyncio.Future[list[Entry]]) -> None:
    if not waiting.done():
        waiting.set_result([])


class SimulatedStore:
    """Connection of one worker to the store: a ``RunStore``. ``number``: the worker's. ``name``: a unique id."""

    place = "simulated"

    def __init__(self, server: StoreServer, network: Network, number: int, name: str) -> None:
        self.worker = name
        self._server = server
        self._network = network
        self._number = number
        self._channel: asyncio.Queue[str | None] = asyncio.Queue()
        server.channels[name] = self._channel

    async def ping(self) -> None:
        await self._ask("ping", lambda: None)

    async def aclose(self) -> None:
        """Do nothing: there is no connection."""

    async def claim(self, run: RunIdentity) -> int:
        return await self._ask(f"claim {run.run_id}", partial(self._server.claim, run))

    async def peek(self, chats: Sequence[str]) -> list[RunInfo | None]:
        return await self._ask("peek", partial(self._server.peek, chats)) if chats else []

    async def renew(self, run: RunIdentity, token: int, phase: Phase) -> Renewal | None:
        return await self._ask(f"renew {run.run_id} {phase}", partial(self._server.renew, run, token, phase))

    async def append(self, run: RunIdentity, token: int, piece: LogBatch) -> int | None:
        entry = piece.entry
        name = f"append {run.run_id} {entry.after}-{entry.count} {entry.end}"
        return await self._ask(name, partial(self._server.append, run, token, piece))

    async def replace(self, run: RunIdentity, token: int, snapshot: Snapshot) -> int | None:
        return await self._ask(f"replace {run.run_id}", partial(self._server.replace, run, token, snapshot))

    async def free(self, run: RunIdentity) -> None:
        return await self._ask(f"free {run.run_id}", partial(self._server.free, run))

    async def watch(self, chat: str, run_id: str, *, reads: bool) -> LeaseView:
        return await self._ask(
            f"watch {run_id} {reads}", partial(self._server.watch, chat, run_id, self.worker, reads=reads)
        )

    async def snapshot(self, chat: str, run_id: str) -> Snapshot:
        return await self._ask(f"snapshot {run_id}", partial(self._server.snapshot, run_id))

    async def entries(self, chat: str, run_id: str, after: int, wait: float) -> list[Entry]:
        return await self._ask(f"entries {run_id} {after}", partial(self._server.entries, run_id, after, wait))

    async def stop(self, chat: str, run_id: str, stop_id: str) -> tuple[str, str] | None:
        return await self._ask(f"stop {run_id} {stop_id}", partial(self._server.stop, chat, run_id, stop_id))

    async def newest_stop(self, chat: str) -> str:
        return await self._ask("newest stop", partial(self._server.newest_stop, chat))

    async def post(self, chat: str, run_id: str, post: Post) -> str | None:
        return await self._ask(f"post {run_id} {post.id}", partial(self._server.post, chat, run_id, post))

    async def reply(self, chat: str, run_id: str, post_id: str, reply: bytes) -> None:
        await self._ask(f"reply {run_id} {post_id}", partial(self._server.reply, run_id, post_id, reply))

    async def reply_to(self, chat: str, run_id: str, post_id: str) -> bytes | None:
        return await self._ask(f"reply to {run_id} {post_id}", partial(self._server.reply_to, run_id, post_id))

    async def request_renewal(self, worker: str, run_id: str) -> None:
        await self._ask(f"request renewal {run_id}", partial(self._server.publish, worker, run_id))

    async def renewal_requests(self) -> AsyncGenerator[str | None]:
        while True:
            yield await self._channel.get()

    async def _ask(self, name: str, command: Callable[[], T | asyncio.Future[T]]) -> T:
        return await self._network.ask("run log", self._number, name, command, RunLogError)
