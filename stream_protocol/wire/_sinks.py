"""Sinks are the objects to which the converter writes. Only this module builds chunks.

A ``Sink`` has one method for each chunk type. ``ChunkSink`` stores dictionaries, and ``SseSink`` stores bytes.
``TransformedSink`` first passes each chunk to a hook of the app. All values must be plain JSON.

Nearly all chunks of a stream are deltas. So the methods that start a part return a fast ``DeltaWriter``. All deltas of
a part begin with the same bytes, and ``SseSink`` encodes these bytes only once.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Final, Generic, Literal, TypeVar, cast

import orjson
from orjson import dumps

from stream_protocol.wire._chunks import AnyChunk, FinishReason, ProviderMetadata, TextCitation
from stream_protocol.wire._errors import StreamProtocolError
from stream_protocol.wire._json_values import to_well_formed
from stream_protocol.wire._sse import encode_sse

Transform = Callable[[AnyChunk], AnyChunk | Iterable[AnyChunk] | None]
"""An app's hook for chunks. It returns the chunk, several chunks in its place, or ``None`` to drop the chunk."""

DeltaType = Literal["text-delta", "reasoning-delta", "tool-input-delta"]

DELTA_KEYS: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "text-delta": ("id", "delta"),
        "reasoning-delta": ("id", "delta"),
        "tool-input-delta": ("toolCallId", "inputTextDelta"),
    }
)
"""Type of a delta -> the keys of the part's id and of the delta's text."""

T = TypeVar("T")


class DeltaWriter(ABC, Generic[T]):
    """Writes the deltas of one message part. The text of a delta must not be empty."""

    __slots__ = ()

    @abstractmethod
    def make(self, delta: str) -> T:
        """Return the chunk (or SSE event) for a delta, and do not write it. Call this method only if the sink's
        ``makes_items`` is True.
        """

    @abstractmethod
    def __call__(self, delta: str) -> None:
        """Write a delta."""


