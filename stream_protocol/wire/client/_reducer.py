"""The client's reducer: it applies chunks to the message that the user sees, or raises the client's errors.

Mirrors ``ui/process-ui-message-stream.ts`` of ``vercel/ai``, read at ``ai@6.0.326`` and ``ai@7.0.173``, and the schema
check of ``ui/default-chat-transport.ts``. A key that is ``undefined`` in the client is absent here.

The client parses the input of a tool call again after each delta. This reducer joins deltas only at the end of a part,
or when ``message`` is read. So it takes linear time.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar, Final, Literal, cast

from stream_protocol.wire._arguments import (
    argument_error,
    check_choice,
    check_flag,
    check_iterable,
    check_mapping,
    check_text,
)
from stream_protocol.wire._chunks import AI_SDK_VERSIONS, AiSdkVersion, AnyChunk, DataChunk
from stream_protocol.wire._errors import ClientStreamError
from stream_protocol.wire._json_values import json_value, to_well_formed
from stream_protocol.wire._ui_messages import UIMessage
from stream_protocol.wire.client._chunk_schema import check_chunk
from stream_protocol.wire.client._tool_parts import TOOL_HANDLERS, MutablePart, ToolParts, out_of_order

PageUpdate = Literal["nothing", "message", "streaming"]
"""The effect of a chunk on ``useChat``.

