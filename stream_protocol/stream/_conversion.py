"""Convert the events of one response. ``StreamProtocolConverter`` is the public class.

The same events always give the same chunks.
"""

from collections.abc import Callable, Collection, Iterable
from typing import Any, Generic, Literal, TypeVar, Unpack

from stream_protocol.adk import NO_IDS, CallIds, Compaction, EventOrDict, WarnOnce, read, read_events, read_next
from stream_protocol.stream._endings import AgentRunError
from stream_protocol.stream._event_writer import EventWriter
from stream_protocol.stream._options import ConverterOptions, Settings
from stream_protocol.stream._speakers import UnconfirmedStream
from stream_protocol.wire import (
    RUN_STOPPED_TEXT,
    AnyChunk,
    ChunkSink,
    Sink,
    SseSink,
    StreamProtocolError,
    TransformedSink,
    check_instance,
    check_iterable,
    check_text,
    check_texts,
    json_value,
)

NO_RESULT_TEXT = "The tool gave no result."
RUN_FAILED_TEXT = "The run failed before the tool finished."

Ending = Literal["finish", "error", "timeout", "abort"]
"""The ending of a response. ``timeout`` is like ``error``, but pending calls cannot be answered afterwards."""

T = TypeVar("T")


class Conversion(Generic[T]):
    """Converts the ADK events of one response to chunks, and writes the chunks to a sink."""

    __slots__ = ("_running", "_sink", "_unseen", "events", "message_id", "outcome", "warn")

    def __init__(self, sink: Sink[T], settings: Settings, message_id: str | None, call_ids: CallIds) -> None:
        """``call_ids``: the ``toolCallId`` of each tool call in earlier messages of the chat."""
        self._sink = sink
        self.message_id = message_id
        """The id of the message; ``None`` until the first event sets it."""
        self.warn = WarnOnce()
        self.events = EventWriter(sink, settings, call_ids, self.warn, _begin_nested)
        self._running = False
        self._unseen: list[T] = []
        """Chunks of earlier events that the client has not received. They follow the ``start`` chunk."""
        self.outcome: Ending | None = None
        """How the response ended; ``None`` before its end."""

    def take(self) -> list[T]:
        """Remove and return the chunks that were written since the last call of ``take``. With an SSE sink, each item
        is the bytes of one chunk.
        """
        return self._sink.take()

    # The life of a response

    def replay(
        self,
        past: Iterable[EventOrDict],
        seen: int | None = None,
        before_unseen: Callable[[], object] = lambda: None,
    ) -> None:
        """Read the earlier events of a message to restore its tool calls, counters and totals.

        ``seen``: the number of these events that the client has received; ``None`` for all. The response begins with
        the chunks of the other events. ``before_unseen``: function that is called once, before these chunks are
        created.
        """
        with self.warn.silenced():
            self._replay(past, seen, before_unseen)

    def _replay(self, past: Iterable[EventOrDict], seen: int | None, before_unseen: Callable[[], object]) -> None:
        by_user = is_unseen = False
        for number, facts in enumerate(map(read, read_events(past, self.warn))):
            if facts.reports_a(Compaction):  # its author is the user, but it begins no response
                continue
            after_user, by_user = by_user, facts.by_user
            if self._running and by_user and not after_user:  # the event begins a new response
                self._end_replayed()
            if not is_unseen:
                self.take()  # the client already has these chunks
                if is_unseen := seen is not None and number >= seen:
                    before_unseen()
            self.message_id = self.message_id or facts.invocation_id or None
            self._running = True
            self.events.add(facts)
        if self._running:
            self._end_replayed()
        self._running = False
        written = self.take()
        self._unseen = written if is_unseen else []

    def _end_replayed(self) -> None:
        """End a response that ``replay`` has read."""
        self.events.end_parts(NO_RESULT_TEXT)
        self.events.steps.finish_last("finish")
        self.events.steps.response_has_content = False
        self.events.summary.end_response()

    @property
    def failure(self) -> AgentRunError | None:
        """The first failure in an event, unless the run has recovered from it; otherwise ``None``."""
        return self.events.summary.failure

    @property
    def failed_calls(self) -> frozenset[str]:
        """If a tool raised an exception, its call has no result. The ``toolCallId`` of each such call."""
        return frozenset(self.events.responses.failed)

    def finish(self) -> None:
        """End the response after the last event of the run.

        The last chunk is normally ``finish``. If an event has reported an error or an abort, the last chunk is
        ``error`` or ``abort``.
        """
        if self.failure is not None:
            self.fail(self.failure)
        elif self.events.summary.aborted:
            self.abort()
        else:
            self._finish()

    def _finish(self) -> None:
        metadata = self._end_content("finish", NO_RESULT_TEXT)
        reason = self.events.summary.finish_reason(
            any_pending=self.is_waiting, any_shown=self.events.steps.response_has_content
        )
        self._sink.finish(reason, metadata)
        self._end("finish")

    def fail(self, error: BaseException, *, stopped: bool = False) -> None:
        """End the response of a failed run. Ends the unfinished parts and the tool calls, and then writes an ``error``
        chunk.

        Calls that wait for the user or the client stay open for a later answer. ``stopped``: True if the server has
        stopped the run. Then these calls are ended, too.
        """
        self._end_content("error", RUN_FAILED_TEXT, stopped=stopped, error=error)
        self._sink.error(self.events.settings.error_text(error))
        self._end("timeout" if stopped else "error")

    def abort(self, reason: str | None = None) -> None:
        """End the response of a stopped run. Ends the unfinished parts and all tool calls, including those that wait
        for the user or the client. Then writes an ``abort`` chunk.
        """
        metadata = self._end_content("abort", RUN_STOPPED_TEXT, stopped=True)
        if metadata is not None:
            self._sink.message_metadata(metadata)
        self._sink.abort(reason)
        self._end("abort")

    def _end_content(
        self,
        ending: Literal["finish", "error", "abort"],
        error_text: str,
        *,
        stopped: bool = False,
        error: BaseException | None = None,
    ) -> dict[str, Any] | None:
        """End the unfinished parts, the tool calls without a result, and the last step.

        Returns the message metadata to write next. ``error_text``: the error text of calls without a result.
        ``stopped``: True to also end calls that wait for the user or the client. ``error``: the exception of the run.
        """
        closes_pending = stopped and self._running  # before the run's first event, pending calls keep waiting
        self._check_running()
        metadata = None if ending == "error" else self._metadata()
        if ending == "abort":
            self.events.responses.forget_failures()
        self.events.end_parts(error_text, closes_pending=closes_pending, error=error)
        if ending == "finish":
            self.events.responses.finalize_interim_outputs()
        return self.events.steps.finish_last(ending, metadata)

    def _start(self, invocation_id: str | None) -> None:
        if self.outcome is not None:
            raise StreamProtocolError("the response has ended; nothing can follow")
        self._running = True
        self.message_id = self.message_id or invocation_id or None
        self._sink.start(self.message_id)
        self._sink.queue += self._unseen
        self._unseen = []

    def _check_running(self) -> None:
        if not self._running:
            self._start(None)

    def _end(self, outcome: Ending) -> None:
        # Called after all chunks are written. If a hook raises before that, `fail` can still end the response.
        self.outcome = outcome
        self._running = False

    def _metadata(self) -> dict[str, Any] | None:
        usage = self.events.summary.usage
        metadata: dict[str, Any] = {} if usage is None else {"usage": usage}
        if self.events.summary.model_id is not None:
            metadata["modelId"] = self.events.summary.model_id
        return json_value(self.events.settings.options["message_metadata"](metadata), lossy=True) or None

    # Agents inside tool calls

    def show_nested(self, *, shows: bool = True) -> None:
        """Send the preliminary outputs of agents inside tool calls, or hold them back: see ``InnerAgents.show``."""
        self.events.responses.inner_agents.show(shows=shows)

    @property
    def is_waiting(self) -> bool:
        """True if a tool call waits for an answer from the user, the client or another system."""
        return any(call.is_pending for call in self.events.registry.waiting())

    def end_nested(self, pending_text: str | None) -> None:
        """End the message of an agent inside a tool call. Calls that wait for an answer get the error text
        ``pending_text``. If ``pending_text`` is ``None``, these calls stay open.
        """
        self._check_running()
        self.events.end_parts(NO_RESULT_TEXT)
        if pending_text is not None:
            self.events.responses.end_calls(pending_text, closes_pending=True)
        self.events.steps.finish()
        if (metadata := self._metadata()) is not None:
            self._sink.message_metadata(metadata)
        self._end("finish")

    # Streams that no complete event has confirmed

    def keep_unconfirmed(self) -> None:
        """From now on, keep each streamed part until the complete event with this part comes."""
        self.events.authors.keep_unconfirmed()

    @property
    def unconfirmed(self) -> list[UnconfirmedStream]:
        """The streamed parts for which no complete event has come, oldest first. Empty unless ``keep_unconfirmed`` was
        called.
        """
        return self.events.authors.unconfirmed

    @property
    def complete_ids(self) -> list[str]:
        """The ids of all complete events since the call of ``keep_unconfirmed``, in order."""
        return self.events.authors.complete_ids

    # Events

    def items(self, event: EventOrDict) -> list[T]:
        """Convert the event, and return all chunks that ``take`` has not returned yet, oldest first."""
        item = None if self._sink.queue else self.events.text_delta(event)
        if item is not None:
            return [item]
        self.feed(event)
        return self.take()

    def feed(self, event: EventOrDict) -> None:
        facts = read_next(event, self.warn)
        if not self._running:
            self._start(facts.invocation_id)
        self.events.add(facts)


