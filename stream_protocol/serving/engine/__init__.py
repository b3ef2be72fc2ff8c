"""Runs that are executed again when their worker is dead: what an engine must do, and what is done with it."""

from stream_protocol.serving.engine._deployment import deployment_of
from stream_protocol.serving.engine._engine import (
    STATES,
    Deployment,
    Engine,
    Execution,
    ExecutionState,
    LiveState,
    NotRecordedError,
    OrphanedRun,
    OtherVersionError,
    RunRecord,
    ToldEnd,
)
from stream_protocol.serving.engine._left_runs import UNRECOVERABLE_TEXT, LeftRuns, Recovery
from stream_protocol.serving.engine._records import planned_again
from stream_protocol.serving.engine._resumed_sessions import ResumedSessions