``"message"``: the message in ``messages`` is updated. ``"streaming"``: the status also becomes ``streaming``.
"""


_SKIPPED: Final = frozenset({"__proto__", "constructor", "prototype"})


def reduce_chunks(
    chunks: Iterable[AnyChunk],
    *,
    ai_sdk: AiSdkVersion = 6,
    message: UIMessage | None = None,
    message_id: str = "",
    replay: bool = False,
) -> UIMessage:
    """Return the message that a client of this version builds from the chunks.

    For the keyword arguments, see ``MessageReducer``. Raises ``ClientStreamError`` for an ``error`` chunk, and for a
    chunk that the client refuses. The error's attribute ``message`` is the message before this chunk. Exceptions that
    the iterable ``chunks`` raises are not caught. Raises ``TypeError`` for bytes: convert them with ``parse_sse``
    first.
    """
    _check_chunks(chunks)
    check_choice("ai_sdk", ai_sdk, AI_SDK_VERSIONS)
    _check_message(message)
    check_text("message_id", message_id)
    check_flag("replay", replay)
    reducer = MessageReducer(ai_sdk=ai_sdk, message=message, message_id=message_id, replay=replay)
    try:
        for chunk in chunks:
            _check_json(chunk)
            reducer.apply(chunk)
    except ClientStreamError as error:
        error.message = reducer.message
        raise
    return reducer.message


def _check_message(message: Any) -> None:
    """Raise ``InvalidArgumentError`` unless the value is a UI message or ``None``. The parts of the message are not
    checked.
    """
    check_mapping("message", message, or_none=True)
    kinds = {"id": str, "role": str, "parts": list}
    if message is not None and not all(isinstance(message.get(key), kind) for key, kind in kinds.items()):
        raise argument_error("message", "a UI message with id, role and parts, or None", message)


_JSON_TYPES: Final = (dict, list, str, int, float, type(None))


def _check_chunks(chunks: object) -> None:
    """Raise ``TypeError`` if the value is not an iterable of chunks. The bytes of a response are also refused."""
    if isinstance(chunks, str | bytes | bytearray):
        raise _takes_chunks(chunks)
    check_iterable("reduce_chunks", chunks, "chunks", otherwise="collect the chunks in a list first")


def _check_json(chunk: object) -> None:
    """Raise ``TypeError`` if the value is not JSON, or is the text of an SSE event."""
    if not isinstance(chunk, _JSON_TYPES) or (isinstance(chunk, str) and chunk.startswith("data:")):
        raise _takes_chunks(chunk)


def _takes_chunks(value: object) -> TypeError:
    is_sse = isinstance(value, str | bytes | bytearray)
    hint = ": `parse_sse` makes chunks of the bytes of a response" if is_sse else ""
    return TypeError(f"`reduce_chunks` takes chunks, not {type(value).__name__}{hint}.")


_KEYS_OF_WHOLE_PART: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "file": ("mediaType", "url", "providerMetadata"),
        "reasoning-file": ("mediaType", "url", "providerMetadata"),
        "source-url": ("sourceId", "url", "title", "providerMetadata"),
        "source-document": ("sourceId", "mediaType", "title", "filename", "providerMetadata"),
        "custom": ("kind", "providerMetadata"),
        "steering-message": ("id", "parts"),
    }
)
"""Type of a chunk that becomes a complete part -> the keys of the part."""


@dataclass(slots=True)
class _OpenText:
    part: MutablePart
    deltas: list[str] = field(default_factory=list)

    def join_deltas(self) -> None:
        self.part["text"] = to_well_formed(self.part["text"] + "".join(self.deltas))
        self.deltas.clear()


class MessageReducer:
    """Builds a message from the chunks of one response.

    ``message``: the assistant message that the response continues. The reducer changes only a copy. ``message_id``: the
    id of a new message until a ``start`` chunk sets another id. ``replay``: True if the response repeats a stream from
    its beginning. Then the first ``start`` chunk removes all parts of the message, and so does a later ``start`` chunk
    with a different id.
    """

    def __init__(
        self,
        *,
        ai_sdk: AiSdkVersion = 6,
        message: UIMessage | None = None,
        message_id: str = "",
        replay: bool = False,
    ) -> None:
        self._ai_sdk: AiSdkVersion = ai_sdk
        self._replay = replay
        self._started = False
        self.finish_reason: str | None = None
        """The newest finish reason."""
        self.data: list[DataChunk] = []
        """All ``data-*`` chunks, including transient chunks. The client passes them to ``onData``."""
        if message is not None and message["role"] == "assistant":
            self._begin(json_value(message, lossy=True))
        else:
            self._begin({"id": message_id, "role": "assistant", "parts": []})

    @property
    def message(self) -> UIMessage:
        """The message so far. Applying the next chunk changes this object."""
        for open_texts in (self._texts, self._reasonings):
            for open_text in open_texts.values():
                open_text.join_deltas()
        self._tools.compute_inputs()
        return cast("UIMessage", self._message)

    @property
    def tools(self) -> ToolParts:
        return self._tools

    def open_ids(self, kind: str) -> Collection[str]:
        """Return the ids of the parts that have not ended. ``kind``: ``"text"`` or ``"reasoning"``."""
        return self._open_texts(kind).keys()

    def apply(self, chunk: AnyChunk) -> PageUpdate:
        """Validate and apply the next chunk. Raises ``ClientStreamError`` if the client would fail on this chunk."""
        check_chunk(chunk, ai_sdk=self._ai_sdk)
        return self.apply_checked(chunk)

    def apply_checked(self, chunk: AnyChunk) -> PageUpdate:
        """Apply the next chunk without validation. The caller must have called ``check_chunk`` for this chunk."""
        kind = chunk["type"]
        if kind in TOOL_HANDLERS:
            TOOL_HANDLERS[kind](self._tools, chunk)
            return "streaming"
        return self._handlers.get(kind, MessageReducer._data)(self, cast("Mapping[str, Any]", chunk))

    def _begin(self, message: dict[str, Any]) -> None:
        self._message = message
        self._texts: dict[str, _OpenText] = {}
        self._reasonings: dict[str, _OpenText] = {}
        self._tools = ToolParts(self._parts, ai_sdk=self._ai_sdk)

    @property
    def _parts(self) -> list[MutablePart]:
        return cast("list[MutablePart]", self._message["parts"])

    def _merge_metadata(self, chunk: Mapping[str, Any]) -> bool:
        metadata = chunk.get("messageMetadata")
        if metadata is None:
            return False
        self._message["metadata"] = merge_metadata(self._message.get("metadata"), metadata)
        return True

    def _start(self, chunk: Mapping[str, Any]) -> PageUpdate:
        message_id = chunk.get("messageId", self._message["id"])
        reset = self._replay and (not self._started or message_id != self._message["id"])
        self._started = True
        if reset:
            self._close_texts()
            self._begin({"id": message_id, "role": "assistant", "parts": []})
            self.finish_reason = None
        self._message["id"] = message_id
        merged = self._merge_metadata(chunk)
        return "message" if reset or merged or "messageId" in chunk else "nothing"

    def _finish(self, chunk: Mapping[str, Any]) -> PageUpdate:
        self.finish_reason = chunk.get("finishReason", self.finish_reason)
        return self._metadata(chunk)

    def _metadata(self, chunk: Mapping[str, Any]) -> PageUpdate:
        return "streaming" if self._merge_metadata(chunk) else "nothing"

    def _abort(self, chunk: Mapping[str, Any]) -> PageUpdate:
        return "nothing"

    def _error(self, chunk: Mapping[str, Any]) -> PageUpdate:
        raise ClientStreamError(chunk["errorText"], error_class="Error")

    def _start_step(self, chunk: Mapping[str, Any]) -> PageUpdate:
        self._tools.compute_inputs()
        self._parts.append({"type": "step-start"})
        return "nothing"

    def _finish_step(self, chunk: Mapping[str, Any]) -> PageUpdate:
        if self._ai_sdk == 6:
            self._close_texts()
        return "nothing"

    def _reset_step(self, chunk: Mapping[str, Any]) -> PageUpdate:
        self._close_texts()
        return "streaming" if self._tools.reset_step() else "nothing"

    def _close_texts(self) -> None:
        for open_texts in (self._texts, self._reasonings):
            for open_text in open_texts.values():
                open_text.join_deltas()
            open_texts.clear()

    def _text_start(self, chunk: Mapping[str, Any]) -> PageUpdate:
        kind = chunk["type"].removesuffix("-start")
        part: MutablePart = {"type": kind, "text": "", "state": "streaming"}
        if kind == "reasoning":
            part["id"] = chunk["id"]
        open_texts = self._open_texts(kind)
        if chunk["id"] in open_texts:
            open_texts[chunk["id"]].join_deltas()
        open_texts[chunk["id"]] = _OpenText(part)
        _set_provider(part, chunk)
        self._parts.append(part)
        return "streaming"

    def _text_delta(self, chunk: Mapping[str, Any]) -> PageUpdate:
        open_text = self._open_text(chunk, "delta")
        open_text.deltas.append(chunk["delta"])
        _set_provider(open_text.part, chunk)
        return "streaming"

    def _text_end(self, chunk: Mapping[str, Any]) -> PageUpdate:
        open_text = self._open_text(chunk, "end")
        open_text.join_deltas()
        open_text.part["state"] = "done"
        if self._ai_sdk == 7 and chunk["type"] == "text-end" and "citations" in chunk:
            open_text.part["citations"] = [_citation(citation) for citation in chunk["citations"]]
        _set_provider(open_text.part, chunk)
        del self._open_texts(open_text.part["type"])[chunk["id"]]
        return "streaming"

    def _open_texts(self, kind: str) -> dict[str, _OpenText]:
        return self._texts if kind == "text" else self._reasonings

    def _open_text(self, chunk: Mapping[str, Any], what: str) -> _OpenText:
        kind = chunk["type"].removesuffix(f"-{what}")
        found = self._open_texts(kind).get(chunk["id"])
        if found is None:
            raise out_of_order(chunk["type"], chunk["id"], f"{kind} part", f"{kind}-start")
        return found

    def _whole_part(self, chunk: Mapping[str, Any]) -> PageUpdate:
        keys = _KEYS_OF_WHOLE_PART[chunk["type"]]
        self._parts.append({"type": chunk["type"], **{key: chunk[key] for key in keys if key in chunk}})
        return "streaming"

    def _data(self, chunk: Mapping[str, Any]) -> PageUpdate:
        self.data.append(cast("DataChunk", chunk))
        if chunk.get("transient"):
            return "nothing"
        for part in self._parts if "id" in chunk else ():
            if part["type"] == chunk["type"] and part.get("id") == chunk["id"]:
                part["data"] = chunk["data"]
                return "streaming"
        self._parts.append(dict(chunk))
        return "streaming"

    _handlers: ClassVar[Mapping[str, Callable[["MessageReducer", Mapping[str, Any]], PageUpdate]]] = MappingProxyType(
        {
            "start": _start,
            "finish": _finish,
            "abort": _abort,
            "error": _error,
            "message-metadata": _metadata,
            "start-step": _start_step,
            "finish-step": _finish_step,
            "reset-step": _reset_step,
            "text-start": _text_start,
            "text-delta": _text_delta,
            "text-end": _text_end,
            "reasoning-start": _text_start,
            "reasoning-delta": _text_delta,
            "reasoning-end": _text_end,
            **dict.fromkeys(_KEYS_OF_WHOLE_PART, _whole_part),
        }
    )


def _set_provider(part: MutablePart, chunk: Mapping[str, Any]) -> None:
    if "providerMetadata" in chunk:
        part["providerMetadata"] = chunk["providerMetadata"]


def _citation(citation: Mapping[str, Any]) -> dict[str, Any]:
    """Return the citation with only the keys that the client's schema keeps."""
    source = citation["source"]
    own = ("url",) if source["sourceType"] == "url" else ("mediaType", "filename")
    keys = ("type", "sourceType", "id", "title", "providerMetadata", *own)
    known = {key: citation[key] for key in ("startIndex", "endIndex", "citedText") if key in citation}
    return {"source": {key: source[key] for key in keys if key in source}, **known}


