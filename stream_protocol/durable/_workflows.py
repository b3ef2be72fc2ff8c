"""The DBOS workflows of this process, and the work of each workflow.

Another process may have to start a workflow again, so its function cannot be a closure. The function gets only the
workflow's id. With the id, it finds its work: a coroutine function in this process.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from dbos import DBOS, SetWorkflowID, WorkflowSerializationFormat

from stream_protocol.durable._runs import OLDEST_RUN, RUN

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

CALL: Final = "adk_ui_stream.call"
"""The name of the workflow function for a call of a model or a tool."""

NOTHING: Final = "adk-ui-stream/nothing"
"""A workflow id that no workflow has. Deleting it tests whether the store can be written to."""


class Workflows:
    """Starts workflows and waits for them. Create only one ``Workflows`` object per process, because it registers its
    functions in DBOS.
    """

    def __init__(self) -> None:
        self._work: dict[str, Callable[[], Awaitable[str]]] = {}
        self._tasks: dict[str, asyncio.Task[object]] = {}

        @DBOS.workflow(name=RUN, serialization_type=WorkflowSerializationFormat.PORTABLE)
        async def run(record: str) -> str:  # noqa: ARG001 - stored as the workflow's input
            return await self._do()

        @DBOS.workflow(name=OLDEST_RUN, serialization_type=WorkflowSerializationFormat.PORTABLE)
        async def oldest_run(record: str) -> str:  # noqa: ARG001 - as above; an app's own DBOS starts stored runs
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
        """Execute a model or tool call by awaiting ``work()``. Store the result, then return it."""
        self._work[workflow_id] = work
        try:
            with SetWorkflowID(workflow_id):
                handle = await DBOS.start_workflow_async(self._call_function)
            return await handle.get_result()
        finally:
            self._leave(workflow_id)

    async def run(self, workflow_id: str, record: str, work: Callable[[], Awaitable[None]]) -> None:
        """Execute a run by awaiting ``work()``. The run's workflow is stored as pending until ``DbosEngine.cancel``
        deletes the run.
        """
        self._work[workflow_id] = _wait_for_ever
        try:
            with SetWorkflowID(workflow_id):
                await DBOS.start_workflow_async(self._run_function, record)
            await work()
        finally:
            self._leave(workflow_id)

    async def run_again(self, workflow_id: str, work: Callable[[], Awaitable[None]]) -> None:
        """Execute a run again by awaiting ``work()``. The run's workflow, which another process has started, stays
        pending.
        """
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
        # An app's own DBOS starts stored workflows at its launch. They wait, because no worker has the chat's lease
        # yet.
        return await self._work.get(workflow_id, _wait_for_ever)()

    def _leave(self, workflow_id: str) -> None:
        del self._work[workflow_id]
        task = self._tasks.pop(workflow_id, None)
        if task is not None:
            task.cancel()  # no effect on an ended task; otherwise the workflow stays pending in DBOS


async def _wait_for_ever() -> str:
    """Wait forever. A run counts as unfinished while its workflow is pending, so the workflow must not end by
    itself.
    """
    await asyncio.Event().wait()  # the run is executed elsewhere, because DBOS numbers all operations in a workflow
    return ""