def _begin_nested(settings: Settings, call_id: str) -> Conversion[AnyChunk]:
    """Return a conversion for an agent that runs inside a tool call. ``call_id``: the ``toolCallId`` of this call."""
    return Conversion(ChunkSink(), settings.nested, call_id, NO_IDS)


class StreamProtocolConverter:
    """Converter from the ADK events of one response to UI message chunks.

    Pass the events of one run to ``convert`` in order, and send the returned chunks to the client immediately. End the
    response with exactly one of ``finish``, ``fail`` and ``abort``. For the first event, the converter also returns the
    ``start`` chunk. Its ``messageId`` is ``message_id``, by default the event's invocation id. An event may also be a
    dictionary, such as the JSON of an Agent Engine or of ADK's API server. ADK is imported when the first dictionary is
    converted. Unknown fields of a dictionary are ignored.

    ``past``: the message's earlier events, if the response continues a message, for example after an approval. The
    converter reads calls, ids, sources and usage from these events, but returns no chunks for them.

    ``taken_ids``: the ids of all tool calls in the chat's earlier messages. The client needs unique ids. A new call
    whose id is in ``taken_ids`` or in this message gets the id ``<id>.2``, ``<id>.3``, and so on. A call without an id
    in ADK gets ``call_0``, ``call_1``, and so on.

    The converter sees one event at a time, so it does not recognize calls that start a task-mode agent. To hide these
    calls, pass the names of their tools in ``hidden_tools``.

    Raises ``StreamProtocolError`` for contradictory options, and for a method call after the end of the response.
    """

    __slots__ = ("_conversion", "_items", "_take")

    def __init__(
        self,
        *,
        past: Iterable[EventOrDict] = (),
        message_id: str | None = None,
        taken_ids: Collection[str] = (),
        **options: Unpack[ConverterOptions],
    ) -> None:
        self._conversion = chunk_conversion(past, message_id, Settings(**options), call_ids(taken_ids))
        self._items: Callable[[Any], list[AnyChunk]] = self._conversion.items
        self._take = self._conversion.take

    def convert(self, event: EventOrDict) -> list[AnyChunk]:
        """Return the chunks for an event: often one, sometimes none.

        Raises ``StreamProtocolError`` for an invalid event.
        """
        return self._items(event)

    def finish(self) -> list[AnyChunk]:
        """End the response of a completed run. Returns the last chunks.

        The last chunk is normally ``finish``. If an event has reported an error or an abort, the last chunk is
        ``error`` or ``abort``.
        """
        self._conversion.finish()
        return self._take()

    def fail(self, error: BaseException) -> list[AnyChunk]:
        """End the response of a run that raised ``error``. Returns chunks that end unfinished parts and tool calls, and
        then the ``error`` chunk.

        The option ``on_error`` creates the text of the ``error`` chunk. If an event has already reported the failure,
        there is still only one ``error`` chunk.
        """
        check_instance("error", error, BaseException, "an exception")
        self._conversion.fail(error)
        return self._take()

    def abort(self, reason: str | None = None) -> list[AnyChunk]:
        """End the response of a stopped run. Returns chunks that end unfinished parts and tool calls, and then the
        ``abort`` chunk."""
        check_text("reason", reason, or_none=True)
        self._conversion.abort(reason)
        return self._take()