def merge_metadata(base: Any, overrides: Any) -> Any:
    """Return ``base`` merged with ``overrides``, as the client's ``util/merge-objects.ts`` merges ``messageMetadata``.

    Nested objects are merged, too. Any other nested value is replaced. If ``base`` or ``overrides`` is a list, its
    indexes are used as keys. If one argument is ``None``, the result is the other argument. The arguments are not
    changed. Raises ``ClientStreamError`` (``TypeError``) if ``base`` is neither an object nor a list.
    """
    if base is None or overrides is None:
        return base if overrides is None else overrides
    whole: dict[str, Any] = {}
    todo = [(whole, base, overrides)]  # a loop, because metadata may be nested deeper than Python's stack allows
    while todo:
        merged, old, new = todo.pop()
        merged |= _items(old)
        for key, value in _items(new).items():
            if key in _SKIPPED:
                continue
            if not isinstance(old, Mapping | list):
                text = f"Cannot use 'in' operator to search for '{key}' in {_as_js_text(old)}"
                raise ClientStreamError(text, error_class="TypeError")
            inner = merged.get(key)
            merged[key] = value
            if isinstance(inner, Mapping) and isinstance(value, Mapping):
                merged[key] = {}
                todo.append((merged[key], inner, value))
    return whole


def _items(value: Any) -> dict[str, Any]:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, list | str):
        return {str(index): item for index, item in enumerate(value)}
    return {}


def _as_js_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
