"""The life of one response. It is fed event by event, and ends exactly once: ``finish``, ``fail`` or ``abort``.

Everything here is plain computation over what was fed before, so the same events give the same chunks.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from stream_protocol.adk import NO_IDS, CallIds, WarnOnce, begins_response, is_compaction, read_events, read_next
from stream_protocol.stream._endings import AgentRunError
from stream_protocol.stream._event_writer import EventWriter
from stream_protocol.stream._options import Settings
from stream_protocol.stream._unconfirmed import UnconfirmedStream
from stream_protocol.wire import AnyChunk, ChunkSink, Sink, StreamProtocolError, json_value

if TYPE_CHECKING:
    from stream_protocol.adk import EventOrDict


NO_RESULT_TEXT = "The tool gave no result."
RUN_FAILED_TEXT = "The run failed before the tool finished."
RUN_STOPPED_TEXT = "The run was stopped before the tool finished."

Ending = Literal["finish", "error", "timeout", "abort"]
"""By which last chunk a response ended. A ``timeout`` is an ``error`` that also ended what waited for an answer."""

T = TypeVar("T")


class Conversion(Generic[T]):
    """One response of an agent, written to a sink."""

    __slots__ = ("_events", "_running", "_settings", "_sink", "message_id", "outcome", "text_delta", "warn")

    def __init__(self, sink: Sink[T], settings: Settings, message_id: str | None, call_ids: CallIds) -> None:
        """``call_ids``: those of the chat's earlier messages."""
        self._sink = sink
        self._settings = settings
        self.message_id = message_id
        """The id of the message that the response belongs to; ``None`` until an event names it."""
        self.warn = WarnOnce()
        """Logs what is unexpected in the events."""
        self._events = EventWriter(sink, settings, call_ids, self.warn, partial(_begin_nested, settings))
        self.text_delta: Callable[[EventOrDict], T | None] = self._events.text_delta
        """See ``EventWriter.text_delta``."""
        self._running = False
        """True from the beginning of the response to its end."""
        self.outcome: Ending | None = None
        """The ending of the response; ``None`` until then."""

    def take(self) -> list[T]:
        """Return and remove the items that the response has written, oldest first."""
        return self._sink.take()

    # The life of a response

    def replay(self, past: Iterable["EventOrDict"]) -> None:
        """Takes in the earlier events of the same message: their calls, counters and totals; nothing is written."""
        with self.warn.silenced():
            self._replay(past)

    def _replay(self, past: Iterable["EventOrDict"]) -> None:
        by_user = False
        for event in read_events(past, self.warn):
            if is_compaction(event):  # in the user's name
                continue
            after_user, by_user = by_user, begins_response(event)
            if self._running and by_user and not after_user:  # it begins another response
                self._end_replayed()
            self.message_id = self.message_id or event.invocation_id or None
            self._running = True
            self.feed(event)
        if self._running:
            self._end_replayed()
        self._running = False

    def _end_replayed(self) -> None:
        """Ends an earlier response. The items that this writes are dropped: the client has them."""
        self._events.end_parts(NO_RESULT_TEXT)
        self._events.steps.finish_last()
        self._events.steps.response_has_content = False
        self._events.summary.end_response()
        self.take()

    @property
    def failure(self) -> AgentRunError | None:
        """The failure that the events report so far, and from which the run has not recovered."""
        return self._events.summary.failure

    @property
    def failed_calls(self) -> frozenset[str]:
        """The client's ids of the calls that ended without a result because their tools raised."""
        return frozenset(self._events.responses.failed)

    def finish(self) -> None:
        """Ends the response after its last event: by ``finish``, unless the events report an error or an abort."""
        if self.failure is not None:
            self.fail(self.failure)
        elif self._events.summary.aborted:
            self.abort()
        else:
            self._finish()

    def _finish(self) -> None:
        self._check_running()
        metadata = self._metadata()
        self._events.end_parts(NO_RESULT_TEXT)
        self._events.responses.finalize_interim_outputs()
        added_empty_step = self._events.steps.finish_last()
        reason = self._events.summary.finish_reason(
            any_pending=self.is_waiting, any_shown=self._events.steps.response_has_content
        )
        self._sink.finish(reason, {} if metadata is None and added_empty_step else metadata)
        self._end("finish")

    def fail(self, error: BaseException, *, stopped: bool = False) -> None:
        """Ends the response of a run that failed: ends what is open, and writes an ``error`` with ``on_error``'s text.

        Calls that wait for an answer stay open. ``stopped``: the run did not fail by itself; then they are ended, too.
        """
        closes_pending = stopped and self._running  # a run without an event has changed nothing: its calls still wait
        self._check_running()
        self._events.end_parts(RUN_FAILED_TEXT, closes_pending=closes_pending, error=error)
        self._events.steps.finish()  # and adds no empty step: after an error the client's helpers send nothing
        self._sink.error(self._settings.error_text(error))
        self._end("timeout" if stopped else "error")

    def abort(self, reason: str | None = None) -> None:
        """Ends the response of a run that was stopped: ends what is open and, as ADK does, what waits for an answer."""
        closes_pending = self._running  # a run without an event has changed nothing: its calls still wait
        self._check_running()
        metadata = self._metadata()
        self._events.responses.forget_failures()
        self._events.end_parts(RUN_STOPPED_TEXT, closes_pending=closes_pending)
        added_empty_step = self._events.steps.finish_last()
        if metadata is not None or added_empty_step:
            self._sink.message_metadata(metadata or {})
        self._sink.abort(reason)
        self._end("abort")

    def _start(self, invocation_id: str | None) -> None:
        if self.outcome is not None:
            raise StreamProtocolError("the response has ended; nothing can follow")
        self._running = True
        self.message_id = self.message_id or invocation_id or None
        self._sink.start(self.message_id)

    def _check_running(self) -> None:
        if not self._running:
            self._start(None)

    def _end(self, outcome: Ending) -> None:
        # Called last: if a hook raises before this, `fail` can still end the response.
        self.outcome = outcome
        self._running = False

    def _metadata(self) -> dict[str, Any] | None:
        usage = self._events.summary.usage.as_metadata()
        metadata: dict[str, Any] = {} if usage is None else {"usage": usage}
        if self._events.summary.model_id is not None:
            metadata["modelId"] = self._events.summary.model_id
        return json_value(self._settings.options["message_metadata"](metadata), lossy=True) or None

    # Agents inside tool calls

    def show_nested(self, *, shows: bool = True) -> None:
        """Writes preliminary outputs of agents inside tool calls from now on, or ``shows=False``: none. That is for a
        response that nobody reads: the final outputs have it all."""
        self._events.responses.show_nested(shows=shows)

    @property
    def is_waiting(self) -> bool:
        """True if a call waits for somebody outside the run."""
        return any(call.is_pending for call in self._events.registry.waiting())

    def end_nested(self, pending_text: str) -> None:
        """Ends the message of a nested agent. ``pending_text``: the error of the calls that wait for somebody."""
        self._check_running()
        self._events.end_parts(NO_RESULT_TEXT)
        self._events.responses.end_calls(pending_text, closes_pending=True)
        self._events.steps.finish()
        if (metadata := self._metadata()) is not None:
            self._sink.message_metadata(metadata)
        self._end("finish")

    # Streams that no complete event has confirmed

    def keep_unconfirmed(self) -> None:
        """From now on, keeps all that is streamed until a complete event confirms it: see ``unconfirmed``."""
        self._events.keep_unconfirmed()

    @property
    def unconfirmed(self) -> list[UnconfirmedStream]:
        """The streamed parts that no complete event has confirmed, in the order in which they began."""
        return self._events.unconfirmed

    @property
    def complete_ids(self) -> list[str]:
        """The ids of the complete events, in their order, from when streams are kept."""
        return self._events.complete_ids

    # Events

    def items(self, event: "EventOrDict") -> list[T]:
        """Return the items that this event adds to the stream, after all items that were not taken before."""
        item = None if self._sink.queue else self.text_delta(event)
        if item is not None:
            return [item]
        self.feed(event)
        return self.take()

    def feed(self, event: "EventOrDict") -> None:
        """Writes what this event adds to the stream. A dictionary is read as an event."""
        said = read_next(event, self.warn)
        if not self._running:
            self._start(said.invocation_id)
        self._events.add(said)


def _begin_nested(settings: Settings, call_id: str) -> Conversion[AnyChunk]:
    """Begins the conversion of an agent that runs inside the call with this client id."""
    return Conversion(ChunkSink(), settings.nested, call_id, NO_IDS)
