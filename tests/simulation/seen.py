"""Observations of all clients, and other facts for the checker."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from google.adk.events import Event

    from tests.simulation.agent import Ledger
    from tests.simulation.schedule import Schedule

RequestKind: TypeAlias = Literal["words", "answer", "resume"]


@dataclass(eq=False)
class Response:
    """Request and its response, as the client has them. Times are true times.

    ``words``: the user's message; empty for an answer and for a resumed response.
    """

    kind: RequestKind
    worker: int
    begun: float
    words: str = ""
    approves: bool = False
    call_id: str = ""
    """Call that the request answers."""
    status: int | None = None
    """Status; ``0`` if the worker did not run, or the connection was lost before the status."""
    answered: float | None = None
    pieces: list[tuple[float, bytes]] = field(default_factory=list)
    ended: float | None = None
    is_cut: bool = False
    """True if the connection was lost."""
    has_left: bool = False
    """True if the client has closed the connection."""
    reason: str = ""
    """Reason of a refusal."""


@dataclass(eq=False)
class StopRequest:
    """A stop, and the time of its acknowledgement; ``None`` without one."""

    worker: int
    begun: float
    acknowledged: float | None = None
    reason: str = ""


@dataclass(eq=False)
class SteerRequest:
    """An attempt of a page to steer. ``outcome``: the outcome; empty after a refusal, and without a reply.

    ``status``: the status; ``0`` if the worker did not run; ``None`` without a reply.
    """

    words: str
    worker: int
    begun: float
    outcome: str = ""
    reason: str = ""
    status: int | None = None
    answered: float | None = None


@dataclass(eq=False)
class History:
    """A loaded history; ``None`` if there is none."""

    worker: int
    begun: float
    status: int | None = None
    messages: list[Any] | None = None
    answered: float | None = None


@dataclass(frozen=True)
class StoredEvent:
    """An event, and the time when it was stored."""

    at: float
    worker: int
    event: Event
    waits: bool
    """True if the agent waits for the user after this event."""
    is_marked: bool
    """True if the list of chats says that the agent waits."""


@dataclass
class Seen:
    """All observations of one execution."""

    schedule: Schedule
    ledger: Ledger
    responses: list[Response] = field(default_factory=list)
    stops: list[StopRequest] = field(default_factory=list)
    steers: list[SteerRequest] = field(default_factory=list)
    histories: list[History] = field(default_factory=list)
    stored: list[StoredEvent] = field(default_factory=list)
    final_history: History | None = None
    """History after all runs."""
    last_words: Response | None = None
    """Response to a message after all runs: the chat must be usable."""
    last_history: History | None = None
    """History after the last message, if the user has steered."""
    has_joined_events: bool = False
    """True if a run's log had joined events, which a fail-over can make unreadable for a reader."""
    problems: list[str] = field(default_factory=list)
    """Problems that no client sees: endless tasks, and exceptions that nobody has handled."""
    story: list[tuple[float, str, str]] = field(default_factory=list)
    """Time, actor and action of each line; empty without a story."""
