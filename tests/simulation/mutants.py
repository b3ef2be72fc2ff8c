"""Ways to break the code on purpose. The simulation must find each of them.

A mutant replaces one text in one function of the package. If the text is not there any more, the mutant is an error: it
must be thought over with the code.
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
    """``what``: for the table in the documentation. ``target``: module and function, below ``stream_protocol.serving``.
    ``seeds``: among so many first seeds one finds it."""

    what: str
    module: str
    function: str
    old: str
    new: str


MUTANTS: Final = (
    Mutant('A lease is renewed too late', 'run_logs._lease', 'SharedLease._renew', 'await self._renew_once(sent_at)\n            pause, failing = self._times.renewal_interval, False', 'await self._renew_once(sent_at)\n            pause, failing = self._times.lease * 2, False'),
    Mutant('A worker does not see that its run should stop', 'run_logs._lease', 'SharedLease._renew_once', 'self.owner.stop()', 'pass'),
    Mutant('A worker does not see that a newer run has its chat', 'run_logs._lease', 'SharedLease._renew_once', 'self._lose()', 'return'),
    Mutant('A paused worker takes its lease for valid', 'run_logs._lease', 'SharedLease.held', 'return not self._lost and _now() <= self._renewed_at + self._times.valid_without_renewal', 'return not self._lost'),
    Mutant('A worker relies on its lease for twice its time', 'run_logs._run_store', 'LeaseTimes.valid_without_renewal', 'self.lease * 2 / 3', 'self.lease * 2'),
    Mutant('The lease is freed before the log is copied', 'run_logs._lease', 'SharedLease.keep_until_released', 'await asyncio.wait(tasks[:1], timeout=self._times.lease)', 'pass'),
    Mutant('A stop does not reach the requests that wait', 'run_logs._shared_run_log', 'SharedRunLog.stop', 'await self._note_stop(chat)', 'pass'),
    Mutant('A stop is not repeated after a fail-over', 'run_logs._shared_run_log', 'SharedRunLog.stop', 'if stopped is not None and stopped not in self._stop_tasks and not self._closing:', 'if False:'),
    Mutant('After a fail-over the log goes on behind the gap', 'run_logs._log_writer', 'LogWriter._note', 'self._position = stored', 'self._position = max(self._position, stored)'),
    Mutant('A piece that was read before is read again', 'run_logs._log_tail', 'LogTail._append', '[self._received - entry.after :]', ''),
    Mutant('A reader overlooks a missing piece', 'run_logs._log_tail', 'LogTail._append', 'if entry.after > self._received:', 'if False:'),
    Mutant('A reader does not notice that the writer is dead', 'run_logs._writer_watch', 'WriterWatch.is_lost', 'if self._missing_since is None:', 'if True:'),
    Mutant('The end of a response wakes no reader', 'run_logs._event_buffer', 'EventBuffer.close', 'self._wake()', 'pass'),
    Mutant('A run goes on without asking for its lease', 'runs._run', 'Run._read', 'if not self._lease.held and not await self._lease.confirm():', 'if False:'),
    Mutant('A run ends its response twice', 'runs._run', 'Run._end', 'if self.log.closed or self._left:', 'if self._left:'),
    Mutant('A run that is left keeps its readers', 'runs._run', 'Run.leave', 'self.log.cut_off_readers()', 'pass'),
    Mutant('A request is accepted before it is stored', 'runs._job', 'Job._observed_runner', 'refusing = refusing or', 'self.on_stored(self.answers)\n        refusing = refusing or'),
    Mutant('The end of a run is stored again after a lost reply', 'chats._sessions', 'Completion.store', 'if event.id not in stored:', 'if True:'),
    Mutant('The end of a run is stored without its lease', 'chats._sessions', 'Completion.store', 'or not await self._holds_lease()', ''),
    Mutant('A recovery does not fence the session off', 'engine._resumed_sessions', 'ResumedSessions.fence', 'await self._sessions.append_event(self._stored, Event(author="user"))', 'pass'),
    Mutant('A recovery stores again what is stored', 'engine._resumed_sessions', 'ResumedSessions.append_event', '_said(earlier) == said', 'False'),
    Mutant('A stop is not kept for the worker that recovers', 'engine._durable_executor', 'DurableExecutor._stop', 'await self._engine.mark(orphan.record, orphan.log_id, ToldEnd("stopped"))', 'pass'),
    Mutant('A recovery does not look again after its claim', 'engine._orphaned_runs', 'OrphanedRuns.claim_and_recover', 'now = next((left for left in await self.in_chat(key) if left.record.id == record.id), None)', 'now = orphan'),
    Mutant('A run that has ended is not forgotten', 'engine._local_runs', 'LocalRuns.execute', 'await asyncio.shield(self.forget(record, has_ended=True))', 'pass'),
    Mutant('A refused request leaves its record', 'engine._local_runs', 'LocalRuns.execute', '_ = self._tasks.start(self._until_done(record, partial(self._forget_refused, local)))', 'pass'),
    Mutant('A new message does not wait for the end of the run', 'runs._active_runs', 'ActiveRuns.interrupt', 'left = await self._wait_while(key, lambda now: now.run_id == run.run_id, deadline, until_close=True)', 'left = None'),
)


@contextmanager
def applied(mutant: Mutant) -> Iterator[None]:
    """Breaks the code while the block runs."""
    module: Any = import_module(PACKAGE + mutant.module)
    *owners, name = mutant.function.split(".")
    owner = module
    for each in owners:
        owner = getattr(owner, each)
    original = inspect.getattr_static(owner, name)
    source = textwrap.dedent(inspect.getsource(original.fget if isinstance(original, property) else original))
    if source.count(mutant.old) != 1:
        raise ValueError(f"{mutant.function} does not have this text once: {mutant.old!r}")
    changed: dict[str, Any] = {}
    exec(compile(source.replace(mutant.old, mutant.new), f"<{mutant.what}>", "exec"), vars(module), changed)  # noqa: S102
    setattr(owner, name, changed[name])
    try:
        yield
    finally:
        setattr(owner, name, original)
