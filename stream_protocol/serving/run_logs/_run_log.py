"""Where the responses of all chats are kept while they are written, and who may write: what a run log must do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    from stream_protocol.serving.run_logs._event_buffer import EventBuffer, LogBounds, RunReader

Phase: TypeAlias = Literal["claimed", "open", "closed"]
"""Of a run: it has the chat, but may still be refused; its response is being written; its response has ended, and what
is left of it dies down and is stored."""


@dataclass(frozen=True, kw_only=True)
class RunInfo:
    """What runs in a chat."""

    run_id: str
    request: str
    """The fingerprint of the request that it answers."""
    phase: Phase
    healthy: bool = True
    """Whether its worker was heard of in time. One that was not loses the chat, unless it comes back soon."""


class ChatTakenError(Exception):
    """Something else runs in the chat."""

    def __init__(self, run: RunInfo) -> None:
        super().__init__(f"Run {run.run_id} has the chat.")
        self.run = run


class RunLogError(Exception):
    """The log cannot be had just now. ``str(error)`` is one line that says why, for the server's operator."""


class Owner(Protocol):
    """A run, as its log sees it."""

    @property
    def log(self) -> EventBuffer:
        """What it writes."""

    def stop(self) -> None:
        """Called when somebody wants it stopped; also once more."""

    def lose(self) -> None:
        """Called when its lease is lost."""


class Lease(Protocol):
    """The right of one run to its chat, and to be read."""

    @property
    def watched_elsewhere(self) -> bool:
        """Whether somebody reads the response by another worker."""

    def open(self) -> None:
        """Says that the run goes on: its response may be read."""

    @property
    def held(self) -> bool:
        """Whether the lease was renewed in time. If not, the chat may be another run's: nothing more may begin."""

    def release(self) -> None:
        """Frees the chat, once all that was written is where every reader finds it. Never waits; may be repeated."""


class RunLog(Protocol):
    """Keeps what runs in each chat, and its response, for one worker or for many.

    ``chat`` is any text that names a chat of one user in one app. A log is made for one event loop. Where it needs a
    store that cannot be reached, its methods raise ``RunLogError``.
    """

    @property
    def bounds(self) -> LogBounds:
        """How large the log of one response may become."""

    async def claim(self, chat: str, request: str, owner: Owner) -> Lease:
        """Gives the chat to a new run, which writes to ``owner.log``. Raises ``ChatTakenError`` if another has it."""

    async def current(self, chat: str) -> RunInfo | None:
        """What runs in the chat."""

    async def read(self, chat: str, run_id: str, *, rebuild: bool = False) -> RunReader | None:
        """Reads a run's response from its beginning to its end; ``None`` if it is gone.

        ``rebuild``: as if nothing of its message were known. If the worker that writes it dies, the response is closed
        and ends in an error.
        """

    async def stop(self, chat: str) -> bool:
        """Asks what runs in the chat to stop, whoever runs it. Returns whether anything does."""

    async def aclose(self) -> None:
        """Gives back what the log holds, after the runs of this worker have been released."""
