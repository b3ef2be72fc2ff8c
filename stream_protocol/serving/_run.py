"""One run of an agent: it belongs to its log, and HTTP responses only read that.

The run is drained to its end in one task, whatever becomes of its readers or its response: ADK stores what a run still
yields, and a tool that has started runs on. Stopping therefore ends the *response* at once (``abort``, then the end of
the log) and asks ADK to end the run; only a run that does not listen is cancelled, some seconds later.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

from stream_protocol.convert import Conversion, Ending, Settings, fail_response, sse_conversion
from stream_protocol.serving._recorder_protocol import Unrecorded
from stream_protocol.session import RunOutput
from stream_protocol.wire import SSE_DONE, StreamProtocolError

if TYPE_CHECKING:
    from google.adk.events import Event

    from stream_protocol.serving._recorder_protocol import TurnRecorder
    from stream_protocol.serving.run_logs import EventBuffer, Lease

logger = logging.getLogger(__name__)

FIRST_READER_SECONDS: Final = 5.0
"""How long a run waits for its first reader at least: the response that will read it is on its way."""

RUN_TIMEOUT: Final = 3600.0
"""Seconds that a run may take. Long enough for deep research; a stuck run must free its chat some time."""

STOP_TIMEOUT: Final = 5.0
"""Seconds that a stopped run may take to end by itself before its task is cancelled."""

WATCH_SECONDS: Final = 1.0
"""How often, at most, is asked whether somebody reads a run by another worker."""


@dataclass(frozen=True)
class Begun:
    """A response at its beginning."""

    conversion: Conversion[bytes]
    rebuilt: bytes = b""
    """SSE events, to come behind ``start``, that make its message as it was before."""


BeginResponse: TypeAlias = Callable[[str | None], Begun]
"""Invocation id of the run's first event, ``None`` if it ended before it had one -> the response."""


class LeaseLostError(Exception):
    """The lease was not renewed in time: the chat may belong to another run."""


class ResponseFullError(Exception):
    """The response is larger than its log may become."""


@dataclass(frozen=True, kw_only=True)
class RunLimits:
    """How long a run may live. Seconds everywhere; ``None`` is for ever.

    Raises ``StreamProtocolError`` for what is no such time.
    """

    disconnect_grace: float | None = None
    """How long a run goes on without a reader; 0 stops it as soon as the last one leaves."""
    run_timeout: float | None = RUN_TIMEOUT
    """How long a run may take in all. Its response ends in an error then."""

    def __post_init__(self) -> None:
        if self.disconnect_grace is not None and not self.disconnect_grace >= 0:  # so is NaN refused, too
            raise StreamProtocolError("`disconnect_grace` must be 0 or more seconds, or None.")
        if self.run_timeout is not None and not self.run_timeout > 0:
            raise StreamProtocolError("`run_timeout` must be a positive number of seconds, or None.")


