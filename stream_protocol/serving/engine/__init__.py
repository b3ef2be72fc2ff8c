"""Runs that are executed again when their worker is dead: what an engine must do, and what is done with it."""

from stream_protocol.serving.engine._deployment import deployment_of
from stream_protocol.serving.engine._durable_executor import DurableExecutor
from stream_protocol.serving.engine._engine import (
    STATES,
    Deployment,
    Engine,
    Execution,
    ExecutionState,
    LiveState,
    OrphanedRun,
    OtherVersionError,
    RunRecord,
    ToldEnd,
)
from stream_protocol.serving.engine._local_runs import DurableService
