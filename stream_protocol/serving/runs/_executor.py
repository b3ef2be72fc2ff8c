"""``Executor``: executes runs. ``engine`` has one that recovers the runs of dead workers, too.

A service has one of them for all its life: see ``ChatService(engine=…)``.
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
"""The orphaned runs that a request finds in its chat. ``recovered``: one of them answers this request, and goes on.
``others``: they answer other requests. ``none``: there are none."""


class Executor:
    """Executes the runs of a service, each here: a run whose worker dies is lost.

    A subclass also looks after the runs whose worker is dead: the orphaned runs. Here there are none. All methods but
    ``execute`` raise ``ChatRequestError`` (503) if a store does not answer.
    """

    def __init__(self, runs: ActiveRuns, work: RunWork) -> None:
        self._runs = runs
        self._work = work

    async def start(self) -> None:
        """Recovers orphaned runs from now on. Later calls do nothing."""

    def drain(self) -> None:
        """Recovers no more runs."""

    async def aclose(self) -> None:
        """Recovers no more runs, and leaves the stores."""

    async def execute(self, run: Run, job: Job) -> None:
        """Executes a new run to its end. Raises ``NotRecordedError`` if it could not be begun."""
        with self._work.observed(run, job):
            await self._work.do(run, job, job.events(run.abort_signal, run.idempotency_key, run.steering))

    async def recover_same(self, key: ChatKey, claim: Claim) -> FoundOrphans:
        """Recovers the orphaned run that answers the same request as the claim's run, in place of that run."""
        return "none"

    async def recover(self, key: ChatKey) -> None:
        """Recovers the orphaned runs of the chat, for a request that waits for their end."""

    async def cancel(self, key: ChatKey) -> None:
        """Ends the orphaned runs of the chat, which is claimed."""

    async def stop(self, key: ChatKey) -> bool:
        """Stops the run of the chat, orphaned runs included. Returns whether there was one."""
        return await self._runs.stop(key)

    async def lacks_message(self, key: ChatKey, session: Session) -> bool:
        """Returns whether an orphaned run of the chat has not stored what its request says."""
        return False

    async def wait_for_message(self, key: ChatKey, seconds: float) -> None:
        """Waits up to so many seconds until the chat has no such run."""

    async def wait_until_recovered(self, key: ChatKey) -> bool:
        """Waits for the recovery of an orphaned run of the chat. Returns whether one may be found now."""
        return False