def call_ids(taken_ids: Collection[str]) -> CallIds:
    """Return the ids of earlier tool calls as a ``CallIds``. Raises ``StreamProtocolError`` if an id is not a text."""
    return CallIds(check_texts("taken_ids", taken_ids, expected="a list of ids"))


def chunk_conversion(
    past: Iterable[EventOrDict], message_id: str | None, settings: Settings, call_ids: CallIds = NO_IDS
) -> Conversion[AnyChunk]:
    """Return a conversion that writes chunks as dictionaries. ``call_ids``: the ``toolCallId`` of each tool call in
    earlier messages of the chat.
    """
    return _conversion(ChunkSink(), past, message_id, settings, call_ids)


def sse_conversion(
    past: Iterable[EventOrDict],
    message_id: str | None,
    settings: Settings,
    call_ids: CallIds = NO_IDS,
    *,
    seen: int | None = None,
) -> Conversion[bytes]:
    """Return a conversion that writes SSE events as bytes. ``call_ids``: the ``toolCallId`` of each tool call in
    earlier messages of the chat. ``seen``: see ``Conversion.replay``.
    """
    return _conversion(SseSink(), past, message_id, settings, call_ids, seen)


def _conversion(
    sink: Sink[T],
    past: Iterable[EventOrDict],
    message_id: str | None,
    settings: Settings,
    call_ids: CallIds,
    seen: int | None = None,
) -> Conversion[T]:
    check_text("message_id", message_id, or_none=True)
    check_iterable("past", past, "events")
    transform = settings.options["transform"]
    if transform is None:
        conversion = Conversion(sink, settings, message_id, call_ids)
        conversion.replay(past, seen)
        return conversion
    transformed = TransformedSink(sink)

    def set_transform() -> None:
        transformed.transform = transform

    conversion = Conversion(transformed, settings, message_id, call_ids)
    # The hook has already seen the chunks that the client has.
    conversion.replay(past, seen, before_unseen=set_transform)
    set_transform()
    return conversion
