"""The interface of an engine. With an engine, another worker can execute a run again if its worker dies. For an
implementation, see ``stream_protocol.durable``.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeAlias

from stream_protocol.stream import Ending

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from typing import Self

    from google.adk.runners import Runner

CRASHES_OF_SUSPECT: Final = 2
"""The number of crashes after which a run is a suspect: the run may have caused them. If possible, a suspect is then
its worker's only run."""

MAX_CRASHES: Final = 6
"""The number of crashes after which no worker executes the run again, even if it was never the only run of its
worker."""

LiveState: TypeAlias = Literal["running", "alone", "left"]
"""The state of an execution without an end. ``running``: the worker executes the run, or has crashed. ``alone``: like
``running``, but this run is the worker's only run. ``left``: the worker has left the run to other workers, so it has
not crashed."""

ExecutionState: TypeAlias = LiveState | Ending
"""The state of one execution. An ``Ending``: the client has received this end, but the session may lack it."""


_KEYS: Final = {"idempotency_key": "digest"}
"""The fields of ``RunRecord`` that are stored under another name."""


@dataclass(frozen=True)
class ToldEnd:
    """The end of a response, as the client has received it."""

    outcome: Ending
    error_text: str = ""
    """The text of the ``error`` chunk."""
    shown: tuple[str, ...] | None = None
    """The ids of the complete events that the client received; ``None`` if unknown."""
    unfinished_text: str = ""
    """The last text that the client received, if no complete event contains it."""


@dataclass(frozen=True, kw_only=True)
class Deployment:
    """The names of an app and its stores. An engine's store may contain runs of several deployments."""

    app: str
    run_log: str
    session_store: str


@dataclass(frozen=True, kw_only=True)
class RunRecord:
    """The data that an engine stores for a run, so that another worker can execute the run again. All
    values are JSON.
    """

    id: str
    """The run-log id of the run's first execution."""
    user_id: str
    chat_id: str
    request: dict[str, Any]
    """The body of the request, for ``parse_chat_request``, with the chat's last message. If the message before it has
    the user's answers to tool calls, the body also contains that message."""
    idempotency_key: str
    chat_was_busy: bool
    """True if another run was active in the chat when the request arrived."""
    invocation_id: str
    """ADK's invocation id for the run of a new user message. The id of the assistant message depends on it. A run with
    answers to tool calls continues the invocation of these calls instead."""
    found_events: int
    """Number of events in the session when the engine stored the run."""
    state: dict[str, Any]
    state_delta: dict[str, Any]
    artifact_base: str | None
    """See ``RunOverrides``."""
    refusal: str | None = None
    """The error text for the client if the run cannot be executed again; otherwise ``None``."""
    words: list[dict[str, Any]] | None = None
    """The texts and files of the user's message: see ``record_content``. ``None`` for answers to tool calls."""
    trace: str | None = None
    """The tracing span of the first execution, as a ``traceparent`` header; ``None`` without tracing."""
    deployment: dict[str, str] | None = None
    """The ``Deployment`` of the run; ``None`` if an older release has stored the run."""
    rewind_before: str | None = None
    """The invocation that the run rewinds before it stores the user's message: see ``NewUserTurn``. ``None`` without a
    rewind, or if an older release has stored the run."""

    @property
    def key(self) -> tuple[str, str]:
        return self.user_id, self.chat_id

    def to_json(self) -> dict[str, Any]:
        """Return the record as JSON. Omits optional fields that have no value, so that older releases can also read the
        record.
        """
        kept = asdict(self)
        optional = {field.name for field in fields(self) if field.default is None}
        return {_KEYS.get(name, name): kept[name] for name in kept if kept[name] is not None or name not in optional}

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Self | None:
        """Return the record; ``None`` if this release cannot read the JSON."""
        fields_by_key = {_KEYS.get(field.name, field.name): field.name for field in fields(cls)}
        if not kept.keys() <= fields_by_key.keys():
            return None
        try:
            return cls(**{fields_by_key[key]: kept[key] for key in kept})
        except TypeError:
            return None