class Sink(ABC, Generic[T]):
    """Base class of sinks. The methods omit an optional key whose value is ``None``. ``input``, ``output`` and ``data``
    are always written.
    """

    __slots__ = ("queue",)

    makes_items: ClassVar[bool] = True
    """True if each delta becomes exactly one item."""

    def __init__(self, queue: list[T] | None = None) -> None:
        self.queue: list[T] = [] if queue is None else queue
        """The items that were not taken yet, oldest first."""

    @abstractmethod
    def emit(self, chunk: AnyChunk) -> None:
        """Write a complete chunk."""

    def take(self) -> list[T]:
        """Remove and return the items in the queue, oldest first."""
        taken = self.queue[:]
        self.queue.clear()
        return taken

    @abstractmethod
    def _delta_writer(self, kind: DeltaType, part_id: str) -> DeltaWriter[Any]:
        """Return the writer for the deltas of a message part."""

    def _write(self, chunk: dict[str, Any], **optional: Any) -> None:
        """Write a chunk. ``optional``: keys that are added to the chunk, unless their value is ``None``."""
        for key, value in optional.items():
            if value is not None:
                chunk[key] = value  # noqa: PERF403 - a second dictionary costs more
        self.emit(cast("AnyChunk", chunk))

    def start(self, message_id: str | None, metadata: Any = None) -> None:
        self._write({"type": "start"}, messageId=message_id, messageMetadata=metadata)

    def finish(self, reason: FinishReason, metadata: Any = None) -> None:
        self._write({"type": "finish", "finishReason": reason}, messageMetadata=metadata)

    def abort(self, reason: str | None) -> None:
        self._write({"type": "abort"}, reason=reason)

    def error(self, text: str) -> None:
        self.emit({"type": "error", "errorText": text})

    def message_metadata(self, metadata: Any) -> None:
        self.emit({"type": "message-metadata", "messageMetadata": metadata})

    def start_step(self) -> None:
        self.emit({"type": "start-step"})

    def finish_step(self) -> None:
        self.emit({"type": "finish-step"})

    def text_start(self, part_id: str, provider: ProviderMetadata | None = None) -> DeltaWriter[Any]:
        self._write({"type": "text-start", "id": part_id}, providerMetadata=provider)
        return self._delta_writer("text-delta", part_id)

    def text_end(
        self, part_id: str, provider: ProviderMetadata | None = None, citations: list[TextCitation] | None = None
    ) -> None:
        """Write a ``text-end`` chunk. Pass ``citations`` only for v7 clients since 7.0.138."""
        self._write({"type": "text-end", "id": part_id}, citations=citations, providerMetadata=provider)

    def reasoning_start(self, part_id: str, provider: ProviderMetadata | None = None) -> DeltaWriter[Any]:
        self._write({"type": "reasoning-start", "id": part_id}, providerMetadata=provider)
        return self._delta_writer("reasoning-delta", part_id)

    def reasoning_end(self, part_id: str, provider: ProviderMetadata | None = None) -> None:
        self._write({"type": "reasoning-end", "id": part_id}, providerMetadata=provider)

    def tool_input_start(
        self,
        call_id: str,
        name: str,
        *,
        dynamic: bool = False,
        provider_executed: bool = False,
        title: str | None = None,
        provider: ProviderMetadata | None = None,
    ) -> DeltaWriter[Any]:
        self._write(
            {"type": "tool-input-start", "toolCallId": call_id, "toolName": name},
            providerExecuted=provider_executed or None,
            dynamic=dynamic or None,
            title=title,
            providerMetadata=provider,
        )
        return self._delta_writer("tool-input-delta", call_id)

    def tool_input_available(
        self,
        call_id: str,
        name: str,
        value: Any,
        *,
        dynamic: bool = False,
        provider_executed: bool = False,
        title: str | None = None,
        provider: ProviderMetadata | None = None,
    ) -> None:
        self._write(
            {"type": "tool-input-available", "toolCallId": call_id, "toolName": name, "input": value},
            providerExecuted=provider_executed or None,
            dynamic=dynamic or None,
            title=title,
            providerMetadata=provider,
        )

    def tool_input_error(
        self,
        call_id: str,
        name: str,
        value: Any,
        error_text: str,
        *,
        dynamic: bool = False,
        provider_executed: bool = False,
        title: str | None = None,
    ) -> None:
        self._write(
            {
                "type": "tool-input-error",
                "toolCallId": call_id,
                "toolName": name,
                "input": value,
                "errorText": error_text,
            },
            providerExecuted=provider_executed or None,
            dynamic=dynamic or None,
            title=title,
        )

    def tool_approval_request(
        self, approval_id: str, call_id: str, *, reason: str | None = None, descriptor: Any = None
    ) -> None:
        """Write a ``tool-approval-request`` chunk. Pass ``reason`` only for clients since 7.0.82, and ``descriptor``
        only for clients since 6.0.274 and 7.0.87.
        """
        self._write(
            {"type": "tool-approval-request", "approvalId": approval_id, "toolCallId": call_id},
            reason=reason,
            approvalDescriptor=descriptor,
        )

    def tool_approval_response(self, approval_id: str, *, approved: bool, reason: str | None = None) -> None:
        """Write a ``tool-approval-response`` chunk. Only v7 clients accept this chunk."""
        self._write({"type": "tool-approval-response", "approvalId": approval_id, "approved": approved}, reason=reason)

    def tool_output_available(
        self,
        call_id: str,
        output: Any,
        *,
        preliminary: bool = False,
        dynamic: bool = False,
        provider_executed: bool = False,
    ) -> None:
        self._write(
            {"type": "tool-output-available", "toolCallId": call_id, "output": output},
            preliminary=preliminary or None,
            providerExecuted=provider_executed or None,
            dynamic=dynamic or None,
        )

    def tool_output_error(
        self, call_id: str, error_text: str, *, dynamic: bool = False, provider_executed: bool = False
    ) -> None:
        chunk = {"type": "tool-output-error", "toolCallId": call_id, "errorText": error_text}
        self._write(chunk, providerExecuted=provider_executed or None, dynamic=dynamic or None)

    def tool_output_denied(self, call_id: str) -> None:
        self.emit({"type": "tool-output-denied", "toolCallId": call_id})

    def source_url(self, source_id: str, url: str, title: str | None, provider: ProviderMetadata | None = None) -> None:
        self._write({"type": "source-url", "sourceId": source_id, "url": url}, title=title, providerMetadata=provider)

    def source_document(
        self,
        source_id: str,
        media_type: str,
        title: str,
        filename: str | None,
        provider: ProviderMetadata | None = None,
    ) -> None:
        chunk = {"type": "source-document", "sourceId": source_id, "mediaType": media_type, "title": title}
        self._write(chunk, filename=filename, providerMetadata=provider)

    def file(self, url: str, media_type: str, provider: ProviderMetadata | None = None) -> None:
        self._write({"type": "file", "url": url, "mediaType": media_type}, providerMetadata=provider)

    def reasoning_file(self, url: str, media_type: str, provider: ProviderMetadata | None = None) -> None:
        """Write a ``reasoning-file`` chunk. Only v7 clients accept this chunk."""
        self._write({"type": "reasoning-file", "url": url, "mediaType": media_type}, providerMetadata=provider)

    def custom(self, kind: str, provider: ProviderMetadata | None = None) -> None:
        """Write a ``custom`` chunk. Only v7 clients accept this chunk."""
        self._write({"type": "custom", "kind": kind}, providerMetadata=provider)

    def steering_message(self, message_id: str, parts: list[dict[str, Any]]) -> None:
        """Write a ``steering-message`` chunk. Only clients since 7.0.163 accept this chunk."""
        self.emit({"type": "steering-message", "id": message_id, "parts": parts})

    def data(self, name: str, value: Any, *, data_id: str | None = None, transient: bool = False) -> None:
        """Write a ``data-<name>`` chunk. In the client, a later chunk with the same name and id replaces the part."""
        self._write({"type": f"data-{name}", "data": value}, id=data_id, transient=transient or None)


