"""The DBOS workflows of this process: what each of them does, by its id.

A workflow's function cannot be given a closure, since another process may have to begin it. So it looks up its work by
its id, where the process that holds the chat's lease has put it before.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from dbos import DBOS, SetWorkflowID, WorkflowSerializationFormat

from stream_protocol.durable._runs import OLDEST_RUN, RUN

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

CALL: Final = "adk_ui_stream.call"
"""The name of the workflow function of a call of a model or a tool."""

NOTHING: Final = "adk-ui-stream/nothing"
"""The id of no workflow."""


class Workflows:
    """Begins workflows and waits for them. At most one object in a process: DBOS keeps the functions' names."""

    def __init__(self) -> None:
        self._work: dict[str, Callable[[], Awaitable[str]]] = {}
        self._tasks: dict[str, asyncio.Task[object]] = {}

        @DBOS.workflow(name=RUN, serialization_type=WorkflowSerializationFormat.PORTABLE)
        async def run(record: str) -> str:  # noqa: ARG001 - kept as the workflow's input
            return await self._do()

        @DBOS.workflow(name=OLDEST_RUN, serialization_type=WorkflowSerializationFormat.PORTABLE)
        async def oldest_run(record: str) -> str:  # noqa: ARG001 - as above; an app's own DBOS begins those that it finds
            return await self._do()

        @DBOS.workflow(name=CALL, serialization_type=WorkflowSerializationFormat.PORTABLE)
        async def call() -> str:
            return await self._do()

        self._run_function, self._call_function = run, call

    @property
    def executed(self) -> frozenset[str]:
        """The ids of the workflows that this process executes."""
        return frozenset(self._work)

    async def call(self, workflow_id: str, work: Callable[[], Awaitable[str]]) -> str:
        """Does a call and returns its result once that is kept."""
        self._work[workflow_id] = work
        try:
            with SetWorkflowID(workflow_id):
                handle = await DBOS.start_workflow_async(self._call_function)
            return await handle.get_result()
        finally:
            self._leave(workflow_id)

    async def run(self, workflow_id: str, record: str, work: Callable[[], Awaitable[None]]) -> None:
        """Does the work of a run, which is kept as unfinished. The code that ends the run deletes the workflow."""
        self._work[workflow_id] = _wait_for_ever
        try:
            with SetWorkflowID(workflow_id):
                await DBOS.start_workflow_async(self._run_function, record)
            await work()
        finally:
            self._leave(workflow_id)

    async def run_again(self, workflow_id: str, work: Callable[[], Awaitable[None]]) -> None:
        """``run`` for a workflow that another process has begun. It stays as it is kept: see ``_wait_for_ever``."""
        self._work[workflow_id] = _wait_for_ever
        try:
            await work()
        finally:
            self._leave(workflow_id)

    async def _do(self) -> str:
        workflow_id = DBOS.workflow_id
        task = asyncio.current_task()
        assert workflow_id is not None
        assert task is not None
        self._tasks[workflow_id] = task
        # An app's own DBOS begins what it finds when it starts: nothing is done then before the chat is claimed.
        return await self._work.get(workflow_id, _wait_for_ever)()

    def _leave(self, workflow_id: str) -> None:
        del self._work[workflow_id]
        task = self._tasks.pop(workflow_id, None)
        if task is not None:
            task.cancel()  # does nothing if it has ended; else it stays unfinished in DBOS


async def _wait_for_ever() -> str:
    """The workflow of a run, which does nothing: it only marks that the run has not ended.

    The run's work is done outside of it, because DBOS numbers all that begins inside. The mark needs no process:
    another process that goes on with the run leaves the workflow as it is.
    """
    await asyncio.Event().wait()
    return ""
