"""``StreamProtocolConverter``, and the functions that create a ``Conversion``."""

from collections.abc import Callable, Collection, Iterable
from typing import Any, TypeVar, Unpack

from stream_protocol.adk import NO_IDS, CallIds, EventOrDict
from stream_protocol.stream._conversion import Conversion
from stream_protocol.stream._options import ConverterOptions, Settings
from stream_protocol.wire import (
    AnyChunk,
    ChunkSink,
    Sink,
    SseSink,
    TransformedSink,
    check_instance,
    check_iterable,
    check_text,
    check_texts,
)

T = TypeVar("T")


class StreamProtocolConverter:
    """Converter from the ADK events of one response to UI message chunks.

    Pass the events of one run to ``convert`` in order, and send the chunks that it returns at once. End the response
    with exactly one of ``finish``, ``fail`` and ``abort``. The first event adds the ``start`` chunk. Its ``messageId``
    is ``message_id``, or the event's invocation id by default. An event may also be a dictionary, such as the JSON of
    an Agent Engine or of ADK's API server. The first dictionary causes the import of ADK. Unknown fields of a
    dictionary are left out.

    ``past``: the earlier events of a message that the response continues, for example after an approval. The converter
    takes calls, ids, sources and usage from these events, but sends no chunks for them.

    ``taken_ids``: the ids of the tool calls in the chat's earlier messages. The client needs unique ids. So a call
    whose id is in ``taken_ids``, or is already used in this message, gets the id ``<id>.2``, ``<id>.3``, and so on. A
    call without an id in ADK gets ``call_0``, ``call_1``, and so on.

    Calls that start a task-mode agent are not recognized, because the converter sees one event at a time. Pass their
    tools as ``hidden_tools``.

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
        """End the response of a completed run. Returns the last chunks, with ``finish`` at the end.

        If the events report an error or an abort, the last chunk is ``error`` or ``abort``.
        """
        self._conversion.finish()
        return self._take()

    def fail(self, error: BaseException) -> list[AnyChunk]:
        """End the response of a run that raised ``error``. Returns the ends of open parts and calls, then the ``error``
        chunk.

        ``on_error`` returns the text of this chunk. If an event has reported the same failure before, it is sent only
        once.
        """
        check_instance("error", error, BaseException, "an exception")
        self._conversion.fail(error)
        return self._take()

    def abort(self, reason: str | None = None) -> list[AnyChunk]:
        """End the response of a stopped run. Returns the ends of open parts and calls, then the ``abort`` chunk."""
        check_text("reason", reason, or_none=True)
        self._conversion.abort(reason)
        return self._take()


def call_ids(taken_ids: Collection[str]) -> CallIds:
    """Return a collection with the ids of earlier calls. Raises ``StreamProtocolError`` if an item is not a text."""
    return CallIds(check_texts("taken_ids", taken_ids, expected="a list of ids"))


def chunk_conversion(
    past: Iterable[EventOrDict], message_id: str | None, settings: Settings, call_ids: CallIds = NO_IDS
) -> Conversion[AnyChunk]:
    """Return a conversion that writes chunks as dictionaries. ``call_ids``: the ids of calls in the chat's earlier
    messages.
    """
    return _conversion(ChunkSink(), past, message_id, settings, call_ids)


def sse_conversion(
    past: Iterable[EventOrDict], message_id: str | None, settings: Settings, call_ids: CallIds = NO_IDS
) -> Conversion[bytes]:
    """Return a conversion that writes SSE events as bytes. ``call_ids``: the ids of calls in the chat's earlier
    messages.
    """
    return _conversion(SseSink(), past, message_id, settings, call_ids)


def _conversion(
    sink: Sink[T], past: Iterable[EventOrDict], message_id: str | None, settings: Settings, call_ids: CallIds
) -> Conversion[T]:
    check_text("message_id", message_id, or_none=True)
    check_iterable("past", past, "events")
    transform = settings.options["transform"]
    if transform is None:
        conversion = Conversion(sink, settings, message_id, call_ids)
        conversion.replay(past)
        return conversion
    transformed = TransformedSink(sink)
    conversion = Conversion(transformed, settings, message_id, call_ids)
    conversion.replay(past)
    transformed.transform = transform  # not before, because the hook has seen the chunks of `past` already
    return conversion
