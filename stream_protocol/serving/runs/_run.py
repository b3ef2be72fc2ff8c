"""Provides ``Run``: one run of an agent. A run writes its response to an ``EventBuffer``. HTTP responses read from this
buffer.

One task reads all events of the run, even if no client is connected any more, or the response has ended. So ADK can
store all events, and each started tool runs to its end. A stop immediately ends the *response* with ``abort``. The
*run* ends later, when ADK has ended the agent.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, Final

from google.adk.agents.invocation_context import LlmCallsLimitExceededError

from stream_protocol.adk import is_fragment
from stream_protocol.agents import open_channel
from stream_protocol.serving.adk_runner import SteeringInbox
from stream_protocol.serving.base import DEFAULT_TIMES, ServiceTimes, Timers, TurnRecorders
from stream_protocol.serving.run_logs import EventBuffer
from stream_protocol.serving.runs._agent_task import AgentTask
from stream_protocol.serving.runs._run_posts import RunPosts
from stream_protocol.serving.runs._run_response import ResponseFactory, RunResponse
from stream_protocol.serving.runs._steering_posts import STOPPED, NextTurn, reply_to
from stream_protocol.serving.telemetry import RunObserver, current_chat, lease_losses
from stream_protocol.session import NewUserTurn, RunOutput
from stream_protocol.stream import Conversion, Ending, RunLimitError, fail_response
from stream_protocol.wire import SSE_DONE

if TYPE_CHECKING:
    from google.adk.events import Event

    from stream_protocol.serving.base import RunOverrides, ServiceLimits
    from stream_protocol.serving.run_logs import Lease, LogBounds, RunLog
    from stream_protocol.session import AnsweredCalls
    from stream_protocol.session.transcript import AcceptedMessage, RunMark
    from stream_protocol.wire import ChatRequest

logger = logging.getLogger(__package__)

NOT_FAILURES: Final = (asyncio.CancelledError, GeneratorExit, KeyboardInterrupt, SystemExit)
"""Exceptions that end a task or the process. Any other ``BaseException`` is a failure of the agent, such as the panic
of a library in Rust."""

TOO_LONG_TEXT: Final = "The answer became too long and was ended. Ask for less at once."
TOO_SLOW_TEXT: Final = "The answer took too long and was ended. Ask for less at once."
TOO_MANY_CALLS_TEXT: Final = "The answer needed too many steps and was ended. Ask for less at once."
"""The error text for the client if a run has made too many model calls."""

TEXTS_OF_TIMEOUTS: Final = frozenset({TOO_LONG_TEXT, TOO_SLOW_TEXT})


class LeaseLostError(Exception):
    """Raised if the lease of a run was not renewed in time. Another run may now be active in the chat."""


class Run:
    """One run of an agent, from the claim of the chat to the last event of the agent.

    Call the methods in this order: ``claim``; ``run_agent``; ``open`` as soon as the user's message is stored;
    ``release``. If the request is refused, skip ``run_agent`` and ``open``.

    ``log``: the buffer with the SSE events of the response. ``since_stop``: the id of the chat's newest stop when the
    request arrived. Any later stop stops this run. With ``None``, stops before the claim have no effect. With
    ``STOPPED``, the run is stopped as soon as it claims the chat.

    ``chat_was_busy``: True if the chat had another active run when the request arrived. ``requested_at``: the value of
    ``time.perf_counter`` when the request arrived. The default is the current value.
    """

    _lease: Lease
    """Held from ``claim`` to ``release``."""
    id: str
    """Set by ``claim``."""
    idempotency_key: str
    """Set by ``claim``."""

    def __init__(
        self,
        limits: ServiceLimits,
        bounds: LogBounds,
        times: ServiceTimes = DEFAULT_TIMES,
        *,
        since_stop: str | None = None,
        chat_was_busy: bool = False,
        requested_at: float | None = None,
    ) -> None:
        self._since_stop = since_stop
        self.chat_was_busy = chat_was_busy
        self.log = EventBuffer(bounds, on_readers=self._count_readers)
        self.agent_task = AgentTask(times.stop)
        self.output = RunOutput()
        self.steering = SteeringInbox()
        """The steering messages for the run."""
        self.next_turn: NextTurn | None = None
        """The turn that begins after the run's lease has ended; ``None`` if no steering message came too late."""
        self._limits = limits
        self._times = times
        self.observer = RunObserver(requested_at)
        self._response = RunResponse(self.log, self.output, self.observer)
        self.can_be_recovered = False
        """True if another worker can recover the run."""
        self._record_id: str | None = None
        self.opened = asyncio.Event()
        """Set when the request is accepted, because the user's message is stored."""
        self._earlier_is_shown = False
        self._given_up = False
        self.was_left = False
        self._timers = Timers()

    @property
    def outcome(self) -> Ending | None:
        """The end of the response: ``finish``, ``error``, ``timeout`` or ``abort``. ``None`` before the end, or if the
        run has no response.
        """
        return self._response.outcome

    async def holds_lease(self) -> bool:
        """Return True if the run holds the lease of the chat: the right to be its only active run. If the lease was not
        renewed in time, first ask the run log.
        """
        return self._lease.held or await self._lease.confirm()

    async def claim(self, run_log: RunLog, chat: str, idempotency_key: str) -> None:
        """Claims the chat. If the chat was stopped after the request had arrived, stops the run.

        Raises ``ChatTakenError`` if the chat has an active run, and ``RunLogError`` if the run log is unreachable.
        """
        self.idempotency_key = idempotency_key
        self._lease = await run_log.claim(chat, idempotency_key, self)
        self.id = self._lease.run_id
        newest = self._lease.newest_stop
        if self._since_stop is None:
            self._since_stop = newest
        elif self._since_stop == STOPPED or newest not in ("", self._since_stop):
            self.stop()

    def continue_message(self, request: ChatRequest) -> None:
        """Sets the assistant message that the response continues, if the request answers tool calls of this message.
        Must be called before the run can be stopped.
        """
        self._response.continue_message(request.continued_message)

    @property
    def mark(self) -> RunMark:
        """Data that the run stores with the user's message, or with the user's answers to tool calls."""
        return {"idempotency_key": self.idempotency_key, "record": self._record_id}

    def belong_to(self, record_id: str) -> None:
        """Sets the id with which the engine stores the run. Must be called before the run begins."""
        self._record_id = record_id

    @property
    def is_recovered(self) -> bool:
        """True if this run continues a run whose worker has died."""
        return self._record_id not in (None, self.id)

    def allow_recovery(self, *, allowed: bool = True) -> None:
        self.can_be_recovered = allowed

    def open(self) -> None:
        """Accepts the request. From then on, clients may read the response. Later calls do nothing."""
        if not self.is_open:
            self.opened.set()
            self._lease.open()
            if not self.log.closed:
                self._wait_for_reader()

    def begin_after(self, late: AcceptedMessage, overrides: RunOverrides) -> None:
        """Sets the message for a new run after this run. ``late``: a steering message (a user message to an active run)
        that came too late for this run. If this run is stopped, the new run is stopped, too.
        """
        since_stop = STOPPED if self.outcome == "abort" else self._since_stop
        self.next_turn = NextTurn(
            message=late.message, context=late.context, overrides=overrides, since_stop=since_stop
        )

    def give_up(self) -> None:
        """Stops the run because its request is refused. If the run has not yet begun, it stores nothing."""
        self._given_up = True
        self.stop()

    def release(self) -> None:
        """Ends the lease (the right to be the chat's only active run), so that the chat can have another run. Must be
        called only once.
        """
        self._timers.close()
        self._lease.release()
        # Without reference cycles, the memory of a large response is freed without the garbage collector.
        del self._lease
        self._response.forget_factory()
        self.log.forget_writer()

    async def run_agent(
        self,
        events: AsyncGenerator[Event],
        response_factory: ResponseFactory,
        recorder: TurnRecorders,
        is_recovered_after: Callable[[BaseException], Awaitable[bool]],
    ) -> None:
        """Reads the events of the agent to the end, and writes the response. Must be called in a separate task.

        If the run was already stopped, the events are still read, so that ADK stores the user's message.

        ``is_recovered_after``: function that gets the exception of a failed run. The function returns True if another
        worker recovers the run.
        """
        if self._given_up or not await self.holds_lease():
            return
        self._response.prepare(response_factory, recorder)
        self.agent_task.begin()
        self._timers.start("time", self._limits.run_timeout, self._expire)
        posts = RunPosts(self._add_posted, pause=self._times.progress, has_ended=lambda: self.log.closed)
        try:
            with open_channel(posts):
                await self._read(events, posts)
            self._end(self._finish)
        except NOT_FAILURES:
            raise
        except BaseException as error:  # noqa: BLE001 - any error of the agent
            if not await self.holds_lease():
                pass  # `lease_lost` has ended or left the run. After a worker's pause, a store may refuse its events.
            elif self.can_be_recovered and not self.log.closed and await is_recovered_after(error):
                self.leave()
            else:
                self._end_failed(error)
        finally:
            posts.close()
            if not self.was_left:
                self.stop()  # ends the response if this task was cancelled
            self._timers.cancel_all()
            self.agent_task.end()

    @property
    def is_open(self) -> bool:
        return self.opened.is_set()

    def may_store_input(self, request_plan: NewUserTurn | AnsweredCalls) -> bool:
        """Return True if the run may still store its input. A stopped run may still store a user message. Of the user's
        answers to tool calls, a stopped run stores only denials.
        """
        return isinstance(request_plan, NewUserTurn) or not self.agent_task.abort_signal.is_set()

    async def _read(self, events: AsyncGenerator[Event], posts: RunPosts) -> None:
        async with aclosing(events):
            async for event in events:
                if not is_fragment(event):
                    posts.write_waiting()
                self._feed(event)
                if not self._lease.held and not await self._lease.confirm():
                    raise LeaseLostError  # so that a tool call in this event does not start

    def stop(self) -> None:
        self.steering.refuse("aborted")
        self._show_earlier()
        self._end(lambda response: response.abort())
        self.agent_task.ask_to_end()

    def leave(self) -> None:
        """Lets another worker continue the run. The response does not end, but its connections are closed, so that
        clients reconnect.
        """
        if not self.log.closed:
            self.was_left = True
            self.steering.refuse("left")
            self.log.cut_off_readers()
            self.agent_task.cancel()

    async def receive(self, post: bytes) -> bytes:
        """Handles bytes that a request has sent to this run, and returns the encoded ``Reply``. ``post``: a steering
        message (the result of ``delivery``), or a question about a steering message (the result of ``question``).
        """
        return (await reply_to(self.steering, post, lambda: self._lease.held)).encode()

    def lease_lost(self) -> None:
        """Ends the response and the run immediately, because another run may now hold the lease: the right to be the
        chat's only active run.

        If another worker can recover the run, ADK gets no abort signal. After an abort signal, ADK would store the
        run's tool calls as stopped.
        """
        lease_losses.add(1)
        lost = LeaseLostError()
        self.observer.failed(lost)
        if self.can_be_recovered and not self.log.closed:
            self.leave()
            return
        self._end(partial(fail_response, error=lost))
        self.agent_task.ask_to_end()
        self.agent_task.cancel()

    def _wait_for_reader(self) -> None:
        if self._limits.disconnect_grace is not None and not self.log.readers:
            self._timers.start(
                "reader", max(self._limits.disconnect_grace, self._times.first_reader), self._stop_unread
            )

    def _count_readers(self, readers: int) -> None:
        if readers:
            self._timers.cancel("reader")
            asyncio.get_running_loop().call_soon(self._response.send_nested)
        elif not self.log.closed:
            self._timers.start("reader", self._limits.disconnect_grace, self._stop_unread)

    def _stop_unread(self) -> None:
        """Stop the run if no client reads it. If another worker reads the run, check again later."""
        if self._lease.read_elsewhere:
            seconds = max(self._limits.disconnect_grace or 0, self._times.reader_check)
            self._timers.start("reader", seconds, self._stop_unread)
        else:
            self.stop()

    def _feed(self, event: Event) -> None:
        if self.log.closed:
            return
        try:
            self._response.add(event)
        except Exception as error:  # noqa: BLE001 - any error of an app's hook
            self._end_failed(error)
        if self.log.full:
            self.stop_at_limit(TOO_LONG_TEXT, "Its response is larger than `LogBounds.max_size`.")
        elif self._limits.max_chunks is not None and self.log.count > self._limits.max_chunks:
            self.stop_at_limit(TOO_LONG_TEXT, f"Its response has more than {self._limits.max_chunks} chunks.")

    def _add_posted(self, event: Event) -> None:
        if not self.was_left:
            self._response.show_nested(shows=bool(self.log.readers) or self._lease.read_elsewhere)
            self._feed(event)

    def _show_earlier(self) -> None:
        """Send the stored events of earlier executions of this run, except those that this execution has already
        sent.
        """
        if self._earlier_is_shown or self.was_left or not self._response.is_prepared:
            return
        self._earlier_is_shown = True
        for event in self.output.not_shown_again():
            self._feed(event)

    def _expire(self) -> None:
        self.stop_at_limit(TOO_SLOW_TEXT, f"It took longer than {self._limits.run_timeout} seconds.")

    def repeat_error_text(self, text: str) -> None:
        """Sets the error text that a client received from an earlier execution of the run. If the response ends with an
        error, the error has this text.
        """
        self._response.repeat_error_text(text)

    def stop_at_limit(self, text: str, reason: str) -> None:
        """Ends the run because it exceeds a limit. ``text``: the error text for the client. ``reason``: a sentence for
        the log.
        """
        logger.warning("A run was stopped. %s", reason)
        error = RunLimitError(text)
        self.observer.failed(error)
        self._show_earlier()
        self._end(partial(fail_response, error=error, stopped=True))
        self.agent_task.ask_to_end()

    def _end_failed(self, error: BaseException) -> None:
        self._response.note_failure(error)
        self._show_earlier()
        if isinstance(error, LlmCallsLimitExceededError):  # the limit of model calls in ADK's ``RunConfig``
            error = RunLimitError(TOO_MANY_CALLS_TEXT)
        self._end(partial(fail_response, error=error))

    def _end(self, write_end: Callable[[Conversion[bytes]], None]) -> None:
        """Write the last chunk of the response, and close the log of the run. Do nothing if the response has already
        ended.
        """
        if self.log.closed or self.was_left:
            return
        self.steering.refuse("finished")
        try:
            is_finished = self._response.end(write_end)
            if is_finished and not self.observer.has_shown:
                text = "The run %s of the chat %s ended without an answer: it showed nothing and reported no error."
                logger.warning(text, self.id, current_chat())
        finally:
            self.log.append(SSE_DONE)
            self.log.close()

    def _finish(self, response: Conversion[bytes]) -> None:
        if response.failure is not None:
            self._response.note_failure(response.failure)
        response.finish()
