"""All that clients saw, and what a checker must know to judge it."""

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
    """A request and its response, as the client has them. ``words``: what the user said; of an answer and of a resumed
    response: empty. Times are true times."""

    kind: RequestKind
    worker: int
    begun: float
    words: str = ""
    approves: bool = False
    call_id: str = ""
    """The call that an answer is about."""
    status: int | None = None
    """``0``: the worker was not there, or the connection was lost before the status."""
    answered: float | None = None
    pieces: list[tuple[float, bytes]] = field(default_factory=list)
    ended: float | None = None
    is_cut: bool = False
    """True if the connection was lost."""
    has_left: bool = False
    """True if the client has closed it."""
    reason: str = ""
    """Of a refusal."""


@dataclass(eq=False)
class StopRequest:
    """A stop, and when it was acknowledged; ``None``: it was not."""

    worker: int
    begun: float
    acknowledged: float | None = None
    reason: str = ""


@dataclass(eq=False)
class History:
    """A loaded history; ``None``: there is none."""

    worker: int
    begun: float
    status: int | None = None
    messages: list[Any] | None = None
    answered: float | None = None


@dataclass(frozen=True)
class StoredEvent:
    """An event when it was stored."""

    at: float
    worker: int
    event: Event


@dataclass
class Seen:
    """Everything."""

    schedule: Schedule
    ledger: Ledger
    responses: list[Response] = field(default_factory=list)
    stops: list[StopRequest] = field(default_factory=list)
    histories: list[History] = field(default_factory=list)
    stored: list[StoredEvent] = field(default_factory=list)
    final_history: History | None = None
    """When nothing goes on any more."""
    last_words: Response | None = None
    """A message that is sent after all: the chat must be usable."""
    problems: list[str] = field(default_factory=list)
    """What no client sees: tasks that go on for ever, exceptions that nobody has handled."""
    story: list[tuple[float, str, str]] = field(default_factory=list)
    """Time, who, and what happened; empty unless a story is told."""
