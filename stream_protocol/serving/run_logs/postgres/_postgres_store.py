"""Stores the leases and events of runs in PostgreSQL. ``_statements`` describes the tables."""

from __future__ import annotations

import asyncio
import logging
import random
from contextlib import suppress
from contextvars import Context
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from uuid import uuid4
from weakref import WeakValueDictionary

from stream_protocol.serving.base import cancel_and_wait
from stream_protocol.serving.run_logs._run_log import STOP_SECONDS, ChatTakenError, RunInfo, RunLogError
from stream_protocol.serving.run_logs._run_store import (
    Entry,
    LeaseTimes,
    LeaseView,
    LogBatch,
    Post,
    Renewal,
    RunIdentity,
    Snapshot,
    chat_key,
    run_info,
)
from stream_protocol.serving.run_logs._shared_run_log import (
    EXPIRY_SECONDS,
    LEASE_SECONDS,
    MAX_PATIENCE,
    SharedRunLog,
    lease_times,
)
from stream_protocol.serving.run_logs.postgres import _statements as statements
from stream_protocol.serving.run_logs.postgres._batches import Batches
from stream_protocol.serving.run_logs.postgres._connections import Connections

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from stream_protocol.serving.run_logs._run_log import LogBounds, Phase

logger = logging.getLogger(__name__)

DEFAULT_PREFIX: Final = statements.PREFIX

ENTRIES_AT_ONCE: Final = 16
"""The maximum number of a run's log entries in one reply."""

SWEEP_SECONDS: Final = 30.0
"""The maximum number of seconds between two removals of expired rows. If logs are kept for a shorter time, that time
counts."""

SWEEP_ROWS: Final = 1000
"""The maximum number of rows that one statement removes from a table. A log with its entries counts as one row."""


class _Append(NamedTuple):
    run: RunIdentity
    token: int
    piece: LogBatch


