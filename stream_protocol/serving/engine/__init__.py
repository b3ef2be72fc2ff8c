"""Durable runs: if the worker of a run dies, another worker executes the run again.

Where to change what:

- ``_engine``: the interface of an engine.
- ``_durable_executor``: begins, stops and ends runs with the engine, and finds orphaned runs for a request.
- ``_recovery``: executes one orphaned run again, or stores its end.
- ``_orphaned_runs``: finds orphaned runs (the runs of dead workers), and decides if they are recovered.
- ``_records``: the data that the engine stores for a run. With this data, another worker plans the request again.
- ``_repeated_run``: shows the partial texts of earlier executions at their positions.
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
