"""Run logs, which store the SSE events of each response while the agent writes the response.

A client that reconnects reads the response from the run log. A lease is a run's time-limited right to be the only
active run of its chat. A worker is one server process.

Where to change what:

- ``_run_log``: the interface of a run log.
- ``_event_buffer``: the events of one response in this process, and the readers of the response.
- ``_event_list``: the list of events in an ``EventBuffer``. Merges old text deltas if the list exceeds a size limit.
- ``_readers``: counts the readers of a response, and disconnects slow readers.
- ``_load_run_log``: creates the run log for a URL.
- ``_shared_run_log``: the run log for several workers. Resumes and stops runs of other workers.
- ``_lease``: renews and ends a lease, and detects that it is lost. Receives stop requests and messages from the store.
  See docs/redis.md.
- ``_log_tail``: reads the responses of runs of other workers, and detects dead workers.
- ``_log_writer``: copies the events of this worker's runs to the store, for readers on other workers.
- ``_run_store``: the interface of a store for leases and logs.
- ``_memory``: the run log for a server with one worker.
- ``_post_replies``: sends a request's messages to a run of another worker, and returns the replies.
- ``redis``, ``postgres``: the stores. To add a store, implement ``RunStore``, pass it to ``SharedRunLog``, and add a
  test with ``RunLogConformance``: see docs/durable.md. Then ``_load_run_log`` must accept the store's URLs, and
  ``serving/__init__`` must export its public names. If a run log uses no ``RunStore``, implement ``RunLog`` directly.

The end of a response reaches a reader on another worker in these steps:

1. ``Run`` (``runs/_run``) appends the last events to its ``EventBuffer``, and closes the buffer. Readers do not get the
   last events yet.
2. ``LogWriter`` sends the last batch of events, which marks the log as complete.
3. The store adds the batch. Readers on the run's worker then get the last events.
4. On the other worker, ``LogTail`` reads the batch, and closes its own ``EventBuffer``.
5. ``SharedLease`` ends the lease.

If the worker dies before step 3, the lease expires. ``WriterWatch`` on the other worker detects this, and ``LogTail``
ends the response with an error. If a worker can recover the run, ``LogTail`` disconnects the readers instead.
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
