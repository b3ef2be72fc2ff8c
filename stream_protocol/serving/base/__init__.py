"""Small helpers that know nobody: limits, times, refusals, long work. All other packages of the service use them."""

from stream_protocol.serving.base._audit import Attempt, AuditFile, AuditRecord, AuditTrail, OnAudit
from stream_protocol.serving.base._byte_budget import ByteBudget, ByteShare
from stream_protocol.serving.base._in_progress import InProgress, in_progress
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
from stream_protocol.serving.base._long_work import long_work
from stream_protocol.serving.base._loopback import is_loopback_address
from stream_protocol.serving.base._overrides import NO_OVERRIDES, RunOverrides
from stream_protocol.serving.base._rare_warning import WARNING_SECONDS, RareWarning
from stream_protocol.serving.base._recorder_protocol import (
    FailsafeRecorder,
    NoRecorder,
    Recorder,
    TurnRecorder,
    as_one_recorder,
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
    unreachable_refusal,
)
from stream_protocol.serving.base._remembered import Remembered
from stream_protocol.serving.base._response_memory import ResponseMemory
from stream_protocol.serving.base._tasks import Tasks
from stream_protocol.serving.base._time_limit import HOOK_TIMEOUT, HookTimeoutError, in_time
from stream_protocol.serving.base._times import DEFAULT_TIMES, ServiceTimes
from stream_protocol.serving.base._worker_check import warn_of_other_workers
