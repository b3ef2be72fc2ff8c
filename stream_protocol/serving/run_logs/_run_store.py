"""The interface of a store that all workers of a run log share. The store keeps leases, the events of runs, and
messages between workers. A chat is free if no run holds the chat's lease.

Each method is one atomic step, and may be repeated, for example if the reply got lost. Each method raises
``RunLogError`` if the store cannot be reached, or takes too long.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Final, Protocol, cast

from stream_protocol.serving.run_logs._run_log import RunInfo
from stream_protocol.wire import check_seconds

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from stream_protocol.serving.run_logs._run_log import Phase

RENEWALS: Final = 3
"""The number of renewals per lease time."""

RETRY_SECONDS: Final = 0.1
"""The pause after a failed command, in seconds."""

WHOLE: Final = "whole"
"""The value of ``Entry.end`` at the end of a complete log."""

BROKEN: Final = "broken"
"""The value of ``Entry.end`` at the end of a log that lacks its last events. The run's worker has given up the run."""


@dataclass(frozen=True, kw_only=True)
class LeaseTimes:
    """The lifetimes of leases and logs. Raises ``StreamProtocolError`` unless they are positive.

    Values whose names end in ``_ms`` are in milliseconds, all others in seconds.

    Times after the last renewal of a lease:

    * after 1/3 of ``lease`` its worker renews it;
    * after 1/2 of ``lease`` the renewal is late, and the run counts as unhealthy;
    * after 2/3 of ``lease`` its worker starts no more tools or model calls;
    * after 5/6 of ``lease`` its worker gives up the run, so that the run has ended when the store frees the chat. Until
      then, the worker has tried to renew the lease for 1/2 of ``lease``. If it was too busy to try, it keeps the lease,
      unless another run has the chat;
    * after ``lease`` the store frees the chat;
    * after 3 times ``lease`` a worker no longer takes the lease back;
    * after 4 times ``lease`` the store forgets the chat's newest token.
    """

    lease: float
    """The time from the last renewal of a lease until the store frees the chat."""
    log_retention: float
    """The time for which the events of a run are kept after the end of the run."""

    def __post_init__(self) -> None:
        check_seconds("lease", self.lease)
        check_seconds("log_retention", self.log_retention)

    @property
    def renewal_interval(self) -> float:
        """The time between two renewals of a lease."""
        return self.lease / RENEWALS

    @property
    def lease_ms(self) -> int:
        return _milliseconds(self.lease)

    @property
    def healthy_ms(self) -> int:
        """The minimum remaining time of a lease. If less time remains, the renewal is late."""
        return _milliseconds(self.lease / 2)

    @property
    def valid_without_renewal(self) -> float:
        """The time for which a worker relies on a lease that it cannot renew. Readers wait equally long for a worker
        that seems dead."""
        return self.lease * 2 / 3

    @property
    def time_to_renew(self) -> float:
        """The time for which a worker tries to renew its lease before it gives up the run.

        So a run survives if the store is unreachable for less than a third of a lease. With a lease of 15 s, a command
        without a reply fails after a fifth of the lease, so the worker can send three.
        """
        return self.lease / 2

    @property
    def recoverable(self) -> float:
        """The time after the last renewal of a lease in which its worker can take back the expired lease. The store
        keeps the token of a newer run for longer, so the worker cannot take the chat from that run."""
        return self.lease * 3

    @property
    def token_ms(self) -> int:
        """The time for which the store keeps the newest fencing token of a chat."""
        return _milliseconds(self.lease * 4)

    @property
    def log_ttl_ms(self) -> int:
        """The time for which the store keeps the events of a run whose lease is no longer renewed."""
        return _milliseconds(self.lease + self.log_retention)

    @property
    def log_retention_ms(self) -> int:
        return _milliseconds(self.log_retention)


@dataclass(frozen=True, kw_only=True)
class RunIdentity:
    """The fields of a run that never change."""

    chat: str
    run_id: str
    worker: str
    """The id of the worker that executes the run."""
    idempotency_key: str
    """The key of the request that started the run."""


