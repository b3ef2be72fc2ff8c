"""Deliberate defects of the code. The simulation must find each of them.

A mutant replaces one text in one function of the package. If the text is missing, because the code has changed, the
mutant is an error and must be adapted.
"""

from __future__ import annotations

import inspect
import textwrap
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE: Final = "stream_protocol.serving."


@dataclass(frozen=True)
class Mutant:
    """A defect: one changed text in one function.

    ``what``: its description in the table of the documentation. ``module``: the name of the module, without
    ``stream_protocol.serving.`` before it. ``old``: the text that ``new`` replaces. ``seed``: the seed of a schedule
    that finds the mutant. ``promise``: the promise that the mutant breaks in this schedule.
    """

    what: str
    module: str
    function: str
    old: str
    new: str
    seed: int
    promise: str


MUTANTS: Final = (
    Mutant(
        "A lease is renewed too late",
        module="run_logs._lease",
        function="SharedLease._renew",
        old="pause, failing = self._times.renewal_interval, False\n        except",
        new="pause, failing = self._times.lease * 2, False\n        except",
        seed=100,
        promise="nothing_fails_without_a_fault",
    ),
    Mutant(
        "A worker ignores a stop of its run",
        module="run_logs._lease",
        function="SharedLease._renew_once",
        old="self.owner.stop()",
        new="pass",
        seed=47,
        promise="an_acknowledged_stop_holds",
    ),
    Mutant(
        "A worker does not notice that a newer run owns its chat",
        module="run_logs._lease",
        function="SharedLease._renew_once",
        old="self._lose()",
        new="self._note_renewal(sent_at)",
        seed=799,
        promise="one_owner_at_a_time",
    ),
    Mutant(
        "The lease is freed before the log is copied to the store",
        module="run_logs._lease",
        function="SharedLease.keep_until_released",
        old="await asyncio.wait(tasks[:1], timeout=self._times.lease)",
        new="pass",
        seed=267,
        promise="nothing_fails_without_a_fault",
    ),
    Mutant(
        "A reader does not notice that the writer is dead",
        module="run_logs._log_tail",
        function="WriterWatch.is_lost",
        old="if self._missing_since is None:",
        new="if True:",
        seed=11,
        promise="nothing_stays_open",
    ),
    Mutant(
        "A reader of a run that a fail-over has lost gets an error",
        module="run_logs._log_tail",
        function="LogTail.has_begun",
        old="return bool(self._received) or not (self._unwanted.is_set() or self.buffer.closed)",
        new="return True",
        seed=13676,
        promise="a_short_fault_of_the_run_log_is_not_noticed",
    ),
    Mutant(
        "A run ends its response twice",
        module="runs._run",
        function="Run._end",
        old="if self.log.closed or self.was_left:",
        new="if self.was_left:",
        seed=28,
        promise="nothing_stays_open",
    ),
    Mutant(
        "A worker that gives up a run keeps the run's readers",
        module="runs._run",
        function="Run.leave",
        old="self.log.cut_off_readers()",
        new="pass",
        seed=13,
        promise="nothing_stays_open",
    ),
    Mutant(
        "A request is accepted before it is stored",
        module="runs._observed_input",
        function="observed_sessions",
        old="refusing = refusing or",
        new="job.on_stored(job.answers)\n        refusing = refusing or",
        seed=135,
        promise="an_accepted_message_is_stored_once",
    ),
    Mutant(
        "A run stores its message after the message of another run that also holds the chat",
        module="runs._observed_input",
        function="observed_sessions",
        old="raise LeaseLostError(MESSAGE_OF_OTHER_RUN)",
        new="pass",
        seed=3500777,
        promise="an_accepted_message_is_stored_once",
    ),
    Mutant(
        "A worker without the lease stores the end of a run",
        module="chats._sessions",
        function="Completion.store",
        old="or not await self._holds_lease() or self._is_overtaken(session)",
        new="",
        seed=74,
        promise="a_reload_shows_all_promised_messages",
    ),
    Mutant(
        "A worker stores the end of a run although a later run has stored something",
        module="chats._sessions",
        function="Completion.store",
        old=" or self._is_overtaken(session)",
        new="",
        seed=108796,
        promise="a_reload_shows_all_promised_messages",
    ),
    Mutant(
        "A recovery stores an event that is already stored",
        module="engine._resumed_sessions",
        function="ResumedSessions.append_event",
        old="_comparable(earlier) == content",
        new="False",
        seed=11,
        promise="an_accepted_message_is_stored_once",
    ),
    Mutant(
        "A recovery does not see that the run has rewound its chat",
        module="engine._resumed_sessions",
        function="ResumedSessions._is_preparing",
        old="return is_of_user and not self._is_input(event)",
        new="return False",
        seed=6000010,
        promise="an_accepted_message_is_stored_once",
    ),
    Mutant(
        "No worker continues the run of a dead worker",
        module="engine._orphaned_runs",
        function="OrphanedRuns._recover",
        old="sessions.is_over or sessions.lacks_rewind",
        new="True",
        seed=1316,
        promise="a_run_of_a_dead_worker_continues",
    ),
    Mutant(
        "The engine keeps a run that has ended",
        module="engine._local_runs",
        function="LocalRuns.execute",
        old="ending = self._tasks.start(self._forget_ended(local))",
        new="pass",
        seed=100,
        promise="nothing_fails_without_a_fault",
    ),
    Mutant(
        "A reader is not woken at the end of a response",
        module="run_logs._event_buffer",
        function="EventBuffer.ack",
        old="self._wake()",
        new="pass",
        seed=0,
        promise="nothing_stays_open",
    ),
    Mutant(
        "A run keeps its chat after its end",
        module="runs._claim",
        function="Claim._work",
        old="self.release()",
        new="pass",
        seed=0,
        promise="nothing_stays_open",
    ),
    Mutant(
        "A refused request keeps the chat",
        module="requests._lifecycle",
        function="RequestLifecycle._give_back",
        old="claim.give_back()",
        new="pass",
        seed=0,
        promise="nothing_stays_open",
    ),
    Mutant(
        "A stop ends the response, but the agent continues",
        module="runs._run",
        function="Run.stop",
        old="self.agent_task.ask_to_end()",
        new="pass",
        seed=33,
        promise="an_acknowledged_stop_holds",
    ),
    Mutant(
        "A steering message that comes too late begins no run",
        module="runs._executor",
        function="RunWork.do",
        old="if late and not run.was_left",
        new="if False",
        seed=4000087,
        promise="a_steering_message_is_read_once",
    ),
    Mutant(
        "A steering message that a model call has read is read by the next call, too",
        module="adk_runner._steering_inbox",
        function="SteeringInbox.take_in",
        old="del self._waiting[message.id]",
        new="pass",
        seed=4000031,
        promise="a_steering_message_is_read_once",
    ),
    Mutant(
        "A run does not read the steering messages of a dead run",
        module="runs._job",
        function="Job.events",
        old="self._earlier_messages(beginning),",
        new="(),",
        seed=4000031,
        promise="a_steering_message_is_read_once",
    ),
    Mutant(
        "A repeated message takes back the steering messages of the reply that it replaces",
        module="runs._job",
        function="Job._prepare_session",
        old="kept_steering=kept",
        new="kept_steering=()",
        seed=4001661,
        promise="a_steering_message_is_read_once",
    ),
    Mutant(
        "A retry does not join the run of its first request",
        module="runs._active_runs",
        function="ActiveRuns._taken",
        old="if other.idempotency_key != idempotency_key:",
        new="if True:",
        seed=195,
        promise="nothing_fails_without_a_fault",
    ),
)


