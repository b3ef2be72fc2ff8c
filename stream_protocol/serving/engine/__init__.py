"""Durable runs: another worker executes a run again when the run's worker has died.

Where to change what:

- ``_engine``: the interface of an engine.
- ``_durable_executor``: begins, stops and ends runs through the engine; finds orphaned runs for a request.
- ``_recovery``: recovers orphaned runs, one after the other.
- ``_orphaned_runs``: finds orphaned runs, and decides if they are recovered.
- ``_records``: the record of a run, from which another worker plans the request again.
- ``_repeated_run``: shows the partial texts of earlier executions, each at its place.
- ``_resumed_sessions``: the session of a recovered run, with the events of earlier executions.
- ``_local_runs``: the runs of this worker; deletes the records of ended runs.
- ``_run_ends``: the ends of runs. Stops the runs of a chat, and stores each end, so that no worker executes the run
  again.
"""

from stream_protocol.serving.engine._deployment import deployment_of
from stream_protocol.serving.engine._durable_executor import DurableExecutor
from stream_protocol.serving.engine._engine import (
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
