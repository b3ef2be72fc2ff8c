"""The interface of a run log, which stores each response while it is written. A chat has only one active run.

For a store that several workers share, use ``SharedRunLog``, which only needs a ``RunStore``. Other run logs implement
``RunLog`` and ``Lease``. ``stream_protocol.testing.run_log_conformance`` has the tests for both kinds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, Protocol, TypeAlias

from stream_protocol.wire import check_count, check_instance

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stream_protocol.serving.run_logs._event_buffer import EventBuffer
    from stream_protocol.serving.run_logs._readers import RunReader

Phase: TypeAlias = Literal["claimed", "open", "closed"]
"""The phase of the active run of a chat. ``claimed``: the run's request may still be refused. ``open``: the response
is being written. ``closed``: the response has ended, but the run may still be running, or its end may not yet be
stored."""

STOP_SECONDS: Final = 60
"""Seconds for which a run log keeps the newest stop of a chat. In this time, the run ends, and waiting requests find
the stop."""


@dataclass(frozen=True, kw_only=True)
class LogBounds:
    """The limits of one response's log: its size, and its readers. Sizes are bytes.

    All values must be whole numbers from 0, and ``max_readers`` must be at least 1. For other values, the constructor
    raises ``StreamProtocolError``.
    """

    coalesce_above: int = 2**20
    """If the log is larger than this size, the server joins text deltas into longer ones. The server joins only deltas
    that every reader has received."""
    max_size: int = 64 * 2**20
    """Size limit of the log. A larger response ends in an error.

    The size is measured after text deltas are joined.
    """
    max_backlog: int = 16 * 2**20
    """Limit of the data that a reader has not read yet.

    A reader with more unread data is disconnected. For a reader that starts late, the limit is at least twice the size
    that the log has when the reader starts. An event counts as at most 64 KiB. Events that were written in the newest
    step do not count.
    """
    max_readers: int = 32
    """Maximum number of readers of a run in one worker.

    An additional reader replaces the reader with the most unread data, so a reloaded page can always read.
    """

    def __post_init__(self) -> None:
        check_count("coalesce_above", self.coalesce_above, minimum=0)
        check_count("max_size", self.max_size, minimum=0)
        check_count("max_backlog", self.max_backlog, minimum=0)
        check_count("max_readers", self.max_readers)


def check_bounds(bounds: object) -> None:
    check_instance("bounds", bounds, LogBounds, "a LogBounds", or_none=True)


def phase_of(log: EventBuffer, *, is_open: bool) -> Phase:
    """Return the phase of a run of this worker. ``is_open``: True if the run's response may be read."""
    return "claimed" if not is_open else "closed" if log.closed else "open"


@dataclass(frozen=True, kw_only=True)
class RunInfo:
    """The active run of a chat, which holds the chat's lease."""

    run_id: str
    idempotency_key: str
    """The key of the request that started the run. Equal requests have equal keys."""
    phase: Phase
    healthy: bool = True
    """False if the run's worker has not renewed the lease in time, and may soon lose the lease."""


class ChatTakenError(Exception):
    """Raised if another run is active in the chat, and holds the chat's lease."""

    def __init__(self, run: RunInfo) -> None:
        super().__init__(f"Run {run.run_id} holds the chat's lease.")
        self.run = run


class RunLogError(Exception):
    """Raised if the store of the run log is unreachable. ``str(error)`` is one line for the server's operator."""


class RunHandle(Protocol):
    """The part of a run that a run log uses: the response, and methods that the run log calls."""

    @property
    def log(self) -> EventBuffer:
        """The SSE events of the run's response."""

    def stop(self) -> None:
        """Called when a client stops the run. May be called more than once."""

    async def receive(self, post: bytes) -> bytes:
        """Called with the bytes that ``RunLog.post`` sends to the run. Returns the run's reply. May be called twice
        with the same bytes."""

    def lease_lost(self) -> None:
        """Called when the lease is lost. A newer run may hold the lease now, so this run must end immediately."""


