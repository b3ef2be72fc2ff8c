"""Keeps responses while they are written: the interface of a run log, and the run log in memory.

Where to change what:

- ``_event_buffer``: slow and late readers, size of a response, number of readers.
- ``_load_run_log``: finds the run log of a URL.
- ``_shared_run_log``: asks other workers to stop their runs.
- ``_lease``: leases: dead workers, takeovers, lost stores, and the arrival of a stop; see docs/redis.md.
- ``_log_tail``: reads runs of other workers.
- ``_writer_watch``: notices that the writer of a run is dead.
- ``_log_writer``: writes runs for other workers.
- ``_run_store``: what both need of a store.
"""

from stream_protocol.serving.run_logs._event_buffer import EventBuffer
from stream_protocol.serving.run_logs._load_run_log import load_run_log
from stream_protocol.serving.run_logs._log_bounds import LogBounds
from stream_protocol.serving.run_logs._memory import MemoryRunLog
from stream_protocol.serving.run_logs._run_log import ChatTakenError, Lease, RunHandle, RunInfo, RunLog, RunLogError
from stream_protocol.serving.run_logs._run_reader import RunReader

__all__ = [
    "ChatTakenError",
    "EventBuffer",
    "Lease",
    "LogBounds",
    "MemoryRunLog",
    "RunHandle",
    "RunInfo",
    "RunLog",
    "RunLogError",
    "RunReader",
    "load_run_log",
]
