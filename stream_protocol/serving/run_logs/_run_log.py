"""The interface of a run log: keep the responses of all chats while they are written, and give each chat to one run.

To write one, implement ``RunLog`` and ``Lease``; ``EventBuffer`` does the reading. Test it with
``stream_protocol.testing.run_log_conformance``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stream_protocol.serving.run_logs._event_buffer import EventBuffer
    from stream_protocol.serving.run_logs._log_bounds import LogBounds
    from stream_protocol.serving.run_logs._run_reader import RunReader

Phase: TypeAlias = Literal["claimed", "open", "closed"]
"""``claimed``: the run holds the lease, but its request may still be refused. ``open``: the response is being written.
``closed``: the response has ended; the run may still be ending and being stored."""

STOP_SECONDS: Final = 60
"""Seconds for which a log keeps the newest stop of a chat: until the run has ended, or those that wait are refused."""


@dataclass(frozen=True, kw_only=True)
class RunInfo:
    """The run that holds a chat's lease."""

    run_id: str
    idempotency_key: str
    """Of the request that the run answers: equal requests have the same."""
    phase: Phase
    healthy: bool = True
    """``False`` if the run's worker has not renewed the lease in time. It loses the chat unless it renews it soon."""


class ChatTakenError(Exception):
    """Another run holds the chat's lease."""

    def __init__(self, run: RunInfo) -> None:
        super().__init__(f"Run {run.run_id} holds the chat's lease.")
        self.run = run


class RunLogError(Exception):
    """The store of the log cannot be reached now. ``str(error)`` is one line for the server's operator."""


class RunHandle(Protocol):
    """A run, as its log sees it."""

    @property
    def log(self) -> EventBuffer:
        """The SSE events of the run's response."""

    def stop(self) -> None:
        """Called when somebody asks the run to stop. May be called again."""

    async def receive(self, post: bytes) -> bytes:
        """Called with what another request posts to the run. Returns the reply. An equal post may come again."""

    def lease_lost(self) -> None:
        """Called when the lease is lost. Another run may hold it now, so this one must end at once."""


class Lease(Protocol):
    """The right of one run to its chat."""

    @property
    def run_id(self) -> str:
        """The id of the run, which no other has: that of its ``RunInfo``."""

    @property
    def read_elsewhere(self) -> bool:
        """True if another worker reads the response for a client."""

    def open(self) -> None:
        """Sets the phase to ``open``: the response may be read."""

    @property
    def held(self) -> bool:
        """True if the lease was renewed in time. If not, another run may hold it: start nothing before ``confirm``."""

    async def confirm(self) -> bool:
        """Returns whether the lease is still this run's: at once while it is ``held``, else when the store has said so.

        A worker that was busy for seconds has not renewed it in time, and yet no other run may have claimed the chat.
        """

    def release(self) -> None:
        """Frees the chat, once every reader can get all that was written. Never waits; may be called again."""


class RunLog(Protocol):
    """Keeps the run of each chat and its response while it is written, for one worker or for many.

    ``chat`` is any text that identifies one chat of one user in one app. A log belongs to one event loop. All methods
    raise ``RunLogError`` if the log's store cannot be reached.
    """

    @property
    def bounds(self) -> LogBounds:
        """The limits on the size of the log of one response."""

    async def claim(self, chat: str, idempotency_key: str, owner: RunHandle) -> Lease:
        """Gives the chat to a new run, which writes to ``owner.log``. ``idempotency_key``: of its request.

        Raises ``ChatTakenError`` if another run holds the chat's lease.
        """

    async def current(self, chat: str) -> RunInfo | None:
        """Returns the run that holds the chat's lease; ``None`` if the chat is free."""

    async def current_many(self, chats: Sequence[str]) -> list[RunInfo | None]:
        """``current`` for each of these chats, in their order. One round trip, however many they are."""

    async def read(
        self, chat: str, run_id: str, *, rebuild: bool = False, runs_are_recovered: bool = False
    ) -> RunReader | None:
        """Reads a run's response from its beginning to its end; ``None`` if the log does not have it any more.

        ``rebuild`` as in ``EventBuffer.read``. If the worker that writes the response dies, the open parts of the
        message are closed and the response ends in an error. ``runs_are_recovered``: another worker goes on with the
        run then, so the readers are cut off instead, and come back.
        """

    async def written(self, chat: str, run_id: str) -> list[bytes]:
        """Returns the SSE events that the log has of a run whose worker is dead; none if it does not have them any
        more. Only asked by the worker that takes the run up."""

    async def stop(self, chat: str, run_id: str | None = None) -> bool:
        """Asks the run of this chat to stop, whichever worker runs it. Returns whether there was one.

        ``run_id``: only this run. If it has ended, nothing is stopped. Without it, ``newest_stop`` changes, also if
        there was no run.
        """

    async def newest_stop(self, chat: str) -> str:
        """Returns the id of the newest stop of this chat, at any worker; empty if there was none within a minute.

        A request that waits for the chat compares it with the one before: the stop was meant for that request, too.
        """

    async def post(self, chat: str, run_id: str, post: bytes) -> bytes | None:
        """Gives a post to this run, whichever worker runs it, and returns its reply. That may take long.

        ``None`` if the run does not hold the chat any more. If the store loses the post, it is given again: the run
        may get it twice.
        """

    async def ping(self) -> None:
        """Checks that the log's store can be written to: a worker that cannot reach it takes no runs."""

    async def aclose(self) -> None:
        """Frees the log's resources. To be called after the runs of this worker have been released."""
