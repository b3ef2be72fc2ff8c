"""Active runs: claims of chats, planning, execution, and the end of a run.

Where to change what:

- ``_active_runs``: permits one run for each chat. Resume, retry and stop; requests during a shutdown.
- ``_claim``: a request holds its chat.
- ``_planner``, ``_history_policy``: the plan of a request; the history of the server, or of the client.
- ``_executor``: executes runs; ``engine`` has the durable executor.
- ``_run``: the life of a run: stop, timeout, missing readers, failures.
- ``_run_response``: the response of a run.
- ``_run_posts``: events that tools post while they run.
- ``_run_events``: the events of a run without a ``ChatService``.
- ``_steering_posts``: messages between requests and runs about steering.
- ``_job``: events and conversion of a run; the message so far for a client that resumes.
- ``_deferred_response``: responses that begin before the request is accepted.
- ``_auto_resend``: ends a response with an error if no call waits for the client's answers. Otherwise the client would
  send the answers again. For every other kind of response, ``stream/_steps`` prevents endless requests.
- ``_on_finish``: the app's hook at the end of a response.

A stop passes through these places, in this order:

1. ``requests/_chat_reads`` takes the request, and ``Executor.stop`` passes it on. With an engine,
   ``LocalRuns.store_end`` stores the stop, so that no worker executes the run again.
2. ``ActiveRuns.stop`` stops a run of this worker, or asks the run log.
3. ``SharedRunLog.stop`` stores the stop in one step: for the run, and for requests that wait for the chat. It sends the
   stop again and again until one lease time has passed.
4. When the run's worker renews its lease, ``SharedLease`` receives the stop.
5. ``Run.stop`` ends the response and cancels the agent. If the run has not begun, ``Job`` prevents its start.

A request may arrive before the stop, and start its run after it. So it looks for stops since its arrival:
``requests/_lifecycle``. ``_local_runs`` and ``_recovery`` of the engine keep a stopped run from being executed again.
"""

from stream_protocol.serving.base import warn_of_other_workers
from stream_protocol.serving.runs._active_runs import DELETION, ActiveRuns
from stream_protocol.serving.runs._auto_resend import ending_in_error, prevent_auto_resend
from stream_protocol.serving.runs._claim import Claim, NotRecordedError
from stream_protocol.serving.runs._deferred_response import deferred_response, refusal_as_events
from stream_protocol.serving.runs._executor import Executor, FoundOrphans, RunWork
from stream_protocol.serving.runs._history_policy import ClientHistory, HistoryPolicy, Planned, ServerHistory
from stream_protocol.serving.runs._job import Job
from stream_protocol.serving.runs._on_finish import OnFinish, Outcome
from stream_protocol.serving.runs._planner import Incoming, Planner
from stream_protocol.serving.runs._run import TEXTS_OF_TIMEOUTS, Run
from stream_protocol.serving.runs._run_events import run_events
from stream_protocol.serving.runs._steering_posts import NextTurn, Reply
