"""The interface of a run log. A run log stores each response while it is written, and lets a chat have only one active
run.

``SharedRunLog`` implements the interface for several workers, and needs only a ``RunStore``. Other run logs implement
``RunLog`` and ``Lease``. ``stream_protocol.testing.run_log_conformance`` has tests for run logs and for stores.
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
    """Limits for the stored events of one response, and for its readers. Sizes are bytes.

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
    """Limit of the data that a reader has not read yet. Beyond the limit, the reader is disconnected, and can resume.

    For a reader that starts late, the limit is at least twice the size that the log has when the reader starts. An
    event counts as at most 64 KiB. Events that were written in the newest step do not count.
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
    """Return the phase of a run that this worker executes: ``claimed``, ``open`` or ``closed``. ``is_open``: True after
    ``Lease.open`` was called.
    """
    return "claimed" if not is_open else "closed" if log.closed else "open"


@dataclass(frozen=True, kw_only=True)
class RunInfo:
    """The data of a chat's active run."""

    run_id: str
    idempotency_key: str
    """The key of the request that started the run. Equal requests have equal keys."""
    phase: Phase
    healthy: bool = True
    """False if the run's worker has not renewed the lease in time, and may soon lose the lease."""


class ChatTakenError(Exception):
    """Raised if another run is active in the chat. The attribute ``run`` describes that run."""

    def __init__(self, run: RunInfo) -> None:
        super().__init__(f"Run {run.run_id} holds the chat's lease.")
        self.run = run


class RunLogError(Exception):
    """Raised if the store of the run log is unreachable. ``str(error)`` is one line for the server's operator."""


class RunHandle(Protocol):
    """The interface of a run for the run log: the SSE events of the response, and methods that the run log calls."""

    @property
    def log(self) -> EventBuffer:
        """The SSE events of the run's response."""

    def stop(self) -> None:
        """Called when a client stops the run. May be called more than once."""

    async def receive(self, post: bytes) -> bytes:
        """Called with the bytes that a request has sent to the run: see ``RunLog.post``. Returns the reply of the run.
        May be called twice with the same bytes.
        """

    def lease_lost(self) -> None:
        """Called when the run has lost its lease: the right to be the chat's only active run. Another run may now hold
        the lease, so this run must end immediately.
        """


class Lease(Protocol):
    """The right of one run to be the active run of its chat. At any time, only one run of a chat has this right."""

    @property
    def run_id(self) -> str:
        """The unique id of the run, as in ``RunInfo``."""

    @property
    def newest_stop(self) -> str:
        """The id of the last request to stop the chat before this run claimed the chat. For later stop requests, the
        run log calls ``RunHandle.stop``.
        """

    @property
    def read_elsewhere(self) -> bool:
        """True if a client reads the response through another worker."""

    def open(self) -> None:
        """Sets the phase of the run to ``open``. From then on, clients may read the response."""

    @property
    def held(self) -> bool:
        """True if the lease was renewed in time. If False, another run may hold the lease. This run must then call
        ``confirm`` before it starts anything.
        """

    async def confirm(self) -> bool:
        """Returns True if this run has the lease. If ``held`` is False, first waits for the reply of the store.

        A busy worker may renew the lease some seconds late. Its run keeps the lease if no other run has claimed the
        chat.
        """

    def release(self) -> None:
        """Asks the run log to end the lease when the readers on all workers can read the whole response. Returns
        immediately. May be called more than once.
        """


class RunLog(Protocol):
    """Stores the active run of each chat, and the response of the run. Several workers may share a run log.

    In most methods, ``chat`` is a text that identifies one chat of one user in one app. A run log belongs to one event
    loop. All methods raise ``RunLogError`` if the store of the run log is unreachable.
    """

    @property
    def bounds(self) -> LogBounds:
        """The limits for the events of one response, and for its readers."""

    async def claim(self, chat: str, idempotency_key: str, owner: RunHandle) -> Lease:
        """Makes a new run the active run of the chat, and returns the run's ``Lease``.

        ``owner``: the run, which writes its response to ``owner.log``. ``idempotency_key``: the key of the request that
        started the run. Raises ``ChatTakenError`` if the chat has an active run.
        """

    async def current(self, chat: str) -> RunInfo | None:
        """Returns the active run of the chat; ``None`` if the chat has no active run."""

    async def current_many(self, chats: Sequence[str]) -> list[RunInfo | None]:
        """Returns the active run of each chat, or ``None``, in the order of ``chats``. Needs one round trip to the
        store.
        """

    async def read(
        self, chat: str, run_id: str, *, rebuild: bool = False, runs_are_recovered: bool = False
    ) -> RunReader | None:
        """Returns a reader of the whole response of a run; ``None`` if the response is no longer stored. May wait until
        the response has events.

        ``rebuild``: see ``EventBuffer.read``. ``runs_are_recovered``: True if another worker continues the run of a
        dead worker.

        If the worker of the run dies, the unfinished parts of the message are completed, and the response ends in an
        error. With ``runs_are_recovered``, readers are disconnected instead, so that their clients reconnect.
        """

    async def written(self, chat: str, run_id: str) -> list[bytes]:
        """Returns the stored SSE events of a run; an empty list if they were deleted. A worker calls this method when
        it recovers the run of a dead worker.
        """

    async def stop(self, chat: str, run_id: str | None = None) -> bool:
        """Stops the active run of a chat, on any worker. Returns True if a run was stopped.

        ``run_id``: the only run to stop. Without ``run_id``, this stop gets a new id, even if the chat has no run.
        ``newest_stop`` then returns the id of this stop.
        """

    async def newest_stop(self, chat: str) -> str:
        """Returns the id of the last request to stop the chat, from any worker. Returns an empty string if the chat was
        not stopped in the last minute.

        A chat request reads this id when it arrives, and again when it claims the chat (``Lease.newest_stop``). If the
        two ids differ, the user has stopped the chat in between, so the chat request is stopped.
        """

    async def post(self, chat: str, run_id: str, post: bytes) -> bytes | None:
        """Sends the bytes ``post`` to a run on any worker, and returns the reply of the run. The reply may take long.

        Returns ``None`` if the run is no longer active. If the store may have lost the bytes, they are sent again, so
        the run may get them twice.
        """

    async def ping(self) -> None:
        """Checks that the store of the run log accepts writes. A worker starts no runs while this check fails."""

    async def aclose(self) -> None:
        """Frees the resources of the run log. First call ``Lease.release`` for all runs of this worker."""