@dataclass(frozen=True)
class Post:
    """A message that a request sends to a run of another worker."""

    id: str
    """A hash of the content."""
    content: bytes

    @classmethod
    def of(cls, content: bytes) -> Post:
        """Returns a ``Post`` with the bytes ``content``."""
        return cls(sha256(content).hexdigest()[:32], content)


@dataclass(frozen=True)
class Renewal:
    """The store's reply to a run that renews its lease."""

    stop: bool
    """True if a client asked the run to stop."""
    readers: int
    """The number of other workers that read the run."""
    posts: tuple[Post, ...] = ()
    """The messages to which the run has not yet replied."""


@dataclass(frozen=True)
class LeaseView:
    """The store's reply to a worker that reads a run."""

    holder: str
    """The id of the run that holds the chat's lease; empty if the chat is free."""
    worker: str
    """The id of the worker of the run that holds the lease; empty if the chat is free."""
    token: int
    """The fencing token of the run that holds the lease; 0 if the chat is free."""
    available: int | None
    """The number of stored events of the run that the worker reads; ``None`` if the store has no log of that run."""


@dataclass(frozen=True)
class Snapshot:
    """The stored data of a run that a reader needs before the first ``Entry``."""

    compacted: int
    """The number of original events that ``events`` contains in joined form. These events are no longer in entries. 0
    if no events were joined."""
    events: bytes
    """The oldest events of the run, joined into longer events; empty if no events were joined."""
    past: bytes
    """SSE events with the earlier content of the message that the response continues: see ``EventBuffer.past``."""


@dataclass(frozen=True)
class Entry:
    """One entry of a run's stored log: some SSE events, or the end of the log."""

    after: int
    """The number of events before this entry."""
    count: int
    """The number of events up to the end of this entry."""
    events: bytes = b""
    end: str = ""
    """``WHOLE`` or ``BROKEN`` if the log ends here, otherwise empty."""


@dataclass(frozen=True, kw_only=True)
class LogBatch:
    """The data that a worker adds to the stored log of a run in one step."""

    entry: Entry
    """The entry with the added events. The last entry of a run also marks the end of the log, and may have no
    events."""
    past: bytes
    """SSE events with the earlier content of the message that the response continues: see ``EventBuffer.past``."""


