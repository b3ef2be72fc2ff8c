"""The public converter, one instance for each response, and how a ``Conversion`` is made."""

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
    """Turns the ADK events of one response into UI message chunks.

    Feed it the events of one run in order, and send the chunks that ``convert`` returns at once. End it with exactly
    one of ``finish``, ``fail`` and ``abort``. The first event brings ``start``: its ``messageId`` is ``message_id`` or
    else the event's invocation id. Events are only read, by attribute. An event may also be a dictionary, as the JSON
    of an Agent Engine or of ADK's API server. Then ADK is loaded, and fields that it does not know are left out.

    ``past`` are the earlier events of the same message, for a response that continues one (an approval was answered, a
    client tool gave its output). Calls, ids, sources and usage go on from there, and nothing of ``past`` is sent again.

    ``taken_ids`` are the ids of the tool calls in the chat's earlier messages. The client takes the first call with an
    id. So a call gets the id ``<id>.2``, ``<id>.3``, … if its own is among them, or was used before in this message. A
    call for which ADK has no id is ``call_0``, ``call_1``, …

    It sees one event at a time, so it cannot know which calls are delegations to a task-mode agent: see
    ``hidden_tools``.

    Raises ``StreamProtocolError`` for contradictory options and for any call after the end; nothing is changed then.
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
        """The chunks that this event adds; often one, sometimes none. Raises ``StreamProtocolError`` for no event."""
        return self._items(event)

    def finish(self) -> list[AnyChunk]:
        """Ends the response of a run that is over: by ``finish``, unless the events report an error or an abort."""
        self._conversion.finish()
        return self._take()

    def fail(self, error: BaseException) -> list[AnyChunk]:
        """Ends the response of a run that raised ``error``: open parts and calls, then the one ``error`` chunk with the
        text of ``on_error``. ADK's own event about the same failure is not reported twice."""
        check_instance("error", error, BaseException, "an exception")
        self._conversion.fail(error)
        return self._take()

    def abort(self, reason: str | None = None) -> list[AnyChunk]:
        """Ends the response of a run that was stopped: open parts and calls, then ``abort``."""
        check_text("reason", reason, or_none=True)
        self._conversion.abort(reason)
        return self._take()


def call_ids(taken_ids: Collection[str]) -> CallIds:
    """The ids of earlier calls. Raises ``StreamProtocolError`` for anything but a collection of texts."""
    return CallIds(check_texts("taken_ids", taken_ids, expected="a list of ids"))


def chunk_conversion(
    past: Iterable[EventOrDict], message_id: str | None, settings: Settings, call_ids: CallIds = NO_IDS
) -> Conversion[AnyChunk]:
    """A conversion to dictionaries. ``call_ids``: those of the chat's earlier messages."""
    return _conversion(ChunkSink(), past, message_id, settings, call_ids)


def sse_conversion(
    past: Iterable[EventOrDict], message_id: str | None, settings: Settings, call_ids: CallIds = NO_IDS
) -> Conversion[bytes]:
    """A conversion to SSE events. ``call_ids``: those of the chat's earlier messages."""
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
    transformed.transform = transform  # only now: the hook saw the past when it was written
    return conversion
