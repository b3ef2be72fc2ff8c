"""Stores the results of model and tool calls. If a run is executed again after a crash, stored calls are not repeated.

Each call is a separate DBOS workflow. The workflow's id contains the run and the call's name. Calls are not steps or
children of the run's workflow, because DBOS identifies these by the order in which they start. With parallel branches,
the order can change. DBOS stores a workflow as pending before it starts. So the journal can find a call that began and
did not end.
"""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from dbos import DBOS

from stream_protocol.adk import UsedCalls

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from stream_protocol.adk import CallReference
    from stream_protocol.durable._workflows import Workflows


class UnfinishedCallError(Exception):
    """Raised for a call that an earlier execution of the run began, but did not finish. Nobody knows if the call had an
    effect.
    """


class CallJournal:
    """Stores the results of the model and tool calls in one execution of a run.

    ``again``: True if the run was executed before. ``names_by_id``: see ``UsedCalls``.
    """

    def __init__(self, workflows: Workflows, run_id: str, *, again: bool, names_by_id: bool = False) -> None:
        self.is_live = not again
        """True in a first execution; in a later execution, once a model call without a stored result begins."""
        self._workflows = workflows
        self._run_id = run_id
        self._again = again
        self._model_calls = Counter[str]()
        self._used = UsedCalls(names_by_id=names_by_id)

    def go_live(self) -> None:
        """Set ``is_live`` to True. Called at the first model call without a stored result."""
        self.is_live = True

    @contextmanager
    def current(self) -> Iterator[None]:
        """Context manager: inside it, and in tasks that start inside it, ``current_calls`` returns this journal."""
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)

    def model_call(self, agent: str, branch: str | None) -> str:
        """Return the name of the agent's next model call in this branch. The call has the same name in each execution
        of the run.
        """
        name = _model_calls(agent, branch)
        self._model_calls[name] += 1
        return f"{name}/{self._model_calls[name]}"

    async def repeats_model_call(self, agent: str, branch: str | None) -> bool:
        """Return True if the result of the agent's next model call in this branch is already stored."""
        name = _model_calls(agent, branch)
        return await self.kept(f"{name}/{self._model_calls[name] + 1}") is not None

    def tool_call(self, call: CallReference, args: Any, *, confirmed: bool) -> str:
        """Return the name of the tool call. The journal stores the result of the call with this name. See
        ``UsedCalls``.
        """
        return self._used.name(call, args, confirmed=confirmed)

    async def kept(self, name: str) -> str | None:
        """Return the stored result of the call ``name``; ``None`` if no result is stored."""
        for attempt in range(await self._attempts(name)):
            status = await DBOS.get_workflow_status_async(self._id(name, attempt))
            if status is not None and status.status == "SUCCESS":
                return str(status.output)
        return None

    async def do(self, name: str, work: Callable[[], Awaitable[str]], *, repeatable: bool) -> str:
        """Execute a call that has no stored result, by awaiting ``work()``. Store the result, then return it.

        ``repeatable``: True if the call may be executed twice. If it is False, and an earlier execution of the run
        began the call, ``UnfinishedCallError`` is raised.
        """
        attempts = await self._attempts(name)
        if attempts and not repeatable:
            raise UnfinishedCallError

        async def outside() -> str:
            token = _current.set(None)  # the tool's result includes the results of calls inside the tool
            try:
                return await work()
            finally:
                _current.reset(token)

        return await self._workflows.call(self._id(name, attempts), outside)

    async def _attempts(self, name: str) -> int:
        attempts = 0
        while self._again and await DBOS.get_workflow_status_async(self._id(name, attempts)) is not None:
            attempts += 1
        return attempts

    def _id(self, name: str, attempt: int) -> str:
        return f"{self._run_id}/{name}#{attempt}"


def _model_calls(agent: str, branch: str | None) -> str:
    return f"model/{agent}/{branch or ''}"


_current: ContextVar[CallJournal | None] = ContextVar("kept_calls", default=None)


def current_calls() -> CallJournal | None:
    """Return the current run's journal; ``None`` outside a durable run."""
    return _current.get()