class RunStore(Protocol):
    """Interface of one worker's connection to the store of a ``SharedRunLog``. A new store needs a class with this
    interface.

    Each run of a chat has a fencing token, a number that is greater than those of earlier runs. The store refuses
    commands of a run whose token is not the chat's newest token.
    """

    @property
    def worker(self) -> str:
        """The id of this worker."""

    @property
    def place(self) -> str:
        """The store's address, with the password removed, and the prefix of the names in the store."""

    async def ping(self) -> None:
        """Writes to the store, to check that the store works."""

    async def aclose(self) -> None:
        """Closes the connections."""

    async def claim(self, run: RunIdentity) -> int:
        """Gives the chat to a run. Returns the run's fencing token. If another run holds the lease, raises
        ``ChatTakenError`` with the ``run_info`` of that run."""

    async def peek(self, chats: Sequence[str]) -> list[RunInfo | None]:
        """For each chat, returns the ``run_info`` of the run that holds the chat's lease; ``None`` for a free chat."""

    async def renew(self, run: RunIdentity, token: int, phase: Phase) -> Renewal | None:
        """Renews a lease. Returns ``None`` if a newer run has taken the chat.

        If the store has lost the lease, writes the lease again, even over the lease of an older run. A request to stop
        only the older run does not stop this run. A request to stop the chat's active run stops this run, if the
        request came while the lease was lost. A stored phase ``closed`` is not replaced by another phase. From now on,
        the run's events are kept for the sum of ``LeaseTimes.lease`` and ``LeaseTimes.log_retention``.
        """

    async def append(self, run: RunIdentity, token: int, piece: LogBatch) -> int | None:
        """Appends a batch to the run's log. Returns the number of events in the log, or ``None`` if the run does not
        hold the lease.

        Appends nothing if the log has an end, or if its number of events is not ``piece.entry.after``. The end of the
        log changes the phase ``open`` to ``closed``. The phase ``claimed`` does not change.
        """

    async def replace(self, run: RunIdentity, token: int, snapshot: Snapshot) -> int | None:
        """Replaces the oldest entries of the run's log with the longer events of ``snapshot``. Returns the number of
        events in the log, or ``None``: see ``append``."""

    async def free(self, run: RunIdentity) -> None:
        """Frees the chat, if this run holds the chat's lease. A log without an end gets the end ``BROKEN``.

        Also increases the chat's newest token, so that a later call of ``renew`` for this run returns ``None``. The
        run's events are kept for ``LeaseTimes.log_retention`` from now on.
        """

    async def watch(self, chat: str, run_id: str, *, reads: bool) -> LeaseView:
        """Registers this worker as a reader of a run, for the lifetime of a lease. With ``reads=False``, removes the
        registration."""

    async def snapshot(self, chat: str, run_id: str) -> Snapshot:
        """Returns the data of a run that a reader needs before the first entry of the run's log."""

    async def entries(self, chat: str, run_id: str, after: int, wait: float) -> list[Entry]:
        """Returns some of the run's entries that come after the first ``after`` events. If the store has no such
        entries, waits for them up to ``wait`` seconds."""

    async def stop(self, chat: str, run_id: str, stop_id: str) -> tuple[str, str] | None:
        """Asks the run that holds the lease to stop. If ``run_id`` is not empty, asks only the run with this id.

        The run gets the stop when it renews its lease. Returns the ids of the run and of its worker; ``None`` if no
        such run holds the lease. ``stop_id``: the id of the chat's newest stop, which the store keeps for
        ``STOP_SECONDS``, even if the chat has no run. If ``stop_id`` is empty, the store keeps no id. A full store may
        lose the id, but must stop the run.
        """

    async def newest_stop(self, chat: str) -> str:
        """Returns the id of the chat's newest stop; an empty string if the store has none."""

    async def post(self, chat: str, run_id: str, post: Post) -> str | None:
        """Keeps a message (``Post``) for a run that holds the chat's lease, until the run replies.

        The run gets the message when it renews the lease. Returns the id of the run's worker; ``None`` if the run does
        not hold the lease.
        """

    async def reply(self, chat: str, run_id: str, post_id: str, reply: bytes) -> None:
        """Stores the run's reply to the message with the id ``post_id``, and deletes this message. The store keeps the
        reply for the lifetime of a lease."""

    async def reply_to(self, chat: str, run_id: str, post_id: str) -> bytes | None:
        """Returns the run's reply to the message with the id ``post_id``; ``None`` if the store has no reply."""

    async def request_renewal(self, worker: str, run_id: str) -> None:
        """Asks a worker to renew the lease of one of its runs now. The request may get lost."""

    def renewal_requests(self) -> AsyncGenerator[str | None]:
        """Yields the id of a run of this worker when another worker asks for a renewal of the run's lease.

        When this worker calls ``renew``, the store's reply contains the reason: a stop, another worker that reads the
        run, or a message to the run. If requests may have got lost, yields ``None``, and this worker renews the leases
        of all its runs.
        """


def chat_key(chat: str) -> str:
    """Return the name of a chat in a store: 32 hexadecimal digits. The chat's id may have any characters."""
    return sha256(chat.encode(errors="surrogatepass")).hexdigest()[:32]


def run_info(
    run_id: str, idempotency_key: str, phase: str, *, stop: bool, left_ms: float, times: LeaseTimes
) -> RunInfo:
    """Return the ``RunInfo`` of the run that holds a stored lease.

    A run in the phase ``open`` that was asked to stop counts as ``closed``, because it ends soon.

    ``phase``: one of ``Phase``, as stored. ``stop``: True if the run was asked to stop. ``left_ms``: the remaining
    milliseconds of the lease.
    """
    seen = "closed" if stop and phase == "open" else phase
    return RunInfo(
        run_id=run_id,
        idempotency_key=idempotency_key,
        phase=cast("Phase", seen),
        healthy=left_ms > times.healthy_ms,
    )


def reason_of(error: BaseException) -> str:
    """Return one line with the reason why a store cannot be reached."""
    line = next(iter(str(error).splitlines()), "")
    return line or ("it does not answer" if isinstance(error, TimeoutError) else type(error).__name__)


def _milliseconds(seconds: float) -> int:
    """Return the time in milliseconds, at least 1."""
    return max(1, round(seconds * 1000))
