"""End a stream whose server process has died, so that no client waits for more chunks."""

from collections.abc import Iterable
from typing import Any, Final

from stream_protocol.wire._chunks import AnyChunk
from stream_protocol.wire._errors import ClientStreamError
from stream_protocol.wire._sinks import Sink, SseSink
from stream_protocol.wire._sse import SSE_DONE
from stream_protocol.wire.client._reducer import MessageReducer

_SETTLED: Final = ("output-available", "output-error", "output-denied", "approval-requested")
"""States of a call that has ended, or waits for the user's approval."""


def close_stream(sink: Sink[Any], chunks: Iterable[AnyChunk], *, past: Iterable[AnyChunk], unanswered: str) -> bool:
    """Write the ends of all parts that have begun in ``chunks`` but have not ended. Returns True if ``chunks`` already
    contain the stream's last chunk.

    ``unanswered``: the error text for calls that ran in the dead server process. ``past``: chunks of the message that
    the response continues. If calls of this message wait for the client, they are not ended.
    """
    stream = _UnfinishedStream()
    try:
        stream.fold(chunks, past)
    except ClientStreamError:  # the client has failed on this stream, and reads no more chunks
        return stream.ended
    stream.close(sink, unanswered)
    return stream.ended


def closing_events(chunks: Iterable[AnyChunk], *, past: Iterable[AnyChunk], unanswered: str, error: str) -> list[bytes]:
    """Return the SSE events that are missing at the end of a broken stream. The last event is ``data: [DONE]``.

    ``error``: the text of the ``error`` chunk that is added if ``chunks`` lack the stream's last chunk. For the other
    arguments, see ``close_stream``.
    """
    sink = SseSink()
    if not close_stream(sink, chunks, past=past, unanswered=unanswered):
        sink.error(error)
    return [*sink.take(), SSE_DONE]


class _UnfinishedStream:
    def __init__(self) -> None:
        self.ended = False
        self._reducer = MessageReducer(ai_sdk=7)
        self._in_step = False
        self._waiting: set[str] = set()
        """The ids of calls that waited for the client before the response."""

    def fold(self, chunks: Iterable[AnyChunk], past: Iterable[AnyChunk]) -> None:
        first = True
        for chunk in chunks:
            self._apply(chunk)
            if first:
                for earlier in past:
                    self._reducer.apply_checked(earlier)
                self._waiting = {part["toolCallId"] for part in self._calls() if part["state"] == "input-available"}
                first = False

    def close(self, sink: Sink[Any], unanswered: str) -> None:
        if self.ended:
            return
        for part_id in self._reducer.open_ids("text"):
            sink.text_end(part_id)
        for part_id in self._reducer.open_ids("reasoning"):
            sink.reasoning_end(part_id)
        for part in self._calls():
            if self._is_open(part):
                sink.tool_output_error(
                    part["toolCallId"],
                    unanswered,
                    dynamic=part["type"] == "dynamic-tool",
                    provider_executed=part.get("providerExecuted", False),
                )
        if self._in_step:
            sink.finish_step()

    def _apply(self, chunk: AnyChunk) -> None:
        match chunk["type"]:
            case "error":
                self.ended = True
                return  # the reducer would raise for it
            case "finish" | "abort":
                self.ended = True
            case "start-step" | "finish-step":
                self._in_step = chunk["type"] == "start-step"
        self._reducer.apply_checked(chunk)

    def _calls(self) -> list[dict[str, Any]]:
        parts: list[Any] = self._reducer.message["parts"]
        return [part for part in parts if "toolCallId" in part]

    def _is_open(self, part: dict[str, Any]) -> bool:
        if part.get("preliminary"):
            return True
        waits = part["state"] == "input-available" and part["toolCallId"] in self._waiting
        return part["state"] not in _SETTLED and not waits
