"""The store that the workers of a run log share: leases, logs, and messages between workers.

Each method is one atomic step in the store. A call may be repeated, for example if its first reply got lost. Each
method raises ``RunLogError`` if the store cannot be reached, or takes too long. The other modules work with any store:
``_lease`` (the right to a chat), ``_log_writer`` (writes a log), ``_log_tail`` (reads a log) and ``_shared_run_log``.
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
"""The pause after a failed command."""

WHOLE: Final = "whole"
"""The end of a complete log."""

BROKEN: Final = "broken"
"""The end of a log whose writer gave up: the last events are missing."""


@dataclass(frozen=True, kw_only=True)
class LeaseTimes:
    """The lifetimes of leases and logs. Raises ``StreamProtocolError`` unless they are positive.

    All values are in seconds, except that names ending in ``_ms`` are in milliseconds.

    After the last renewal of a lease:

    * after 1/3 of ``lease`` its worker renews it;
    * after 1/2 of ``lease`` the renewal is late, and other workers consider the run unhealthy;
    * after 2/3 of ``lease`` its worker starts nothing more;
    * after 5/6 of ``lease`` its worker gives up the run, so that the run has ended when the store frees the chat. At
      this time the worker has tried to renew the lease for 1/2 of ``lease``. If a worker was too busy to try, it keeps
      the lease, provided that no other run has the chat;
    * after ``lease`` the store frees the chat;
    * after 3 times ``lease`` a worker no longer takes the lease back;
    * after 4 times ``lease`` the store forgets the chat's newest token.
    """

    lease: float
    """The time for which a chat stays taken after the last renewal."""
    log_retention: float
    """The time for which a log is kept after the end of its run."""

    def __post_init__(self) -> None:
        check_seconds("lease", self.lease)
        check_seconds("log_retention", self.log_retention)

    @property
    def renewal_interval(self) -> float:
        """The time between two renewals."""
        return self.lease / RENEWALS

    @property
    def lease_ms(self) -> int:
        return _milliseconds(self.lease)

    @property
    def healthy_ms(self) -> int:
        """The shortest remaining time of a lease whose renewals are in time."""
        return _milliseconds(self.lease / 2)

    @property
    def valid_without_renewal(self) -> float:
        """The time for which a worker relies on a lease that it cannot renew.

        A reader waits as long for a worker that seems dead.
        """
        return self.lease * 2 / 3

    @property
    def time_to_renew(self) -> float:
        """The time for which a worker tries to renew its lease before it gives up the run.

        No run notices a store that is away for a third of a lease. With a lease of 15 s, a command without a reply ends
        after a fifth of the lease. So the third command still comes in time after two failures.
        """
        return self.lease / 2

    @property
    def recoverable(self) -> float:
        """The time after the last renewal of a lease during which its worker can take the lease back.

        During this time, the store keeps the token of each newer run.
        """
        return self.lease * 3

    @property
    def token_ms(self) -> int:
        """The time for which the store remembers the newest token of a chat."""
        return _milliseconds(self.lease * 4)

    @property
    def log_ttl_ms(self) -> int:
        """The time for which the store keeps the log of a run whose lease is no longer renewed."""
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
    """A message from a request at another worker to a run."""

    id: str
    """A hash of the content."""
    content: bytes

    @classmethod
    def of(cls, content: bytes) -> Post:
        """Returns a message with this content."""
        return cls(sha256(content).hexdigest()[:32], content)


@dataclass(frozen=True)
class Renewal:
    """The store's reply to a run that renews its lease."""

    stop: bool
    """True if a client asked the run to stop."""
    readers: int
    """The number of other workers that read the run."""
    posts: tuple[Post, ...] = ()
    """Messages from requests at other workers to which the run has not replied yet."""


@dataclass(frozen=True)
class LeaseView:
    """The store's reply to a worker that reads a run."""

    holder: str
    """The id of the run that holds the chat's lease; empty if the chat is free."""
    worker: str
    """The worker of the holder."""
    token: int
    """The token of the holder; 0 if the chat is free."""
    available: int | None
    """The number of events in the log of the run that the worker reads; ``None`` if that run has no log."""


@dataclass(frozen=True)
class Snapshot:
    """The data that a reader needs before it reads the first entry."""

    compacted: int
    """The number of events that were joined and are no longer in entries; 0 if no events were joined."""
    events: bytes
    """The joined events."""
    past: bytes
    """The ``past`` of the run's ``EventBuffer``."""


@dataclass(frozen=True)
class Entry:
    """One entry of a run's log: some SSE events, or the end of the log."""

    after: int
    """The number of events before this entry."""
    count: int
    """The number of events up to the end of this entry."""
    events: bytes = b""
    end: str = ""
    """``WHOLE`` or ``BROKEN`` if the log ends here, else empty."""


@dataclass(frozen=True, kw_only=True)
class LogBatch:
    """The data that a run adds to its log in one step."""

    entry: Entry
    """The events, and the end of the log after the last events. It may have no events."""
    past: bytes
    """The ``past`` of the run's ``EventBuffer``."""