class ChunkSink(Sink[AnyChunk]):
    __slots__ = ()

    def emit(self, chunk: AnyChunk) -> None:
        self.queue.append(chunk)

    def _delta_writer(self, kind: DeltaType, part_id: str) -> DeltaWriter[AnyChunk]:
        return _ChunkDeltas(self, kind, part_id)


class SseSink(Sink[bytes]):
    __slots__ = ()

    def emit(self, chunk: AnyChunk) -> None:
        self.queue.append(encode_sse(chunk))

    def _delta_writer(self, kind: DeltaType, part_id: str) -> DeltaWriter[bytes]:
        return _SseDeltas(self.queue, kind, part_id)


class _SseDeltas(DeltaWriter[bytes]):
    __slots__ = ("_front", "_queue")

    def __init__(self, queue: list[bytes], kind: DeltaType, part_id: str) -> None:
        part_key, text_key = DELTA_KEYS[kind]
        head = f'data: {{"type":"{kind}","{part_key}":'.encode()
        self._front = head + dumps(to_well_formed(part_id)) + f',"{text_key}":'.encode()
        self._queue = queue

    def make(self, delta: str) -> bytes:
        try:
            return self._front + dumps(delta) + b"}\n\n"
        except orjson.JSONEncodeError:  # a lone surrogate: the only string that orjson refuses
            return self._front + dumps(to_well_formed(delta)) + b"}\n\n"

    def __call__(self, delta: str) -> None:
        self._queue.append(self.make(delta))


class TransformedSink(Sink[T]):
    """Sink that passes each chunk to an app's hook. The hook returns chunks, which are written to another sink.

    If the hook raises an exception, the caller of the converter gets this exception. From then on, the sink does not
    call the hook, so that the last chunks of the response can still be written.
    """

    __slots__ = ("_target", "transform")

    makes_items = False

    def __init__(self, target: Sink[T], transform: Transform | None = None) -> None:
        super().__init__(target.queue)
        self._target = target
        self.transform = transform
        """The hook; ``None`` to leave chunks unchanged."""

    def _delta_writer(self, kind: DeltaType, part_id: str) -> DeltaWriter[AnyChunk]:
        return _ChunkDeltas(self, kind, part_id)

    def emit(self, chunk: AnyChunk) -> None:
        transform, self.transform = self.transform, None
        for item in _listed(chunk if transform is None else transform(chunk)):
            self._target.emit(item)
        self.transform = transform


class _ChunkDeltas(DeltaWriter[Any]):
    __slots__ = ("_kind", "_part_id", "_part_key", "_sink", "_text_key")

    def __init__(self, sink: Sink[Any], kind: DeltaType, part_id: str) -> None:
        self._sink = sink
        self._kind = kind
        self._part_id = part_id
        self._part_key, self._text_key = DELTA_KEYS[kind]

    def make(self, delta: str) -> dict[str, str]:
        text = delta if delta.isascii() else to_well_formed(delta)
        return {"type": self._kind, self._part_key: self._part_id, self._text_key: text}

    def __call__(self, delta: str) -> None:
        self._sink.emit(cast("AnyChunk", self.make(delta)))


def _listed(result: AnyChunk | Iterable[AnyChunk] | None) -> list[AnyChunk]:
    match result:
        case None:
            return []
        case dict():
            return [_checked(result)]
    return [_checked(item) for item in result]


def _checked(item: object) -> AnyChunk:
    """Return the item if it is a chunk. Raises ``StreamProtocolError`` for any other item that the hook ``transform``
    has returned.
    """
    match item:
        case {"type": str()}:
            return cast(AnyChunk, item)
    raise StreamProtocolError(f"`transform` returned {type(item).__name__}, which is not a chunk")
