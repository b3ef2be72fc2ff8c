"""Plans and executes the runs of agents.

A run is one execution of an agent for a request. A claim is the right to begin a run in a chat.

Where to change what:

- ``_active_runs``: lets a chat have only one active run. Handles resumes, retries, stops, and requests during a
  shutdown.
- ``_claim``: ``Claim``, which reserves a chat for one request and its run.
- ``_planner``: decides what to run for a request.
- ``_history_policy``: takes the history for the model from the server or from the client.
- ``_executor``: executes runs, stores their ends, and calls ``on_finish``. The package ``engine`` has the durable
  executor.
- ``_run``: a run from its start to its end. Also handles stops, timeouts, failures, and runs that no client reads.
- ``_agent_task``: asks the agent of a run to end, and cancels an agent that does not end.
- ``_run_response``: writes the response of a run.
- ``_run_posts``: events that tools send while they run.
- ``_run_events``: ``run_events``, which runs an agent without a ``ChatService``.
- ``_steering_posts``: the bytes that requests and runs exchange about steering messages (user messages to an active
  run).
- ``_observed_input``: reports when the input of a run (a user message, or answers to tool calls) is stored.
- ``_job``: ``Job``, which prepares the session, runs the agent and starts the response.
- ``_deferred_response``: responses that begin before the request is accepted.
- ``_auto_resend``: ends a response with an error if the client would otherwise send the same answers again and again.
  For responses of the agent, ``stream/_steps`` prevents this.
- ``_on_finish``: the app's hook at the end of a response.

A stop passes through these steps:

1. ``requests/_chat_reads`` gets the stop request and calls ``Executor.stop``. With an engine, ``DurableExecutor.stop``
   also stores the stop, so that no worker executes the run again.
2. ``ActiveRuns.stop`` calls the run log.
3. ``SharedRunLog.stop`` stores the stop for the run, and for requests that wait for the chat. For as long as a lease
   can last, it stores the stop again and again.
4. When the worker of the run renews its lease, ``SharedLease`` receives the stop.
5. ``Run.stop`` ends the response and the agent (``AgentTask``). If the agent has not started yet, ``Job`` asks the run
   which input may still be stored.
6. ``_observed_input`` refuses input that the stopped run may no longer store.

A request may arrive before a stop, and claim its chat after the stop. ``RequestLifecycle`` therefore reads the newest
stop when the request arrives, and ``Run.claim`` compares it with the newest stop at the claim. With an engine,
``RunEnds`` and ``_recovery`` ensure that no worker executes a stopped run again.
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
from stream_protocol.serving.runs._steering_posts import NextTurn, Reply, delivery, question
