"""Provides ``Executor``, which executes the runs of a service. ``DurableExecutor`` of ``engine`` also recovers orphaned
runs. ``ChatService(engine=…)`` selects the executor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from google.adk.sessions import Session

    from stream_protocol.serving.chats import ChatKey
    from stream_protocol.serving.runs._active_runs import ActiveRuns
    from stream_protocol.serving.runs._claim import Claim
    from stream_protocol.serving.runs._job import Job
    from stream_protocol.serving.runs._run import Run
    from stream_protocol.serving.runs._run_work import RunWork

FoundOrphans: TypeAlias = Literal["recovered", "others", "none"]
"""The orphaned runs that a request has found in its chat: the runs of dead workers.

``recovered``: the orphaned run of an equal request, which this request now continues. ``others``: orphaned runs of
other requests. ``none``: no orphaned runs.
"""


class Executor:
    """Executes the runs of a service without an engine. A run is lost if its worker dies.

    Methods for orphaned runs (the runs of dead workers) do nothing here. A subclass implements them. All methods except
    ``execute`` raise ``ChatRequestError`` (503) if a store is unreachable.
    """

    def __init__(self, runs: ActiveRuns, work: RunWork) -> None:
        self._runs = runs
        self._work = work

    async def start(self) -> None:
        """Starts the recovery of orphaned runs. Later calls do nothing."""

    def drain(self) -> None:
        """Ends the recovery of orphaned runs."""

    async def aclose(self) -> None:
        """Ends the recovery of orphaned runs, and closes the engine."""

    async def execute(self, run: Run, job: Job) -> None:
        """Executes a new run to its end. Raises ``NotRecordedError`` if the engine could not store the run."""
        with self._work.observed(run, job):
            await self._work.do(run, job, job.events(run))

    async def recover_same(self, key: ChatKey, claim: Claim) -> FoundOrphans:
        """Recovers the orphaned run of an earlier, equal request. The run uses the claim of the current request."""
        return "none"

    async def recover(self, key: ChatKey) -> None:
        """Recovers the orphaned runs of the chat, because a request waits until they have ended."""

    async def cancel(self, key: ChatKey) -> None:
        """Cancels the orphaned runs of the chat. The caller must hold the chat's lease."""

    async def stop(self, key: ChatKey) -> bool:
        """Stops the active run and the orphaned runs of the chat. Returns False if the chat had none."""
        return await self._runs.stop(key)

    async def lacks_message(self, key: ChatKey, session: Session) -> bool:
        """Returns True if the chat has an orphaned run whose user message is not yet stored."""
        return False

    async def wait_for_message(self, key: ChatKey, seconds: float) -> None:
        """Waits up to ``seconds`` until the chat has no orphaned run."""

    async def wait_until_recovered(self, key: ChatKey) -> bool:
        """Waits until the chat has no orphaned run. Returns True if the chat may have an active run now."""
        return False
