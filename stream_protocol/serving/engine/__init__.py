"""Durable runs: if the worker of a run dies, another worker executes the run again.

An orphaned run is an unfinished run of a dead worker. To recover it means that another worker executes it again, or
stores its end.

Where to change what:

- ``_engine``: the interface of an engine, the store of unfinished runs.
- ``_deployment``: the names of the app and its stores. Only workers with the same names recover a run.
- ``_durable_executor``: executes runs with the engine. Stops, cancels and recovers runs for a request.
- ``_recovery``: executes one orphaned run again, or stores its end.
- ``_orphaned_runs``: finds orphaned runs, and decides if they are recovered.
- ``_isolation``: if a run may crash its worker, executes no other run on the worker at the same time.
- ``_records``: the data that the engine stores for a run. Another worker uses this data to execute the run again.
- ``_repeated_run``: shows the partial texts of earlier executions at their positions. A partial text is the text of a
  model call during which a worker died.
- ``_shown``: finds the part of a response that the client received before the worker died.
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
