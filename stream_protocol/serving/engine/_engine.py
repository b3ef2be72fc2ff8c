"""Interface of an engine, which executes a run again after its worker has died. See ``stream_protocol.durable``."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeAlias

from stream_protocol.stream import Ending

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from typing import Self

    from google.adk.runners import Runner

CRASHES_OF_SUSPECT: Final = 2
"""Number of crashes from which a run is a suspect. A suspect is recovered while its worker executes no other run."""

MAX_CRASHES: Final = 6
"""Number of crashes after which a run is not executed again, even if its worker never executed it alone."""

LiveState: TypeAlias = Literal["running", "alone", "left"]
"""The state of an execution without an end. ``running``: a worker executes the run, or has crashed during the run.
``alone``: like ``running``, and the worker executes no other run. ``left``: the worker has handed the run over to other
workers, and has not crashed."""

ExecutionState: TypeAlias = LiveState | Ending
"""The state of an execution. An ``Ending``: the client has received this end of the response, but the session may not
have it yet.
"""


_KEYS: Final = {"idempotency_key": "digest"}
"""Names of ``RunRecord`` fields in stored records, if they differ."""


@dataclass(frozen=True)
class ToldEnd:
    """The end of a run's response, which the client has received."""

    outcome: Ending
    error_text: str = ""
    """The text of the ``error``."""
    shown: tuple[str, ...] | None = None
    """The ids of the complete events that the client has received before the end; ``None`` if unknown."""
    unfinished_text: str = ""
    """The last text that the client has received, if no complete event contains this text."""


@dataclass(frozen=True, kw_only=True)
class Deployment:
    """The names of a service's app and stores. The engine may also contain runs of other deployments."""

    app: str
    run_log: str
    session_store: str


@dataclass(frozen=True, kw_only=True)
class RunRecord:
    """The data that another worker needs to execute a run again. Every value is JSON."""

    id: str
    """The run's id in the run log of its first worker. A recovery does not change it."""
    user_id: str
    chat_id: str
    request: dict[str, Any]
    """The request's body for ``parse_chat_request``, with only its last message."""
    idempotency_key: str
    """The idempotency key of the request."""
    chat_was_busy: bool
    """True if another run was active in the chat when the request arrived."""
    invocation_id: str
    """ADK's id of the invocation. The id of the assistant message depends on it. A user's answer continues the
    invocation of its call."""
    found_events: int
    """Number of events in the session when the run began."""
    state: dict[str, Any]
    """The session's state when the run began."""
    state_delta: dict[str, Any]
    artifact_base: str | None
    """See ``RunOverrides``."""
    refusal: str | None = None
    """An error text for the client if the run cannot be executed again; else ``None``."""
    words: list[dict[str, Any]] | None = None
    """Texts and files of the user's message: see ``record_content``. ``None`` for answers to calls."""
    trace: str | None = None
    """The span of the first execution, as a ``traceparent`` header; ``None`` without tracing."""
    deployment: dict[str, str] | None = None
    """See ``Deployment``; ``None`` in records of older releases, which do not have it."""

    @property
    def key(self) -> tuple[str, str]:
        """The key of the run's chat: user id, chat id."""
        return self.user_id, self.chat_id

    def to_json(self) -> dict[str, Any]:
        """Return the record as JSON."""
        kept = asdict(self)
        return {_KEYS.get(name, name): kept[name] for name in kept}

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Self | None:
        """Return the record for stored JSON; ``None`` if this release cannot read it."""
        fields_by_key = {_KEYS.get(field.name, field.name): field.name for field in fields(cls)}
        if not kept.keys() <= fields_by_key.keys():
            return None
        try:
            return cls(**{fields_by_key[key]: kept[key] for key in kept})
        except TypeError:
            return None


