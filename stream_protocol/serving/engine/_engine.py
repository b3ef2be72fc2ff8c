"""Interface of an engine, which executes a run again when its worker is dead. See ``stream_protocol.durable``."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeAlias, get_args

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from typing import Self

    from google.adk.runners import Runner

CRASHES_OF_SUSPECT: Final = 2
"""A run whose workers have crashed so often is recovered alone on its worker."""

MAX_CRASHES: Final = 6
"""A run is given up after so many crashes, even if it was never alone on its worker."""

EndState: TypeAlias = Literal["stopped", "failed", "timeout"]
"""The end of a run that its page was told, and that may not be stored yet. ``stopped``: ``abort``, since the user has
stopped the run. ``failed``: an ``error``. ``timeout``: an ``error``, since the run came to a limit of the server's."""

LiveState: TypeAlias = Literal["running", "alone", "left"]
"""``running``: a worker executes the run, or has crashed while it did. ``alone``: the same, and that worker executed no
other run. ``left``: the worker has left the run to others in order, or was only paused. It has not crashed."""

ExecutionState: TypeAlias = LiveState | EndState

STATES: Final = frozenset((*get_args(LiveState), *get_args(EndState)))
"""All that this release knows. It leaves a run alone of which a newer one has noted another."""


_KEYS: Final = {"idempotency_key": "digest"}
"""Fields of ``RunRecord`` that have another name where records are kept."""


@dataclass(frozen=True)
class ToldEnd:
    """The end that the page of a run was told."""

    state: EndState
    error_text: str = ""
    """The text of the ``error``."""
    shown: tuple[str, ...] | None = None
    """The ids of the complete events that the page was shown before; ``None`` if nobody knows."""
    unfinished_text: str = ""
    """The text that the page was shown last, if no complete event has repeated it."""


@dataclass(frozen=True, kw_only=True)
class Deployment:
    """The stores that a service works with. Runs of other deployments may be kept in the same engine."""

    app: str
    run_log: str
    session_store: str


@dataclass(frozen=True, kw_only=True)
class RunRecord:
    """All that another worker needs to execute a run again. Every value is JSON."""

    id: str
    """Of the run, as its first worker's run log named it. It stays when another worker recovers the run."""
    user_id: str
    chat_id: str
    request: dict[str, Any]
    """The request's body, cut to the message that it is about: what ``parse_chat_request`` reads."""
    idempotency_key: str
    """Of the request."""
    chat_was_busy: bool
    """True if another run held the chat when the request came."""
    invocation_id: str
    """ADK's id of the invocation, from which the message gets its id. Answers continue that of their calls."""
    found_events: int
    """Number of events in the session when the run began."""
    state: dict[str, Any]
    """The session's state when the run began."""
    state_delta: dict[str, Any]
    artifact_base: str | None
    """See ``RunOverrides``."""
    refusal: str | None = None
    """Why the run cannot be executed again, in a sentence for the page; ``None`` if it can."""
    words: list[dict[str, Any]] | None = None
    """Texts and files of the user's message: see ``record_content``. ``None`` for answers."""
    trace: str | None = None
    """The span of the first execution, as the header ``traceparent`` names it; ``None`` if nobody traces."""
    deployment: dict[str, str] | None = None
    """See ``Deployment``; ``None`` in records of older releases, which do not have it."""

    def to_json(self) -> dict[str, Any]:
        """The record as JSON."""
        kept = asdict(self)
        return {_KEYS.get(name, name): kept[name] for name in kept}

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Self | None:
        """Return the record that was kept; ``None`` if this release cannot read it."""
        fields_by_key = {_KEYS.get(field.name, field.name): field.name for field in fields(cls)}
        if not kept.keys() <= fields_by_key.keys():
            return None
        try:
            return cls(**{fields_by_key[key]: kept[key] for key in kept})
        except TypeError:
            return None


@dataclass(frozen=True, kw_only=True)
class OrphanedRun:
    """A run that has not ended, and that this process does not execute: its worker may be dead."""

    record: RunRecord
    executions: Mapping[str, ExecutionState]
    """State of each execution, by the run's id in the run log then."""
    log_id: str
    """The run's id in the run log when it was executed last."""
    error_text: str = ""
    shown: tuple[str, ...] | None = None
    unfinished_text: str = ""
    """All three: see ``ToldEnd``."""

    @property
    def crashes(self) -> int:
        """Number of workers that crashed while they executed the run. It counts the newest one, which may be alive."""
        return sum(state != "left" for state in self.executions.values())

    @property
    def told_end(self) -> ToldEnd | None:
        """The end that the page was told. Such a run is only to be ended so."""
        ends = (end for end in get_args(EndState) if end in self.executions.values())
        return next((ToldEnd(end, self.error_text, self.shown, self.unfinished_text) for end in ends), None)

    @property
    def is_suspect(self) -> bool:
        """True if the run may be the cause of its workers' crashes."""
        return self.crashes >= CRASHES_OF_SUSPECT

    @property
    def is_given_up(self) -> bool:
        """True if the run is not executed again: a worker has crashed that executed nothing else, or too many have."""
        return self.is_suspect and ("alone" in self.executions.values() or self.crashes >= MAX_CRASHES)


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
        """True once a model was called whose answer was not kept."""


class Engine(Protocol):
    """Keeps what a run's calls of models and tools gave, and which runs have not ended."""

    @property
    def is_shared(self) -> bool:
        """True if several processes may use the store at once. Then they need a run log that they share."""

    def attach(self, deployment: Deployment) -> None:
        """Says whose runs are kept and looked for. Called once, before all else."""

    async def start(self) -> None:
        """Connects to the engine's store. Called before the first run; later calls do nothing."""

    async def aclose(self) -> None:
        """Leaves the store. Runs that have not ended are left to other workers."""

    async def ping(self) -> None:
        """Raises if the store can take no run just now. Also called before ``start``; not again before it has come
        back, so it may block a thread."""

    def supports(self, runner: Runner) -> bool:
        """Return True if the calls of this runner's agents can be kept."""

    async def execute(
        self, record: RunRecord, runner: Runner, log_id: str, work: Callable[[Execution], Awaitable[None]]
    ) -> None:
        """Keeps the record, then does the work of a run. The code that ends the run calls ``cancel``."""

    async def execute_again(
        self,
        record: RunRecord,
        runner: Runner,
        log_id: str,
        work: Callable[[Execution], Awaitable[None]],
        *,
        alone: bool = False,
    ) -> None:
        """``execute`` for a run that another worker has left. Only for the holder of its chat's lease: nothing else
        keeps two workers from executing it. ``alone``: whether this worker executes no other run.

        Does nothing if nothing is kept of the run any more. Raises ``OtherVersionError``.
        """

    async def mark(self, record: RunRecord, log_id: str, state: LiveState | ToldEnd) -> None:
        """Keeps the state of one execution. Does nothing if nothing is kept of the run any more.

        An end stays, whatever live state is marked later: another worker may stop a run whose own worker leaves it.
        """

    async def unfinished(self, chat: tuple[str, str] | None = None) -> Sequence[OrphanedRun]:
        """The deployment's runs that have not ended and are not executed by this process; ``chat`` (user id, chat id):
        its own. Records that this release cannot read are left out."""

    async def cancel(self, record: RunRecord, *, has_ended: bool = False) -> None:
        """Forgets a run, which is not executed again. A call that goes on somewhere may be kept until it has ended.

        ``has_ended``: this worker has executed the run to its end, so nothing of it goes on.
        """
