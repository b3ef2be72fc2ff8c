"""The interface of a store that all workers of a ``SharedRunLog`` share. The store has leases, the events of runs, and
messages between workers. A lease is a run's time-limited right to be the only active run of its chat.

Each method is one atomic step, and may be repeated, for example after a lost reply. Each method raises ``RunLogError``
if the store is unreachable or too slow.
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
    """Times for leases and for the stored events of runs. Raises ``StreamProtocolError`` unless all times are positive.

    A lease is a run's right to be the only active run of its chat. Values with a name in ``_ms`` are in milliseconds,
    all others in seconds.

    After the last renewal of a lease, the following happens:

    * after 1/3 of ``lease``, the worker of the run renews the lease;
    * after 1/2 of ``lease``, the renewal is late, and ``RunInfo.healthy`` is False;
    * after 2/3 of ``lease``, the worker starts no more tools or model calls;
    * after 5/6 of ``lease``, the worker ends the run if all its renewals have failed for 1/2 of ``lease``. A worker
      that was too busy to send renewals gets more time, if no other run has taken the chat;
    * after ``lease``, the store lets another run take the chat;
    * after 3 times ``lease``, the worker can no longer restore the expired lease;
    * after 4 times ``lease``, the store forgets the newest fencing token of the chat.
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
        """Seconds between two renewals of a lease."""
        return self.lease / RENEWALS

    @property
    def lease_ms(self) -> int:
        return _milliseconds(self.lease)

    @property
    def healthy_ms(self) -> int:
        """Milliseconds before the end of a lease. If less time is left, the renewal of the lease is late."""
        return _milliseconds(self.lease / 2)

    @property
    def valid_without_renewal(self) -> float:
        """After the last renewal, a worker relies on its lease for this number of seconds. Readers wait for the same
        time for a worker that seems dead.
        """
        return self.lease * 2 / 3

    @property
    def time_to_renew(self) -> float:
        """If all renewals of a lease fail for this number of seconds, the worker ends the run.

        The value is half of ``lease``. A run therefore survives if the store is unreachable for less than a third of
        ``lease``.
        """
        return self.lease / 2

    @property
    def recoverable(self) -> float:
        """A worker can restore an expired lease until this number of seconds after the last renewal. A worker cannot
        take the chat from a newer run, because the store keeps the fencing token of the newest run for longer.
        """
        return self.lease * 3

    @property
    def token_ms(self) -> int:
        """The store keeps the newest fencing token of a chat for this number of milliseconds: see ``RunStore``."""
        return _milliseconds(self.lease * 4)

    @property
    def log_ttl_ms(self) -> int:
        """The store keeps the events of a run for this number of milliseconds after the last renewal of its lease."""
        return _milliseconds(self.lease + self.log_retention)

    @property
    def log_retention_ms(self) -> int:
        return _milliseconds(self.log_retention)


@dataclass(frozen=True, kw_only=True)
class RunIdentity:
    """The data of a run that never changes."""

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
    """The reply of the store to the renewal of a lease."""

    stop: bool
    """True if a client asked the run to stop."""
    readers: int
    """The number of other workers that read the run."""
    posts: tuple[Post, ...] = ()
    """The messages to which the run has not yet replied."""


@dataclass(frozen=True)
class LeaseView:
    """The store's data about the lease of a chat, for a worker that reads a run."""

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
    """The beginning of a run's stored log: its oldest events, merged into longer ones, and the earlier content of the
    message. The entries (``Entry``) follow.
    """

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
    """The data that a worker adds to the stored log of a run in one call of ``RunStore.append``."""

    entry: Entry
    """The entry with the added events. The last entry of a run also marks the end of the log, and may have no
    events."""
    past: bytes
    """SSE events with the earlier content of the message that the response continues: see ``EventBuffer.past``."""