class RunStore(Protocol):
    """The connection of one worker to the store of a ``SharedRunLog``. Implement it for a new store.

    Each run of a chat gets a number that is greater than the numbers of earlier runs, a fencing token. The store
    refuses commands of a run whose token is not the chat's newest.
    """

    @property
    def worker(self) -> str:
        """The id of this worker."""

    @property
    def place(self) -> str:
        """The address of the store, and the prefix of the names in it, without a password."""

    async def ping(self) -> None:
        """Writes to the store, to check that it works."""

    async def aclose(self) -> None:
        """Closes the connections."""

    async def claim(self, run: RunIdentity) -> int:
        """Gives the chat to a run. Returns the run's token.

        Raises ``ChatTakenError`` with the ``run_info`` of another run that holds the lease.
        """

    async def peek(self, chats: Sequence[str]) -> list[RunInfo | None]:
        """Returns for each chat the run that holds the chat's lease, as ``run_info`` creates it."""

    async def renew(self, run: RunIdentity, token: int, phase: Phase) -> Renewal | None:
        """Renews a lease; ``None`` if a newer run has taken the chat.

        A lease that the store has lost is written again, even over the lease of an older run. The run does not get a
        stop that was meant for the older run. If the chat was stopped while the lease was lost, the run gets this stop.
        The phase ``closed`` stays ``closed``. The run's log is kept for the lease and ``LeaseTimes.log_retention`` from
        now on.
        """

    async def append(self, run: RunIdentity, token: int, piece: LogBatch) -> int | None:
        """Appends a batch to the run's log. Returns the number of events in the log.

        Returns ``None`` if the run does not hold the lease. Appends nothing unless the log has exactly
        ``piece.entry.after`` events, and nothing to a log with an end. The end of the log changes the phase ``open`` to
        ``closed``. The phase ``claimed`` does not change.
        """

    async def replace(self, run: RunIdentity, token: int, snapshot: Snapshot) -> int | None:
        """Replaces the first entries with joined events. Returns the number of events, as ``append`` does."""

    async def free(self, run: RunIdentity) -> None:
        """Frees the chat, if this run holds its lease. A log without an end gets the end ``BROKEN``.

        Also increases the chat's newest token, so that a late renewal by this run gets ``None``. The log is kept for
        ``LeaseTimes.log_retention`` from now on.
        """

    async def watch(self, chat: str, run_id: str, *, reads: bool) -> LeaseView:
        """Notes that this worker reads a run. The note is valid for the lifetime of a lease.

        With ``reads=False``, notes that this worker no longer reads the run.
        """

    async def snapshot(self, chat: str, run_id: str) -> Snapshot:
        """Returns the data that a reader needs before the first entry."""

    async def entries(self, chat: str, run_id: str, after: int, wait: float) -> list[Entry]:
        """Returns some of the entries after the first ``after`` events. Waits up to ``wait`` seconds."""

    async def stop(self, chat: str, run_id: str, stop_id: str) -> tuple[str, str] | None:
        """Asks the run that holds the lease to stop. If ``run_id`` is not empty, asks only the run with this id.

        The run sees the request when it renews its lease. Returns the run and its worker; ``None`` if there is none.
        ``stop_id``: if it is not empty, it is kept as the id of the chat's newest stop for ``STOP_SECONDS``, with or
        without a run. A full store may lose the id, but it must stop the run.
        """

    async def newest_stop(self, chat: str) -> str:
        """Returns the id of the chat's newest stop; empty if there is none."""

    async def post(self, chat: str, run_id: str, post: Post) -> str | None:
        """Keeps a message (``Post``) for a run that holds the chat's lease, until the run replies.

        The run gets the message with the renewal of its lease. Returns the run's worker; ``None`` if the run does not
        hold the lease.
        """

    async def reply(self, chat: str, run_id: str, post_id: str, reply: bytes) -> None:
        """Replaces a message to the run with the run's reply. The reply is kept for the lifetime of a lease."""

    async def reply_to(self, chat: str, run_id: str, post_id: str) -> bytes | None:
        """Returns the run's reply to a message; ``None`` if there is none."""

    async def request_renewal(self, worker: str, run_id: str) -> None:
        """Sends a message to a worker: renew the lease of this run now. The message may get lost."""

    def renewal_requests(self) -> AsyncGenerator[str | None]:
        """Yields the id of a run of this worker when another worker asks to renew the run's lease now.

        The reply to the renewal contains the reason: a stop, a reader, or a message to the run. Yields ``None`` if
        messages may have got lost.
        """


def chat_key(chat: str) -> str:
    """Return the name of a chat in a store: 32 hexadecimal digits, for an id with any characters."""
    return sha256(chat.encode(errors="surrogatepass")).hexdigest()[:32]


def run_info(
    run_id: str, idempotency_key: str, phase: str, *, stop: bool, left_ms: float, times: LeaseTimes
) -> RunInfo:
    """Return a stored lease as other requests see its run.

    An open run that was asked to stop counts as closed: it ends soon, and no request joins it.

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