class Lease(Protocol):
    """The right of one run to be the active run of its chat. At any time, only one run of a chat has this right."""

    @property
    def run_id(self) -> str:
        """The unique id of the run, as in ``RunInfo``."""

    @property
    def newest_stop(self) -> str:
        """The id of the chat's newest stop at the time when the run claimed the chat: see ``RunLog.newest_stop``. The
        run log reports later stops to the run."""

    @property
    def read_elsewhere(self) -> bool:
        """True if another worker reads the response for a client."""

    def open(self) -> None:
        """Sets the run's phase to ``open``. From then on, the response may be read."""

    @property
    def held(self) -> bool:
        """True if the lease was renewed in time. If False, a newer run may hold the lease, so the run must call
        ``confirm`` before it starts anything."""

    async def confirm(self) -> bool:
        """Returns True if this run has the lease. Waits for the store's reply, unless the lease is ``held``.

        A worker may be too busy for some seconds to renew the lease in time. Its run still keeps the lease if no other
        run has claimed the chat.
        """

    def release(self) -> None:
        """Asks the run log to end the lease as soon as every reader can get all events of the run. Never waits, and may
        be called more than once."""


class RunLog(Protocol):
    """Stores the active run of each chat, and the run's response. One worker uses the run log, or many workers share
    it.

    ``chat``: any text that identifies one chat of one user in one app. A run log belongs to one event loop. All methods
    raise ``RunLogError`` if the store of the run log cannot be reached.
    """

    @property
    def bounds(self) -> LogBounds:
        """The limits for the events of one response, and for its readers."""

    async def claim(self, chat: str, idempotency_key: str, owner: RunHandle) -> Lease:
        """Gives the chat to a new run, which writes to ``owner.log``. Raises ``ChatTakenError`` if another run holds
        the chat's lease. ``idempotency_key``: the key of the run's request."""

    async def current(self, chat: str) -> RunInfo | None:
        """Returns the run that holds the chat's lease; ``None`` if the chat is free."""

    async def current_many(self, chats: Sequence[str]) -> list[RunInfo | None]:
        """Returns the result of ``current`` for each chat in ``chats``, in the order of ``chats``. Needs one round trip
        to the store."""

    async def read(
        self, chat: str, run_id: str, *, rebuild: bool = False, runs_are_recovered: bool = False
    ) -> RunReader | None:
        """Returns a reader of a run's response, from its beginning to its end; ``None`` if the run log no longer has
        the response. May wait until the response has events.

        ``rebuild``: see ``EventBuffer.read``. If the run's worker dies, the unfinished parts of the message are ended,
        and the response ends in an error. ``runs_are_recovered``: True if another worker continues the run of a dead
        worker. In this case, the death of the worker does not end the response: the readers are disconnected, and
        reconnect.
        """

    async def written(self, chat: str, run_id: str) -> list[bytes]:
        """Returns the stored SSE events of a run whose worker is dead; an empty list if they were deleted. Only the
        worker that recovers the run calls this method."""

    async def stop(self, chat: str, run_id: str | None = None) -> bool:
        """Stops the run of a chat, whichever worker executes the run. Returns True if the chat had a run. With
        ``run_id``, stops only the run with this id. Without ``run_id``, also stores a new stop id for ``newest_stop``,
        even if the chat has no run."""

    async def newest_stop(self, chat: str) -> str:
        """Returns the id of the chat's newest stop, which any worker may have received. Returns an empty string if the
        chat was not stopped in the last minute.

        A request calls this method when it arrives, and later gets a lease. If ``newest_stop`` of the lease differs,
        the request is stopped.
        """

    async def post(self, chat: str, run_id: str, post: bytes) -> bytes | None:
        """Sends the bytes ``post`` to the run, whichever worker executes the run. Returns the run's reply, which may
        take long.

        Returns ``None`` if the run no longer holds the chat's lease. If the store may have lost the bytes, they are
        sent again. So the run may get them twice.
        """

    async def ping(self) -> None:
        """Checks that the store of the run log can be written to. A worker that cannot reach the store starts no
        runs."""

    async def aclose(self) -> None:
        """Frees the resources of the run log. Must be called after ``Lease.release`` was called for all runs of this
        worker."""
