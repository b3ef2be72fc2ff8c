"""What an engine must do that executes a run again when its worker is dead. ``stream_protocol.durable`` has one."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from google.adk.runners import Runner


@dataclass(frozen=True, kw_only=True)
class RunRecord:
    """All that another worker needs to execute a run again. Every value is JSON."""

    id: str
    """Of the run, as its first worker's run log named it. It stays when another worker takes the run up."""
    user_id: str
    chat_id: str
    request: dict[str, Any]
    """The request's body, cut to the message that it is about: what ``parse_chat_request`` reads."""
    digest: str
    """The fingerprint of the request."""
    chat_was_busy: bool
    """Whether another run held the chat when the request came."""
    invocation_id: str
    """What ADK calls the invocation, from which the message gets its id. Answers go on with that of their calls."""
    found_events: int
    """How many events the session had when the run began."""
    state: dict[str, Any]
    """The session's state when the run began."""
    state_delta: dict[str, Any]
    artifact_base: str | None
    """See ``RunOverrides``."""
    refusal: str | None = None
    """Why the run cannot be executed again, in a sentence for the page; ``None`` if it can."""

    def to_json(self) -> dict[str, Any]:
        """The record as JSON."""
        return asdict(self)


class NotRecordedError(Exception):
    """The engine could not record a run, which was not begun then."""


class OtherVersionError(Exception):
    """The run was begun by another version of the app's agents, or of what is kept of them."""


class Execution(Protocol):
    """One execution of a run."""

    @property
    def runner(self) -> Runner:
        """The service's runner, with the same agents, whose calls of models and tools are kept."""

    @property
    def log_id(self) -> str | None:
        """The run's id in the run log when it was executed last; ``None`` if this is the first execution."""

    @property
    def is_live(self) -> bool:
        """Whether a model has been called whose answer was not kept."""


class Engine(Protocol):
    """Keeps what a run's calls of models and tools gave, and which runs have not ended."""

    async def launch(self) -> None:
        """Connects to the engine's store. Called before the first run; later calls do nothing."""

    async def aclose(self) -> None:
        """Leaves the store. Runs that have not ended are left to other workers."""

    async def ping(self) -> None:
        """Raises if the store can take no run just now. Also called before ``launch``; not again before it has come
        back, so it may block a thread."""

    def holds(self, runner: Runner) -> bool:
        """Whether the calls of this runner's agents can be kept."""

    async def execute(
        self, record: RunRecord, runner: Runner, log_id: str, work: Callable[[Execution], Awaitable[None]]
    ) -> None:
        """Does the work of a run. When it ends, also by an error, nothing of the run is kept any more. If it is
        cancelled, or its process ends, the run is left to another worker."""

    async def execute_again(
        self, record: RunRecord, runner: Runner, log_id: str, work: Callable[[Execution], Awaitable[None]]
    ) -> None:
        """``execute`` for a run that another worker has left. Only for the holder of its chat's lease: nothing else
        keeps two workers from executing it. Raises ``OtherVersionError``."""

    async def unfinished(self, chat: tuple[str, str] | None = None) -> Sequence[RunRecord]:
        """The runs that have not ended and are not executed by this process; ``chat`` (user id, chat id): its own."""

    async def cancel(self, record: RunRecord) -> None:
        """Forgets a run, which is not executed again."""