class PostgresStore:
    """The connection of one worker to PostgreSQL. Implements ``RunStore``.

    ``patience``: the maximum number of seconds for a statement, without the wait for a connection. Raises
    ``StreamProtocolError`` for an unusable URL or prefix.
    """

    def __init__(self, url: str, *, prefix: str, patience: float, times: LeaseTimes) -> None:
        self.worker = uuid4().hex
        self._times = times
        self._connections = Connections(
            url,
            prefix=prefix,
            worker=self.worker,
            patience=patience,
            on_message=self._receive,
            on_gap=self._receive_gap,
        )
        self._appends = Batches(self._append_all, size=lambda item: len(item.piece.entry.events))
        self._reads = Batches(self._read_all, size=lambda _: 0)
        self._news: WeakValueDictionary[str, asyncio.Event] = WeakValueDictionary()
        """An ``asyncio.Event`` for each run id, which is set when the run has new entries."""
        self._requests: asyncio.Queue[str | None] = asyncio.Queue()
        """The items that ``renewal_requests`` yields."""
        self._sweep_task: asyncio.Task[None] | None = None

    @property
    def place(self) -> str:
        return self._connections.place

    async def ping(self) -> None:
        await self._connections.rows(statements.PING, urgent=True)

    async def aclose(self) -> None:
        tasks = [self._sweep_task] if self._sweep_task is not None else []
        await cancel_and_wait(tasks)
        await self._connections.aclose()

    async def claim(self, run: RunIdentity) -> int:
        arguments = (chat_key(run.chat), run.run_id, run.worker, run.idempotency_key)
        lifetimes = (self._times.lease_ms, self._times.token_ms)
        while True:
            claimed = await self._connections.row(statements.CLAIM, *arguments, *lifetimes)
            if claimed is not None:
                self._begin_to_sweep()
                return int(claimed["token"])
            for other in await self._connections.rows(statements.PEEK, [chat_key(run.chat)]):
                raise ChatTakenError(self._run_info(other))

    async def peek(self, chats: Sequence[str]) -> list[RunInfo | None]:
        if not chats:
            return []
        keys = [chat_key(chat) for chat in chats]
        found = {row["chat"]: self._run_info(row) for row in await self._connections.rows(statements.PEEK, keys)}
        return [found.get(key) for key in keys]

    async def renew(self, run: RunIdentity, token: int, phase: Phase) -> Renewal | None:
        arguments = (chat_key(run.chat), run.run_id, run.worker, run.idempotency_key, phase, token)
        lifetimes = (self._times.lease_ms, self._times.token_ms, self._times.log_ttl_ms)
        renewed = await self._connections.row(statements.RENEW, *arguments, *lifetimes, STOP_SECONDS, urgent=True)
        if renewed is None:
            return None
        posts = tuple(Post(post_id, content) for post_id, content in renewed["posts"])
        return Renewal(stop=renewed["stop"], readers=renewed["readers"], posts=posts)

    async def append(self, run: RunIdentity, token: int, piece: LogBatch) -> int | None:
        """Appends a batch to the log of the run. Concurrent calls for several runs share one SQL statement."""
        return await self._appends.add(_Append(run, token, piece))

    async def replace(self, run: RunIdentity, token: int, snapshot: Snapshot) -> int | None:
        arguments = (chat_key(run.chat), run.run_id, token, snapshot.compacted, snapshot.events, snapshot.past)
        replaced = await self._connections.row(statements.REPLACE, *arguments, self._times.log_ttl_ms)
        return None if replaced is None else int(replaced["stored"])

    async def free(self, run: RunIdentity) -> None:
        arguments = (chat_key(run.chat), run.run_id, self._connections.channels, self._times.log_retention_ms)
        await self._connections.rows(statements.FREE, *arguments)

    async def watch(self, chat: str, run_id: str, *, reads: bool) -> LeaseView:
        until_ms = self._times.lease_ms if reads else 0
        row = await self._connections.row(statements.WATCH, chat_key(chat), run_id, self.worker, until_ms)
        if row is None:
            raise RunLogError("PostgreSQL says nothing")
        return LeaseView(row["holder"], row["worker"], row["token"], row["available"])

    async def snapshot(self, chat: str, run_id: str) -> Snapshot:
        row = await self._connections.row(statements.HEAD, run_id)
        return Snapshot(0, b"", b"") if row is None else Snapshot(row["joined"], row["events"], row["past"])

    async def entries(self, chat: str, run_id: str, after: int, wait: float) -> list[Entry]:
        """Returns entries of the log of the run. Concurrent calls for several runs share one SQL statement."""
        news = self._news.setdefault(run_id, asyncio.Event())
        news.clear()
        entries = await self._reads.add((run_id, after))
        if not entries and wait:
            with suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await news.wait()
            entries = await self._reads.add((run_id, after))
        return entries

    async def stop(self, chat: str, run_id: str, stop_id: str) -> tuple[str, str] | None:
        row = await self._connections.row(statements.STOP, chat_key(chat), run_id, stop_id, STOP_SECONDS)
        return None if row is None else (row["run"], row["worker"])

    async def newest_stop(self, chat: str) -> str:
        row = await self._connections.row(statements.NEWEST_STOP, chat_key(chat))
        return "" if row is None else str(row["request"])

    async def post(self, chat: str, run_id: str, post: Post) -> str | None:
        arguments = (chat_key(chat), run_id, post.id, post.content, self._times.lease_ms)
        row = await self._connections.row(statements.POST, *arguments)
        return None if row is None else str(row["worker"])

    async def reply(self, chat: str, run_id: str, post_id: str, reply: bytes) -> None:
        await self._connections.rows(statements.REPLY, run_id, post_id, reply, self._times.lease_ms)

    async def reply_to(self, chat: str, run_id: str, post_id: str) -> bytes | None:
        row = await self._connections.row(statements.REPLY_TO, run_id, post_id)
        return None if row is None else bytes(row["reply"])

    async def request_renewal(self, worker: str, run_id: str) -> None:
        await self._connections.send(worker, f"renew {run_id}")

    async def renewal_requests(self) -> AsyncGenerator[str | None]:
        """Yields the ids of runs that must renew their leases now; ``None`` if requests may have got lost."""
        while True:
            yield await self._requests.get()

    def _receive(self, message: str) -> None:
        kind, _, run_id = message.partition(" ")
        if kind == "renew":
            self._requests.put_nowait(run_id)
        elif (news := self._news.get(run_id)) is not None:
            news.set()

    def _receive_gap(self) -> None:
        self._requests.put_nowait(None)
        for news in list(self._news.values()):
            news.set()

    async def _append_all(self, appends: Sequence[_Append]) -> list[int | None]:
        columns = zip(
            *(
                (
                    chat_key(run.chat),
                    run.run_id,
                    token,
                    piece.entry.after,
                    piece.entry.count,
                    piece.entry.events,
                    piece.entry.end,
                    b"" if piece.entry.after else piece.past,
                )
                for run, token, piece in appends
            ),
            strict=True,
        )
        settings = (self._connections.channels, self._times.log_ttl_ms)
        rows = await self._connections.rows(statements.APPEND, *columns, *settings)
        stored = {row["run"]: row["stored"] for row in rows}
        return [stored.get(each.run.run_id) for each in appends]

    async def _read_all(self, wanted: Sequence[tuple[str, int]]) -> list[list[Entry]]:
        runs, positions = zip(*wanted, strict=True)
        found: list[list[Entry]] = [[] for _ in wanted]
        for row in await self._connections.rows(statements.ENTRIES, runs, positions, ENTRIES_AT_ONCE):
            found[row["item"] - 1] += _entries(row)
        return found

    def _run_info(self, row: Any) -> RunInfo:
        return run_info(
            row["run"], row["request"], row["phase"], stop=row["stop"], left_ms=row["left_ms"], times=self._times
        )

    def _begin_to_sweep(self) -> None:
        if self._sweep_task is None:
            self._sweep_task = asyncio.create_task(self._sweep(), context=Context())

    async def _sweep(self) -> None:
        """Remove expired rows of all chats. Each worker does this, at random intervals."""
        interval = min(SWEEP_SECONDS, self._times.log_retention)
        while True:
            await asyncio.sleep(interval * random.uniform(0.5, 1))  # noqa: S311 - not a secret
            try:
                while (await self._connections.rows(statements.SWEEP, SWEEP_ROWS))[0][0] == SWEEP_ROWS:
                    pass
            except RunLogError as error:
                logger.warning("Old logs are not removed just now: %s", error)


