"""Runs that are executed again when their worker is dead: what an engine must do, and what is done with it."""

from stream_protocol.serving.engine._engine import Engine, Execution, NotRecordedError, OtherVersionError, RunRecord
from stream_protocol.serving.engine._left_runs import LeftRuns
from stream_protocol.serving.engine._resumed_sessions import ResumedSessions

__all__ = [
    "Engine",
    "Execution",
    "LeftRuns",
    "NotRecordedError",
    "OtherVersionError",
    "ResumedSessions",
    "RunRecord",
]
