"""Calls of models and tools whose results are kept: each is done once, however often its run is executed.

Each call is a workflow of its own, whose id names the run and the call. It is no step of the run, nor its child: DBOS
numbers these in the order in which they begin, which parallel branches may change. A workflow is stored as unfinished
before it begins, so a call that began and did not end is known.
"""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from dbos import DBOS

from stream_protocol.adk import UsedCalls

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from stream_protocol.adk import ToolUse
    from stream_protocol.durable._workflows import Workflows


class UnfinishedCallError(Exception):
    """The call began in an earlier execution. It is unknown if the call has done its work."""


class CallJournal:
    """The calls of one execution of a run.

    ``again``: the run was executed before. ``names_by_id``: as for ``UsedCalls``.
    """

    def __init__(self, workflows: Workflows, run_id: str, *, again: bool, names_by_id: bool = False) -> None:
        self._is_live = not again
        self._workflows = workflows
        self._run_id = run_id
        self._again = again
        self._model_calls = Counter[str]()
        self._used = UsedCalls(names_by_id=names_by_id)

    @property
    def is_live(self) -> bool:
        """True once a model has been called whose answer was not kept."""
        return self._is_live

    def go_live(self) -> None:
        """A model is called whose answer was not kept."""
        self._is_live = True

    @contextmanager
    def current(self) -> Iterator[None]:
        """Keeps the calls that are made here, and in tasks that are begun here."""
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)

    def model_call(self, agent: str, branch: str | None) -> str:
        """The name of the next call of a model by this agent in this branch, which is the same in each execution."""
        name = f"model/{agent}/{branch or ''}"
        self._model_calls[name] += 1
        return f"{name}/{self._model_calls[name]}"

    def tool_call(self, use: ToolUse) -> str:
        """The name of the next call like this one: see ``UsedCalls``."""
        return self._used.name(use)

    async def kept(self, name: str) -> str | None:
        """The result of a call of an earlier execution; ``None`` if there is none."""
        for attempt in range(await self._attempts(name)):
            status = await DBOS.get_workflow_status_async(self._id(name, attempt))
            if status is not None and status.status == "SUCCESS":
                return str(status.output)
        return None

    async def do(self, name: str, work: Callable[[], Awaitable[str]], *, repeatable: bool) -> str:
        """Does a call that has no result yet, and returns its result once that is kept.

        ``repeatable``: whether it may be done again if an earlier execution began it; else raises
        ``UnfinishedCallError`` then.
        """
        attempts = await self._attempts(name)
        if attempts and not repeatable:
            raise UnfinishedCallError

        async def outside() -> str:
            token = _current.set(None)  # what a tool calls is a part of it, and kept with it
            try:
                return await work()
            finally:
                _current.reset(token)

        return await self._workflows.call(self._id(name, attempts), outside)

    async def _attempts(self, name: str) -> int:
        """The number of earlier executions that have begun this call."""
        attempts = 0
        while self._again and await DBOS.get_workflow_status_async(self._id(name, attempts)) is not None:
            attempts += 1
        return attempts

    def _id(self, name: str, attempt: int) -> str:
        return f"{self._run_id}/{name}#{attempt}"


_current: ContextVar[CallJournal | None] = ContextVar("kept_calls", default=None)


def current_calls() -> CallJournal | None:
    """The kept calls of the run that goes on here."""
    return _current.get()
