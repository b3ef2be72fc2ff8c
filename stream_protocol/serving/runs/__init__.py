"""The runs that go on: which chat has one, what one is made of, what executes it, how it ends."""

from stream_protocol.serving.base import warn_of_other_workers
from stream_protocol.serving.runs._active_runs import DELETION, STOPPING_WAIT, ActiveRuns
from stream_protocol.serving.runs._claim import Claim, NotRecordedError
from stream_protocol.serving.runs._executor import DirectExecutor, Executor, Settled
from stream_protocol.serving.runs._history_policy import ClientHistory, HistoryPolicy, Planned, ServerHistory
from stream_protocol.serving.runs._job import Job
from stream_protocol.serving.runs._late_response import late_response, refusal_as_events
from stream_protocol.serving.runs._loop_guard import with_error, without_loop
from stream_protocol.serving.runs._on_finish import OnFinish, Outcome
from stream_protocol.serving.runs._planner import Incoming, Planner
from stream_protocol.serving.runs._run import RUN_TIMEOUT, TEXTS_OF_TIMEOUTS, Run, RunLimits
from stream_protocol.serving.runs._run_work import RunWork