class RunStore(Protocol):
    """The interface of one worker's connection to the store of a ``SharedRunLog``. To support a new kind of store,
    implement this interface.

    Each run of a chat has a fencing token: a number that is greater than the tokens of all earlier runs of the chat.
    The store refuses commands of a run if its token is not the newest token of the chat.
    """

    @property
    def worker(self) -> str:
        """The id of this worker."""

    @property
    def place(self) -> str:
        """The address of the store, without its password, and the prefix of all names in the store."""

    async def ping(self) -> None:
        """Writes to the store, to check that the store works."""

    async def aclose(self) -> None:
        """Closes the connections."""

    async def claim(self, run: RunIdentity) -> int:
        """Gives the lease of a chat (the right to be its only active run) to a run. Returns the run's fencing token: a
        number that is greater than the tokens of all earlier runs. If another run holds the lease, raises
        ``ChatTakenError`` with the ``RunInfo`` of that run.
        """

    async def peek(self, chats: Sequence[str]) -> list[RunInfo | None]:
        """For each chat, returns the ``RunInfo`` of its active run (the run that holds the lease of the chat), or
        ``None``.
        """

    async def renew(self, run: RunIdentity, token: int, phase: Phase) -> Renewal | None:
        """Renews the lease of a run. Returns ``None`` if a newer run has taken the chat.

        If a fail-over has lost the lease, the store writes the lease again. If an older run holds the lease, the store
        replaces it. A stop of that older run does not stop this run. But a stop of the whole chat stops this run, even
        if it came while the lease was lost. If the stored phase is ``closed``, it does not change.

        After this call, the store keeps the events of the run for the sum of ``LeaseTimes.lease`` and
        ``LeaseTimes.log_retention``.
        """

    async def append(self, run: RunIdentity, token: int, piece: LogBatch) -> int | None:
        """Appends a batch to the log of the run. Returns the number of events in the log; ``None`` if the run does not
        hold the lease.

        Appends nothing if the log is complete, or if its number of events differs from ``piece.entry.after``. If the
        batch ends the log, the phase of the run changes from ``open`` to ``closed``. The phase ``claimed`` does not
        change.
        """

    async def replace(self, run: RunIdentity, token: int, snapshot: Snapshot) -> int | None:
        """Replaces the oldest entries of the log with the merged events of ``snapshot``. Returns the number of events
        in the log; ``None`` if the run does not hold the lease.
        """

    async def free(self, run: RunIdentity) -> None:
        """Ends the lease of the run. Does nothing if the run does not hold the lease of the chat. A log that is not
        complete gets the end ``BROKEN``.

        Also increases the newest fencing token of the chat, so that a later ``renew`` of this run returns ``None``.
        After this call, the store keeps the events of the run for ``LeaseTimes.log_retention``.
        """

    async def watch(self, chat: str, run_id: str, *, reads: bool) -> LeaseView:
        """Registers this worker as a reader of a run, for the lifetime of a lease, and returns the state of the lease.
        With ``reads=False``, removes the registration.
        """

    async def snapshot(self, chat: str, run_id: str) -> Snapshot:
        """Returns the beginning of the log of a run: see ``Snapshot``."""

    async def entries(self, chat: str, run_id: str, after: int, wait: float) -> list[Entry]:
        """Returns some entries of the log of a run, from event index ``after`` on. If the store has no such entries,
        waits for them up to ``wait`` seconds.
        """

    async def stop(self, chat: str, run_id: str, stop_id: str) -> tuple[str, str] | None:
        """Asks the active run of a chat to stop. Returns the ids of the run and of its worker, or ``None`` if there is
        no run to stop.

        The run gets the stop when it renews its lease. ``run_id``: if not empty, only the run with this id is stopped.

        ``stop_id``: if not empty, the id of this stop. The store keeps this id for ``STOP_SECONDS``, even if the chat
        has no run. A full store may lose the id, but must stop the run.
        """

    async def newest_stop(self, chat: str) -> str:
        """Returns the id of the newest stop of the chat; an empty string if the store has none."""

    async def post(self, chat: str, run_id: str, post: Post) -> str | None:
        """Stores a message for a run until the run replies. Returns the id of the run's worker; ``None`` if the run
        does not hold the lease of the chat. The run gets the message when it renews its lease.
        """

    async def reply(self, chat: str, run_id: str, post_id: str, reply: bytes) -> None:
        """Stores the reply of a run to the message ``post_id``, and deletes the message. The store keeps the reply for
        the lifetime of a lease.
        """

    async def reply_to(self, chat: str, run_id: str, post_id: str) -> bytes | None:
        """Returns the reply of a run to the message ``post_id``; ``None`` if the store has no reply."""

    async def request_renewal(self, worker: str, run_id: str) -> None:
        """Asks a worker to renew the lease of one of its runs immediately. The request may get lost."""

    def renewal_requests(self) -> AsyncGenerator[str | None]:
        """Yields the ids of this worker's runs for which another worker has requested a renewal of the lease.

        The store's reply to the renewal contains the reason: a stop, a new reader, or a message to the run. Yields
        ``None`` if requests may have got lost. This worker then renews the leases of all its runs.
        """


def chat_key(chat: str) -> str:
    """Return the name of a chat in a store: a hash with 32 hexadecimal digits. ``chat`` may contain any characters."""
    return sha256(chat.encode(errors="surrogatepass")).hexdigest()[:32]


def run_info(
    run_id: str, idempotency_key: str, phase: str, *, stop: bool, left_ms: float, times: LeaseTimes
) -> RunInfo:
    """Return the ``RunInfo`` of a stored run.

    If a run in the phase ``open`` was asked to stop, the result already has the phase ``closed``.

    ``phase``: the stored phase. ``stop``: True if the run was asked to stop. ``left_ms``: the remaining milliseconds of
    the lease.
    """
    seen = "closed" if stop and phase == "open" else phase
    return RunInfo(
        run_id=run_id,
        idempotency_key=idempotency_key,
        phase=cast("Phase", seen),
        healthy=left_ms > times.healthy_ms,
    )


def reason_of(error: BaseException) -> str:
    """Return one line of text with the reason why a store is unreachable."""
    line = next(iter(str(error).splitlines()), "")
    return line or ("it does not answer" if isinstance(error, TimeoutError) else type(error).__name__)


def _milliseconds(seconds: float) -> int:
    return max(1, round(seconds * 1000))