@dataclass(frozen=True, kw_only=True)
class OrphanedRun:
    """A run that has not ended, and that this process does not execute. Its worker may be dead."""

    record: RunRecord
    executions: Mapping[str, ExecutionState]
    """State of each execution, by the execution's id in the run log."""
    log_id: str
    """The id of the last execution in the run log."""
    error_text: str = ""
    shown: tuple[str, ...] | None = None
    unfinished_text: str = ""
    """``error_text``, ``shown`` and ``unfinished_text``: see ``ToldEnd``."""

    @property
    def crashes(self) -> int:
        """Number of workers that crashed while they executed the run.

        The run's last worker counts as crashed, even if it is still alive.
        """
        return sum(state != "left" for state in self.executions.values())

    @property
    def is_suspect(self) -> bool:
        """True if the run may be the cause of its workers' crashes."""
        return self.crashes >= CRASHES_OF_SUSPECT

    @property
    def is_given_up(self) -> bool:
        """True if the run is not executed again: it has crashed a worker on which it ran alone, or it has crashed too
        many workers.
        """
        return self.is_suspect and ("alone" in self.executions.values() or self.crashes >= MAX_CRASHES)


class OtherVersionError(Exception):
    """Raised if the run was begun by another version of the app's agents, or of the stored format."""


class Execution(Protocol):
    """One execution of a run."""

    @property
    def runner(self) -> Runner:
        """The service's runner, with agents whose model and tool calls are stored."""

    @property
    def is_live(self) -> bool:
        """True after the first model call without a stored result. Until then, the execution replays stored results."""

    async def repeats_model_call(self, agent: str, branch: str | None) -> bool:
        """Return True if the result of the agent's next model call in this branch is stored.

        Called before the ``before_model_callback`` of the agent.
        """


class Engine(Protocol):
    """Interface for the store of unfinished runs, and of the results of their model and tool calls."""

    @property
    def is_shared(self) -> bool:
        """True if several processes can use the store at once. They need a shared run log then."""

    def attach(self, deployment: Deployment) -> None:
        """Sets the deployment whose runs are stored and searched. Called once, before all other methods."""

    async def start(self) -> None:
        """Connects to the engine's store. Called before the first run; later calls do nothing."""

    async def aclose(self) -> None:
        """Closes the store. Other workers recover the unfinished runs."""

    async def ping(self) -> None:
        """Raises if the store cannot record a run now. Can be called before ``start``.

        Calls never overlap, so the method may block a thread.
        """

    def unsupported(self, runner: Runner) -> Sequence[str]:
        """Return the parts of this runner whose calls the engine cannot store, such as agents with their kind, for a
        log.

        The list is empty if the engine can store all calls of the agents.
        """

    async def execute(
        self, record: RunRecord, runner: Runner, log_id: str, work: Callable[[Execution], Awaitable[None]]
    ) -> None:
        """Stores the record, then executes ``work``. The caller deletes the record with ``cancel`` after the run."""

    async def execute_again(
        self,
        record: RunRecord,
        runner: Runner,
        log_id: str,
        work: Callable[[Execution], Awaitable[None]],
        *,
        alone: bool = False,
    ) -> None:
        """Executes an orphaned run again. The caller must hold the lease of the chat, so that no second worker executes
        the run. ``alone``: True if this worker executes no other run.

        Does nothing if the record was deleted. Raises ``OtherVersionError``.
        """

    async def mark(self, record: RunRecord, log_id: str, state: LiveState | ToldEnd) -> None:
        """Stores the state of one execution. Does nothing if the record was deleted.

        A ``LiveState`` never replaces a ``ToldEnd``. For example, another worker may have stored the end of a stopped
        run before the run's own worker shuts down.
        """

    async def unfinished(self, chat: tuple[str, str] | None = None) -> Sequence[OrphanedRun]:
        """Return the deployment's unfinished runs that this process does not execute.

        ``chat``: user id and chat id, to return only the runs of this chat. Unreadable records are skipped.
        """

    async def cancel(self, record: RunRecord, *, has_ended: bool = False) -> None:
        """Deletes the record of a run, so that the run is not executed again.

        The engine may keep the data of an active call until the call has ended.

        ``has_ended``: True if this worker has executed the run to its end, so that no call is active.
        """
