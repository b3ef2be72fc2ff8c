"""The runs that go on: which chat has one, what one is made of, how it ends.

Where to change what:

- ``_active_runs``: one run a chat: resume, retry, stop; requests during a shutdown.
- ``_late_response``: answers that wait long.
- ``_run``: the life of a run: timeout, lost readers, failures.
- ``_job``: events and conversion of a run; the message so far for a client that resumes.
- ``_loop_guard``: stops clients that would send forever.
"""

from stream_protocol.serving.runs._active_runs import (
    DELETION,
    STOPPING_WAIT,
    ActiveRuns,
    ChatKey,
    busy_refusal,
    chat_key,
    closing_refusal,
    stopped_refusal,
    unreachable_refusal,
)
from stream_protocol.serving.runs._job import Job
from stream_protocol.serving.runs._late_response import late_response, refusal_as_events
from stream_protocol.serving.runs._loop_guard import with_error, without_loop
from stream_protocol.serving.runs._run import RUN_TIMEOUT, TEXTS_OF_TIMEOUTS, LeaseLostError, Run, RunLimits
from stream_protocol.serving.runs._worker_check import warn_of_other_workers
