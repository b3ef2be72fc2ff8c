"""A run log stores each response while the response is written. This package contains the interface of a run log, and
the run log in memory.

Where to change what:

- ``_run_log``: the interface of a run log.
- ``_event_buffer``: slow and late readers, the size of a response, and when readers get the end.
- ``_event_list``: the events of one response. Joins text deltas into longer deltas if the events exceed a size limit.
- ``_readers``: counts readers, and disconnects slow readers.
- ``_load_run_log``: creates the run log of a URL.
- ``_shared_run_log``: stops, resumes and messages between workers.
- ``_lease``: renews and ends the lease of a run, and detects its loss. Receives stops and messages from the store. See
  docs/redis.md.
- ``_log_tail``: reads runs of other workers, and detects dead workers.
- ``_log_writer``: writes runs for other workers.
- ``_run_store``: the interface of a store for leases and logs.
- ``_memory``: the run log of one process.
- ``_post_replies``: messages from requests to runs of other workers, and the replies.
- ``redis``, ``postgres``: the stores. For a new store, implement ``RunStore``, pass it to ``SharedRunLog``, and add a
  test with ``RunLogConformance``: see docs/durable.md. Add its URLs to ``_load_run_log`` for ``serve``, and its public
  names to ``serving/__init__``. Implement ``RunLog`` directly only for a run log without such a store.

An end passes through these places, in this order, until a reader on another worker gets it:

1. ``Run`` (``runs/_run``) appends the last events and closes the log: an ``EventBuffer``, which withholds the end.
2. ``LogWriter`` sends the last batch, which marks the log as complete.
3. The store adds the batch. ``EventBuffer`` then gives the end to readers of this worker.
4. On the other worker, ``LogTail`` reads the batch, and closes its own ``EventBuffer``.
5. ``SharedLease`` ends the lease.

If the worker dies before step 3, ``WriterWatch`` finds that the lease is missing for too long. ``LogTail`` then ends
the response with an error, or disconnects the readers because another worker recovers the run.
"""

from stream_protocol.serving.run_logs._event_buffer import EventBuffer
from stream_protocol.serving.run_logs._load_run_log import load_run_log
from stream_protocol.serving.run_logs._memory import MemoryRunLog
from stream_protocol.serving.run_logs._readers import RunReader
from stream_protocol.serving.run_logs._run_log import (
    STOP_SECONDS,
    ChatTakenError,
    Lease,
    LogBounds,
    Phase,
    RunHandle,
    RunInfo,
    RunLog,
    RunLogError,
)
from stream_protocol.serving.run_logs._run_store import (
    BROKEN,
    WHOLE,
    Entry,
    LeaseTimes,
    LeaseView,
    LogBatch,
    Post,
    Renewal,
    RunIdentity,
    RunStore,
    Snapshot,
    run_info,
)
from stream_protocol.serving.run_logs._shared_run_log import SharedRunLog

__all__ = [
    "BROKEN",
    "STOP_SECONDS",
    "WHOLE",
    "ChatTakenError",
    "Entry",
    "EventBuffer",
    "Lease",
    "LeaseTimes",
    "LeaseView",
    "LogBatch",
    "LogBounds",
    "MemoryRunLog",
    "Phase",
    "Post",
    "Renewal",
    "RunHandle",
    "RunIdentity",
    "RunInfo",
    "RunLog",
    "RunLogError",
    "RunReader",
    "RunStore",
    "SharedRunLog",
    "Snapshot",
    "load_run_log",
    "run_info",
]
