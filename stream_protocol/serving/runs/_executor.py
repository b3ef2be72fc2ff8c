"""``Executor``: executes the runs of a service. ``DurableExecutor`` of ``engine`` also recovers orphaned runs.

A service has one executor: see ``ChatService(engine=…)``.
"""

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
"""The orphaned runs that a request finds in its chat. ``recovered``: the run of an equal request, which continues.
``others``: runs of other requests. ``none``: no orphaned runs."""


class Executor:
    """Executor without recovery: a run is lost if its worker dies.

    Methods for orphaned runs, the runs of dead workers, do nothing here. A subclass implements them. All methods except
    ``execute`` raise ``ChatRequestError`` (503) if a store is unreachable.
    """

    def __init__(self, runs: ActiveRuns, work: RunWork) -> None:
        self._runs = runs
        self._work = work

    async def start(self) -> None:
        """Starts to recover orphaned runs. Later calls do nothing."""

    def drain(self) -> None:
        """Stops recovering orphaned runs."""

    async def aclose(self) -> None:
        """Stops recovering runs, and closes the engine."""

    async def execute(self, run: Run, job: Job) -> None:
        """Executes a new run to its end. Raises ``NotRecordedError`` if the engine could not record the run."""
        with self._work.observed(run, job):
            await self._work.do(run, job, job.events(run))

    async def recover_same(self, key: ChatKey, claim: Claim) -> FoundOrphans:
        """Recovers the orphaned run of an earlier, equal request, under the claim of the current request."""
        return "none"

    async def recover(self, key: ChatKey) -> None:
        """Recovers the orphaned runs of the chat, for a request that waits for their end."""

    async def cancel(self, key: ChatKey) -> None:
        """Cancels the orphaned runs of a chat whose lease the caller holds."""

    async def stop(self, key: ChatKey) -> bool:
        """Stops the active run and the orphaned runs of the chat. Returns False if there was none."""
        return await self._runs.stop(key)

    async def lacks_message(self, key: ChatKey, session: Session) -> bool:
        """Returns True if an orphaned run of the chat has not stored its user message yet."""
        return False

    async def wait_for_message(self, key: ChatKey, seconds: float) -> None:
        """Waits up to ``seconds`` until the chat has no orphaned run."""

    async def wait_until_recovered(self, key: ChatKey) -> bool:
        """Waits until the chat has no orphaned run. Returns True if the chat may have an active run now."""
        return False