def table() -> str:
    """Return the table of the mutants in the documentation."""
    rows = [f"| {each.what} | {each.promise.replace('_', ' ')} | {each.seed} |" for each in MUTANTS]
    return "\n".join(["| Deliberate fault | Broken promise | Seed |", "|---|---|---|", *rows])


@contextmanager
def applied(mutant: Mutant) -> Iterator[None]:
    """Replace the text during the block."""
    module: Any = import_module(PACKAGE + mutant.module)
    *owners, name = mutant.function.split(".")
    owner = module
    for each in owners:
        owner = getattr(owner, each)
    function: Any = _of_property(inspect.getattr_static(owner, name))
    source = textwrap.dedent(inspect.getsource(function))
    if source.count(mutant.old) != 1:
        raise ValueError(f"{mutant.function} does not have this text once: {mutant.old!r}")
    changed: dict[str, Any] = {}
    exec(compile(source.replace(mutant.old, mutant.new), f"<{mutant.what}>", "exec"), vars(module), changed)
    original = function.__code__
    function.__code__ = _of_property(changed[name]).__code__  # modules that have imported the function see the change
    try:
        yield
    finally:
        function.__code__ = original


def _of_property(attribute: Any) -> Any:
    return attribute.fget if isinstance(attribute, property) else attribute
