"""Finds the end of a response that its client has received. The worker that sent this end may be dead.

A run with such an end is never executed again. ``LocalRuns.store_end`` stores the end in the engine, for stopped runs,
too. ``_recovery`` only stores the end in the session.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from stream_protocol.serving.engine._engine import ToldEnd
from stream_protocol.serving.runs import TEXTS_OF_TIMEOUTS
from stream_protocol.wire.client import parse_sse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stream_protocol.serving.engine._engine import OrphanedRun
    from stream_protocol.serving.runs import Run
    from stream_protocol.stream import Ending

_ENDS: Final[tuple[Ending, ...]] = ("abort", "error", "timeout")
"""The ends of responses, by priority. If the executions of a run ended differently, the first of these ends counts."""


def end_of_orphan(orphan: OrphanedRun, log: Sequence[bytes]) -> ToldEnd | None:
    """Return the end of an orphaned run, from the engine or from the run log; ``None`` if the run has no end.

    A run with an end is not executed again. If a run was stopped and has also failed, the stop counts. ``log``: the SSE
    events of the last execution.
    """
    ends = (end for end in _ENDS if end in orphan.executions.values())
    recorded = (ToldEnd(end, orphan.error_text, orphan.shown, orphan.unfinished_text) for end in ends)
    return next(recorded, None) or end_in_log(log)


def end_of_local(run: Run) -> ToldEnd:
    """Return the end of a run of this worker. A run without an end counts as stopped."""
    if run.outcome == "finish":
        return ToldEnd("finish")
    shown, unfinished = tuple(run.output.shown_ids) if run.log.closed else None, run.output.unfinished_text
    if run.outcome in ("abort", None):
        return ToldEnd("abort", "", shown, unfinished)
    told = end_in_log([*run.log.events()])
    return ToldEnd(run.outcome, told.error_text if told is not None else "", shown, unfinished)


def end_in_log(log: Sequence[bytes]) -> ToldEnd | None:
    """Return the end that the SSE events of a run contain; ``None`` if they contain no end. A timeout is recognized by
    its error text. If the app's ``on_error`` has replaced this text, the end counts as an error."""
    match next((chunks[-1] for events in reversed(log) if (chunks := [*parse_sse(events)])), None):
        case {"type": "abort"}:
            return ToldEnd("abort")
        case {"type": "error", "errorText": str(text)}:
            return ToldEnd("timeout" if text in TEXTS_OF_TIMEOUTS else "error", text)
        case {"type": "finish"}:
            return ToldEnd("finish")
    return None