@dataclass(frozen=True, kw_only=True)
class OrphanedRun:
    """An unfinished run that this process does not execute. The worker of the run may be dead."""

    record: RunRecord
    executions: Mapping[str, ExecutionState]
    """The state of each execution, by its id in the run log."""
    log_id: str
    """The run-log id of the last execution."""
    error_text: str = ""
    shown: tuple[str, ...] | None = None
    unfinished_text: str = ""
    """For ``error_text``, ``shown`` and ``unfinished_text``, see ``ToldEnd``."""

    @property
    def crashes(self) -> int:
        """The number of workers that may have crashed during the run. Includes the run's last worker, even if it is
        alive. Excludes workers that shut down properly.
        """
        return sum(state != "left" for state in self.executions.values())

    @property
    def is_suspect(self) -> bool:
        return self.crashes >= CRASHES_OF_SUSPECT

    @property
    def is_given_up(self) -> bool:
        """True if no worker may execute the run again. This is the case if the run has crashed ``MAX_CRASHES`` workers,
        or one worker that executed only this run.
        """
        return self.is_suspect and ("alone" in self.executions.values() or self.crashes >= MAX_CRASHES)


class OtherVersionError(Exception):
    """Raised if a run was begun by another version of the app's agents."""


class Execution(Protocol):
    """One execution of a run. If its worker crashes, the run is executed again."""

    @property
    def runner(self) -> Runner:
        """The runner of the service, with agents that store the results of their model and tool calls in the engine."""

    @property
    def is_live(self) -> bool:
        """False while the execution only repeats stored results. True from the first model call without a stored
        result.
        """

    async def repeats_model_call(self, agent: str, branch: str | None) -> bool:
        """Return True if the engine has stored the result of the agent's next model call in ``branch``.

        Called before the ``before_model_callback`` of the agent.
        """


class Engine(Protocol):
    """The interface of an engine, which stores unfinished runs, and the results of their model and tool calls."""

    @property
    def is_shared(self) -> bool:
        """True if several processes can use the store of the engine at the same time. These processes also need a
        shared run log.
        """

    def attach(self, deployment: Deployment) -> None:
        """Sets the deployment. The engine stores and finds only the runs of this deployment. Called once, before all
        other methods.
        """

    async def start(self) -> None:
        """Connects to the store of the engine. Called before the first run. Later calls do nothing."""

    async def aclose(self) -> None:
        """Closes the store of the engine. Other workers then recover the unfinished runs."""

    async def ping(self) -> None:
        """Raises an error if the engine cannot store a run at present. May be called before ``start``. Calls are never
        concurrent, so this method may use a thread.
        """

    def unsupported(self, runner: Runner) -> Sequence[str]:
        """Return the names of agents and other parts of the runner that the engine does not support. The engine cannot
        store the model calls or tool calls of these parts.
        """

    async def execute(
        self, record: RunRecord, runner: Runner, log_id: str, work: Callable[[Execution], Awaitable[None]]
    ) -> None:
        """Stores the run, then executes ``work``. The caller deletes the stored run with ``cancel`` when the run has
        ended.
        """

    async def execute_again(
        self,
        record: RunRecord,
        runner: Runner,
        log_id: str,
        work: Callable[[Execution], Awaitable[None]],
        *,
        alone: bool = False,
    ) -> None:
        """Executes the run of a dead worker again. Does nothing if the stored run was deleted. Raises
        ``OtherVersionError``.

        The caller must hold the lease of the chat (the right to run an agent in it), so that no second worker executes
        the run. ``alone``: True if this worker executes no other run.
        """

    async def mark(self, record: RunRecord, log_id: str, state: LiveState | ToldEnd) -> None:
        """Stores ``state`` for one execution of a run. Does nothing if the stored run was deleted.

        A stored ``ToldEnd`` is final: a ``LiveState`` does not replace it.
        """

    async def unfinished(self, chat: tuple[str, str] | None = None) -> Sequence[OrphanedRun]:
        """Return the unfinished runs of the deployment. Omits runs that this process executes, and runs that this
        release cannot read. ``chat``: return only the runs of this chat.
        """

    async def cancel(self, record: RunRecord, *, has_ended: bool = False) -> None:
        """Deletes a run from the store of the engine, so that the run is not executed again.

        If a model call or tool call is active, the engine may keep its data until the call ends. ``has_ended``: True if
        this worker has executed the run to its end.
        """
