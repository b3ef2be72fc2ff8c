"""Small helpers that depend on no other part of the service.

Where to change what:

- ``_refusals``: errors (404, 409, 503) for requests that the service cannot serve.
- ``_limits``: ``ServiceLimits``, and the counters for runs, requests and reads.
- ``_byte_budget``, ``_response_memory``: the memory limits for request bodies and for responses.
- ``_times``: timeouts and intervals.
- ``_off_loop``: moves long work to a thread, so that it does not block the event loop.
- ``_paths``: checks whether a path is a file or a folder.
- ``_tasks``: tasks, timers and time limits.
- ``_audit``: the audit trail.
- ``_overrides``: ``RunOverrides``, settings that an app chooses for one request.
- ``_recorder_protocol``: the interface of recorders.
"""

from stream_protocol.serving.base._audit import AuditFile, AuditRecord, AuditScope, AuditTrail, OnAudit
from stream_protocol.serving.base._byte_budget import ByteBudget, ByteShare
from stream_protocol.serving.base._limits import (
    ARTIFACTS_AT_ONCE,
    HISTORIES_AT_ONCE,
    RequestRates,
    RunSlot,
    RunSlots,
    ServiceLimits,
    UserReads,
    response_budget,
)
from stream_protocol.serving.base._loopback import is_loopback_address
from stream_protocol.serving.base._off_loop import run_off_loop
from stream_protocol.serving.base._overrides import NO_OVERRIDES, RunOverrides
from stream_protocol.serving.base._paths import is_file, is_folder
from stream_protocol.serving.base._rare_warning import WARNING_SECONDS, RareWarning
from stream_protocol.serving.base._recorder_protocol import (
    Recorder,
    TurnRecorder,
    TurnRecorders,
    all_recorders,
    check_recorder,
)
from stream_protocol.serving.base._refusals import (
    ENGINE,
    RUN_LOG,
    SESSION_STORE,
    busy_refusal,
    changed_refusal,
    closing_refusal,
    not_ended_refusal,
    stopped_refusal,
    unknown_chat_refusal,
    unreachable_refusal,
)
from stream_protocol.serving.base._response_memory import ResponseMemory
from stream_protocol.serving.base._tasks import (
    CachedProbe,
    HookTimeoutError,
    InProgress,
    Tasks,
    Timers,
    abandon,
    cancel_and_wait,
    ignore_failure,
    wait_for_first,
    with_timeout,
)
from stream_protocol.serving.base._times import DEFAULT_TIMES, ServiceTimes
from stream_protocol.serving.base._worker_check import warn_of_other_workers
