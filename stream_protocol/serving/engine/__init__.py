"""Durable runs: if the worker of a run dies, another worker executes the run again.

Where to change what:

- ``_engine``: the interface of an engine.
- ``_deployment``: names the app and its stores, so that a worker recovers only runs of its own deployment.
- ``_durable_executor``: executes runs with the engine. Stops, cancels and recovers runs for a request.
- ``_recovery``: executes one orphaned run again, or stores its end.
- ``_orphaned_runs``: finds orphaned runs (the runs of dead workers), and decides if they are recovered.
- ``_isolation``: keeps the other runs of a worker apart from a run that may crash the worker.
- ``_records``: the data that the engine stores for a run. With this data, another worker decides again what to run.
- ``_repeated_run``: shows the partial texts of earlier executions at their positions.
- ``_shown``: finds what the client had received of a response when the run's worker died.
- ``_resumed_sessions``: the session of a recovered run, with the events of earlier executions.
- ``_local_runs``: the durable runs of this worker. Decides if a new run may begin, and deletes ended runs from the
  engine.
- ``_run_ends``: stores the ends of runs in the engine, so that no worker executes an ended run again.
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