def _entries(row: Any) -> list[Entry]:
    after, count, events, end = row["after"], row["count"], row["events"], row["ending"]
    return [
        *([Entry(after, count, events)] if count > after else ()),
        *([Entry(count, count, end=end)] if end else ()),
    ]


class PostgresRunLog(SharedRunLog):
    """Stores responses in PostgreSQL while they are written, so that every worker can resume and stop every run.

    ``url``: the address of the database for asyncpg, such as ``postgresql://user:password@host:5432/database``. The URL
    of ADK's ``DatabaseSessionService``, ``postgresql+asyncpg://…``, also works. The URL must be the address of the
    server itself, or of a pooler in session mode. PgBouncer in transaction mode does not work, because it does not
    deliver ``NOTIFY`` messages. PostgreSQL 12 or later is required.
    ``prefix``: beginning of the names of all tables and channels: up to 24 lower-case ASCII letters, digits and ``_``.
    Each deployment in a database needs its own prefix.
    ``lease``, ``expiry`` and ``bounds``: as in ``RedisRunLog``.

    The tables are created when they are first needed. No run starts while PostgreSQL is unreachable. Runs that have
    started survive an outage of less than a third of ``lease``. Raises ``StreamProtocolError`` for times that are not
    positive, and for an unusable URL or prefix.
    """

    def __init__(
        self,
        url: str,
        *,
        prefix: str = DEFAULT_PREFIX,
        lease: float = LEASE_SECONDS,
        expiry: float = EXPIRY_SECONDS,
        bounds: LogBounds | None = None,
    ) -> None:
        times = lease_times(lease, expiry)
        store = PostgresStore(url, prefix=prefix, patience=min(MAX_PATIENCE, lease), times=times)
        super().__init__(store, times, bounds)
