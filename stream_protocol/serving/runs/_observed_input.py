"""Reports when the input of a run is stored. The input is the user's message, or answers to tool calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from stream_protocol.adk import is_compaction, is_user_event
from stream_protocol.serving.adk_runner import ObservedSessions
from stream_protocol.serving.runs._run import LeaseLostError
from stream_protocol.session.transcript import EventMetadata

if TYPE_CHECKING:
    from google.adk.events import Event
    from google.adk.sessions import Session

    from stream_protocol.serving.runs._job import Job
    from stream_protocol.serving.runs._run import Run
    from stream_protocol.session import RunInput

MESSAGE_OF_OTHER_RUN: Final = (
    "another run has stored a message in this chat, because the run log had forgotten the lease of this run"
)
"""The text of the ``LeaseLostError`` if another run has stored a message first."""


class StoppedBeforeStoredError(Exception):
    """Raised if a run was stopped before the user's answers to tool calls were stored."""


def observed_sessions(
    job: Job, run: Run, run_input: RunInput, compactions: list[Event], *, known: int
) -> ObservedSessions:
    """Return a session service that calls ``job.on_stored`` when the input of the run is stored. The input is the
    user's message, or answers to tool calls.

    If the run is stopped before answers are stored, the service raises ``StoppedBeforeStoredError``. If some of the
    answers are already stored, the service also stores the rest.

    ``compactions``: list to which the compaction events of ADK are added. ``known``: the number of stored events that
    this run has read. If another run has stored a message since then, the service raises ``LeaseLostError``.
    """
    refusing = False
    has_begun = bool(run_input.before)
    """True after the run has stored its input. Agents inside the run can store more user events later."""

    def is_input(event: Event) -> bool:
        return is_user_event(event) and EventMetadata.of(event).idempotency_key == run.idempotency_key

    def before_storing(session: Session, event: Event) -> None:
        nonlocal refusing
        refusing = refusing or not (run_input.before or not is_input(event) or run.may_store_input(job.request_plan))
        if refusing:  # ADK would otherwise also store events that close the pending calls
            raise StoppedBeforeStoredError
        if is_input(event) and not has_begun and any(map(_is_of_run, session.events[known:])):
            raise LeaseLostError(MESSAGE_OF_OTHER_RUN)

    def stored(event: Event) -> None:
        nonlocal has_begun
        if is_input(event):
            has_begun = True
            job.on_stored(job.answers)
        if is_compaction(event):
            compactions.append(event)

    return ObservedSessions(job.runner.session_service, before_storing, stored)


def _is_of_run(event: Event) -> bool:
    """Return True if the event is the input of a run, or the first event of a recovered run."""
    metadata = EventMetadata.of(event)
    return is_user_event(event) and (metadata.idempotency_key is not None or metadata.execution is not None)