class Run:
    """One run, from the request that claims the chat to the last event that ADK yields."""

    lease: Lease
    """Its right to the chat, given by whoever claimed that."""

    def __init__(self, limits: RunLimits, log: EventBuffer) -> None:
        self.log = log
        self.abort_signal = asyncio.Event()
        self.output = RunOutput()
        self._limits = limits
        self._released = False
        self._begin: BeginResponse = _never_begun
        self._recorder: TurnRecorder = Unrecorded()
        self._conversion: Conversion[bytes] | None = None
        self._task: asyncio.Task[object] | None = None
        self._timers: dict[str, asyncio.TimerHandle] = {}
        log.on_readers = self._watch

    @property
    def outcome(self) -> Ending | None:
        """How the response ended; ``None`` while it goes on, and if there never was one."""
        return None if self._conversion is None else self._conversion.outcome

    async def drive(self, events: AsyncGenerator[Event], begin: BeginResponse, recorder: TurnRecorder) -> None:
        """Runs the agent to its end and writes the log. The one task that touches ``events``."""
        if self.log.closed:
            return
        self._begin = begin
        self._recorder = recorder
        self._task = asyncio.current_task()
        self._arm("time", self._limits.run_timeout, self._expire)
        if self._limits.disconnect_grace is not None and not self.log.readers:
            self._arm("reader", max(self._limits.disconnect_grace, FIRST_READER_SECONDS), self._leave)
        try:
            with self._failure_ends_response():
                async with aclosing(events):
                    async for event in events:
                        self._feed(event)
                        if not self.lease.held:  # a complete call has been fed: its tool would start next
                            raise LeaseLostError
                self._end(lambda response: response.finish())
        finally:
            self.stop()
            self.log.on_readers = lambda count: None  # who leaves now has the whole response
            for timer in self._timers.values():
                timer.cancel()

    def stop(self) -> None:
        """Ends the response with ``abort`` and the run as soon as ADK lets go. Does nothing to one that has ended."""
        self._end(lambda response: response.abort())
        self._halt()

    def lose(self) -> None:
        """Ends response and run at once, because the chat may be another run's by now."""
        self._end(partial(_failed, LeaseLostError()))
        self.abort_signal.set()
        self._cancel()

    def release(self) -> None:
        """Makes the chat free again."""
        self._released = True
        self.lease.release()

    def _watch(self, readers: int) -> None:
        if readers:
            self._disarm("reader")
        else:
            self._arm("reader", self._limits.disconnect_grace, self._leave)

    def _leave(self) -> None:
        """Stops what nobody has read for as long as that is allowed."""
        if self.lease.watched_elsewhere:
            self._arm("reader", max(self._limits.disconnect_grace or 0, WATCH_SECONDS), self._leave)
        else:
            self.stop()

    def _feed(self, event: Event) -> None:
        if self.log.closed:
            self.output.add_unseen(event)
            return
        self.output.add(event)
        with self._failure_ends_response():
            response = self._response(event.invocation_id)
            self._recorder.event(event)
            response.feed(event)
            self._log_written(response)
        if self.log.full:
            self._break_off(ResponseFullError("The response is larger than its log may become."))

    def _expire(self) -> None:
        self._break_off(TimeoutError(f"The run took longer than {self._limits.run_timeout} seconds."))

    def _break_off(self, error: Exception) -> None:
        logger.warning("A run was stopped. %s", error)
        self._end(lambda response: fail_response(response, error, stopped=True))
        self._halt()

    def _halt(self) -> None:
        self.abort_signal.set()
        if self._task is not None and not self._task.done():
            self._arm("stop", STOP_TIMEOUT, self._cancel)

    def _cancel(self) -> None:
        """Cancels the run, and again if it swallowed that: some tools do."""
        if self._task is not None and not self._task.done():
            self._task.cancel()
            self._arm("stop", STOP_TIMEOUT, self._cancel)

    @contextmanager
    def _failure_ends_response(self) -> Iterator[None]:
        """The boundary where any failure, of the agent or of an app's hook, becomes the response's one error."""
        try:
            yield
        except Exception as error:
            logger.exception("The run failed.")
            self._end(partial(_failed, error))

    def _end(self, terminal: Callable[[Conversion[bytes]], None]) -> None:
        if self.log.closed:
            return
        try:
            response = self._concluded(terminal)
            self._log_written(response)
            self._recorder.end(response.outcome)
        finally:
            self.log.append(SSE_DONE)
            self.log.close()

    def _concluded(self, terminal: Callable[[Conversion[bytes]], None]) -> Conversion[bytes]:
        """The response with its one terminal: if a hook of the app raises there, that is an error."""
        try:
            response = self._response(None)
            terminal(response)
        except Exception as error:
            logger.exception("The response failed at its end.")
            response = self._response(None)
            fail_response(response, error)
        return response

    def _response(self, invocation_id: str | None) -> Conversion[bytes]:
        if self._conversion is None:
            try:
                begun = self._begin(invocation_id)
                self._conversion, self.log.past = begun.conversion, begun.rebuilt
                self._recorder.begin(begun.conversion.message_id)
            except Exception:  # a hook raised while the past was read: all that is left is to say so
                self._conversion = _never_begun(None).conversion
                self._recorder.begin(None)
                raise
        return self._conversion

    def _log_written(self, response: Conversion[bytes]) -> None:
        events = response.take()
        self.log.append(*events)
        self._recorder.written(events)

    def _arm(self, name: str, seconds: float | None, action: Callable[[], object]) -> None:
        self._disarm(name)
        if seconds is not None and not self._released:
            self._timers[name] = asyncio.get_running_loop().call_later(seconds, action)

    def _disarm(self, name: str) -> None:
        timer = self._timers.pop(name, None)
        if timer is not None:
            timer.cancel()


def _never_begun(_invocation_id: str | None) -> Begun:
    """The response of a run that was stopped while its request was still being looked at."""
    return Begun(sse_conversion((), None, Settings()))


def _failed(error: Exception, response: Conversion[bytes]) -> None:
    fail_response(response, error)
