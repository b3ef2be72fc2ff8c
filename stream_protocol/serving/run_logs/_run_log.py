"""The interface of a run log. A run log stores responses while they are written, and gives each chat to at most one run
at a time.

A run log with a store for several workers is a ``SharedRunLog``, which only needs a ``RunStore``. Other run logs
implement ``RunLog`` and ``Lease``. ``stream_protocol.testing.run_log_conformance`` has the tests for both.
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
"""``claimed``: the run holds the lease, but its request may still be refused. ``open``: the response is being written.
``closed``: the response has ended; the run may still be ending and being stored."""

STOP_SECONDS: Final = 60
"""Seconds for which a log keeps the newest stop of a chat: long enough for the run to end, and for waiting requests to
be refused."""


@dataclass(frozen=True, kw_only=True)
class LogBounds:
    """The limits of one response's log: its size, and its readers. Sizes are bytes.

    All values must be whole numbers from 0, and ``max_readers`` must be at least 1. For other values, the constructor
    raises ``StreamProtocolError``.
    """

    coalesce_above: int = 2**20
    """Size above which the server joins the text deltas that every reader has received."""
    max_size: int = 64 * 2**20
    """Size limit of the log. A larger response ends in an error.

    The size is measured after text deltas are joined.
    """
    max_backlog: int = 16 * 2**20
    """Limit of the unread data of a reader.

    A reader with more unread data is disconnected. For a reader that starts late, the limit is at least twice the size
    that the log has when the reader starts. An event counts as at most 64 KiB. The newest events of one step do not
    count.
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
    """Raise ``InvalidArgumentError`` unless this is a ``LogBounds`` or ``None``."""
    check_instance("bounds", bounds, LogBounds, "a LogBounds", or_none=True)


def phase_of(log: EventBuffer, *, is_open: bool) -> Phase:
    """Return the phase of a run of this worker. ``is_open``: True if its response may be read."""
    return "claimed" if not is_open else "closed" if log.closed else "open"


@dataclass(frozen=True, kw_only=True)
class RunInfo:
    """The run that holds a chat's lease."""

    run_id: str
    idempotency_key: str
    """The key of the request that started the run. Equal requests have equal keys."""
    phase: Phase
    healthy: bool = True
    """``False`` if the run's worker is late to renew the lease.

    The worker loses the chat unless it renews the lease soon.
    """


class ChatTakenError(Exception):
    """Another run holds the chat's lease."""

    def __init__(self, run: RunInfo) -> None:
        super().__init__(f"Run {run.run_id} holds the chat's lease.")
        self.run = run


class RunLogError(Exception):
    """The store of the log is unreachable at present. ``str(error)`` is one line for the server's operator."""


class RunHandle(Protocol):
    """The interface of a run for its run log."""

    @property
    def log(self) -> EventBuffer:
        """The SSE events of the run's response."""

    def stop(self) -> None:
        """Called when a client asks the run to stop. It may be called more than once."""

    async def receive(self, post: bytes) -> bytes:
        """Called with a message that another request sends to the run (``RunLog.post``). Returns the run's reply.

        The method may be called twice with the same message.
        """

    def lease_lost(self) -> None:
        """Called when the lease is lost. A newer run may hold it now, so this run must end at once."""


class Lease(Protocol):
    """The right of one run to its chat."""

    @property
    def run_id(self) -> str:
        """The unique id of the run, as in its ``RunInfo``."""

    @property
    def read_elsewhere(self) -> bool:
        """True if another worker reads the response for a client."""

    def open(self) -> None:
        """Sets the phase to ``open``: the response may be read."""

    @property
    def held(self) -> bool:
        """True if the lease was renewed in time.

        If False, a newer run may hold it. Then start nothing before ``confirm``.
        """

    async def confirm(self) -> bool:
        """Returns True if this run has the lease. Returns at once if the lease is ``held``, else after the store's
        reply.

        A worker that was busy for seconds has not renewed the lease in time. It keeps the lease if no other run has
        claimed the chat.
        """

    def release(self) -> None:
        """Requests that the chat becomes free.

        The chat becomes free when every reader can get all events. Never waits. It may be called more than once.
        """


class RunLog(Protocol):
    """Keeps the run of each chat and its response while it is written, for one worker or for many.

    ``chat`` is any text that identifies one chat of one user in one app. A log belongs to one event loop. All methods
    raise ``RunLogError`` if the log's store cannot be reached.
    """

    @property
    def bounds(self) -> LogBounds:
        """The limits on the size of the log of one response."""

    async def claim(self, chat: str, idempotency_key: str, owner: RunHandle) -> Lease:
        """Gives the chat to a new run, which writes to ``owner.log``. ``idempotency_key``: the key of its request.

        Raises ``ChatTakenError`` if another run holds the chat's lease.
        """

    async def current(self, chat: str) -> RunInfo | None:
        """Returns the run that holds the chat's lease; ``None`` if the chat is free."""

    async def current_many(self, chats: Sequence[str]) -> list[RunInfo | None]:
        """Returns ``current`` for each of these chats, in their order, in one round trip."""

    async def read(
        self, chat: str, run_id: str, *, rebuild: bool = False, runs_are_recovered: bool = False
    ) -> RunReader | None:
        """Reads a run's response from its beginning to its end; ``None`` if the log no longer has it.

        ``rebuild`` as in ``EventBuffer.read``. If the worker that writes the response dies, the open parts of the
        message are closed and the response ends in an error. ``runs_are_recovered``: True if another worker continues
        the run in this case. Then the response does not end in an error. Instead, its readers are cut off, and they
        reconnect.
        """

    async def written(self, chat: str, run_id: str) -> list[bytes]:
        """Returns the stored SSE events of a run whose worker is dead; an empty list if the log no longer has them.

        Only the worker that recovers the run calls this.
        """

    async def stop(self, chat: str, run_id: str | None = None) -> bool:
        """Asks the run of this chat to stop, at any worker. Returns True if there was a run.

        ``run_id``: stops only this run. If this run has ended, nothing is stopped. Without ``run_id``, ``newest_stop``
        changes, even if there was no run.
        """

    async def newest_stop(self, chat: str) -> str:
        """Returns the id of the newest stop of this chat, at any worker; empty if there was none within a minute.

        A request that waits for the chat compares the id with an earlier id. If the id has changed, the stop is also
        meant for the waiting request.
        """

    async def post(self, chat: str, run_id: str, post: bytes) -> bytes | None:
        """Sends a message to this run, whichever worker runs it. Returns the run's reply, which may take long.

        Returns ``None`` if the run no longer holds the chat. If the store may have lost the message, it is sent again.
        So the run may get the same message twice.
        """

    async def ping(self) -> None:
        """Checks that the log's store can be written to. A worker that cannot reach the store starts no runs."""

    async def aclose(self) -> None:
        """Frees the log's resources. Call it after the runs of this worker have been released."""
