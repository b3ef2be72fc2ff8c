"""The client's reducer: chunks in, the message that the page shows out. It judges every stream that we write.

Source: ``ui/process-ui-message-stream.ts`` of ``vercel/ai``, read at ``ai@6.0.326`` and ``ai@7.0.173``, behind the
schema check of ``ui/default-chat-transport.ts``. Where the client writes ``undefined`` the key is absent here.

The client joins every delta to the text so far and parses a tool call's input anew each time. Here deltas are collected
and joined when somebody looks: at the end of a part, or when ``message`` is read. The result is the same, in linear
time.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar, Final, Literal, cast

from stream_protocol.wire._chunks import AiSdkVersion, AnyChunk, DataChunk
from stream_protocol.wire._errors import ClientStreamError
from stream_protocol.wire._json_values import json_value, to_well_formed
from stream_protocol.wire._messages import UIMessage
from stream_protocol.wire.client._chunk_schema import check_chunk
from stream_protocol.wire.client._merge_metadata import merge_metadata
from stream_protocol.wire.client._tool_parts import TOOL_HANDLERS, Part, ToolParts, out_of_order, step_start

Write = Literal["nothing", "message", "streaming"]
"""What a chunk does to the page: nothing; the chat's list gets the message; that, and the status is ``streaming``."""


def reduce_chunks(
    chunks: Iterable[AnyChunk],
    *,
    ai_sdk: AiSdkVersion = 6,
    message: UIMessage | None = None,
    message_id: str = "",
    replay: bool = False,
) -> UIMessage:
    """Returns the message that a client of this version folds the chunks into.

    The arguments are those of ``MessageReducer``. Raises ``ClientStreamError`` where the client does: for a chunk that
    it refuses, an ``error`` chunk, or one that came out of ``parse_sse``; its ``message`` holds what had been
    received.
    """
    reducer = MessageReducer(ai_sdk=ai_sdk, message=message, message_id=message_id, replay=replay)
    try:
        for chunk in chunks:
            reducer.apply(chunk)
    except ClientStreamError as error:
        error.message = reducer.message
        raise
    return reducer.message


_WHOLE: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "file": ("mediaType", "url", "providerMetadata"),
        "reasoning-file": ("mediaType", "url", "providerMetadata"),
        "source-url": ("sourceId", "url", "title", "providerMetadata"),
        "source-document": ("sourceId", "mediaType", "title", "filename", "providerMetadata"),
        "custom": ("kind", "providerMetadata"),
        "steering-message": ("id", "parts"),
    }
)
"""The keys that a part takes from its chunk, where one chunk is the whole part."""


@dataclass(slots=True)
class _OpenText:
    """A text or reasoning part whose deltas may still come."""

    part: Part
    deltas: list[str] = field(default_factory=list)

    def settle(self) -> None:
        self.part["text"] = to_well_formed(self.part["text"] + "".join(self.deltas))
        self.deltas.clear()


class MessageReducer:
    """One response on its way into a message.

    ``message`` is the assistant message that the response continues; it is copied. ``message_id`` is what the client
    calls a new message until a ``start`` chunk renames it. ``replay``: the response resumes a stream from its
    beginning, so its first ``start``, and any with another id, forgets what there was.
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
        """What the last ``finish`` said."""
        self.data: list[DataChunk] = []
        """Every ``data-*`` chunk so far, transient ones too: what the page's ``onData`` got."""
        if message is not None and message["role"] == "assistant":
            self._begin(json_value(message, lossy=True))
        else:
            self._begin({"id": message_id, "role": "assistant", "parts": []})

    @property
    def message(self) -> UIMessage:
        """The message so far; the next chunk changes it."""
        for speaker in (self._texts, self._reasonings):
            for open_text in speaker.values():
                open_text.settle()
        self._tools.settle()
        return cast("UIMessage", self._message)

    @property
    def tools(self) -> ToolParts:
        """The message's tool calls; to be asked, not told."""
        return self._tools

    def open_ids(self, kind: str) -> Collection[str]:
        """The ids whose deltas may still come, of ``"text"`` or of ``"reasoning"``."""
        return self._speaker(kind).keys()

    def apply(self, chunk: AnyChunk) -> Write:
        """Takes the next chunk. Raises ``ClientStreamError`` where the client does."""
        check_chunk(chunk, ai_sdk=self._ai_sdk)
        return self.apply_checked(chunk)

    def apply_checked(self, chunk: AnyChunk) -> Write:
        """``apply`` for a chunk that is known to pass ``check_chunk``."""
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
    def _parts(self) -> list[Part]:
        return cast("list[Part]", self._message["parts"])

    def _merge_metadata(self, chunk: Mapping[str, Any]) -> bool:
        metadata = chunk.get("messageMetadata")
        if metadata is None:
            return False
        self._message["metadata"] = merge_metadata(self._message.get("metadata"), metadata)
        return True

    # the message

    def _start(self, chunk: Mapping[str, Any]) -> Write:
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

    def _finish(self, chunk: Mapping[str, Any]) -> Write:
        self.finish_reason = chunk.get("finishReason", self.finish_reason)
        return self._metadata(chunk)

    def _metadata(self, chunk: Mapping[str, Any]) -> Write:
        return "streaming" if self._merge_metadata(chunk) else "nothing"

    def _abort(self, chunk: Mapping[str, Any]) -> Write:
        return "nothing"

    def _error(self, chunk: Mapping[str, Any]) -> Write:
        raise ClientStreamError(chunk["errorText"], error_class="Error")

    def _start_step(self, chunk: Mapping[str, Any]) -> Write:
        self._tools.settle()
        self._parts.append({"type": "step-start"})
        return "nothing"

    def _finish_step(self, chunk: Mapping[str, Any]) -> Write:
        if self._ai_sdk == 6:
            self._close_texts()
        return "nothing"

    def _reset_step(self, chunk: Mapping[str, Any]) -> Write:
        self._close_texts()
        self._tools.forget()
        begin = step_start(self._parts)
        removed = self._parts[begin:]
        del self._parts[begin:]
        return "streaming" if removed else "nothing"

    def _close_texts(self) -> None:
        for speaker in (self._texts, self._reasonings):
            for open_text in speaker.values():
                open_text.settle()
            speaker.clear()

    # text and reasoning

    def _text_start(self, chunk: Mapping[str, Any]) -> Write:
        kind = chunk["type"].removesuffix("-start")
        part: Part = {"type": kind, "text": "", "state": "streaming"}
        if kind == "reasoning":
            part["id"] = chunk["id"]
        speaker = self._speaker(kind)
        if chunk["id"] in speaker:
            speaker[chunk["id"]].settle()
        speaker[chunk["id"]] = _OpenText(part)
        _set_provider(part, chunk)
        self._parts.append(part)
        return "streaming"

    def _text_delta(self, chunk: Mapping[str, Any]) -> Write:
        open_text = self._open_text(chunk, "delta")
        open_text.deltas.append(chunk["delta"])
        _set_provider(open_text.part, chunk)
        return "streaming"

    def _text_end(self, chunk: Mapping[str, Any]) -> Write:
        open_text = self._open_text(chunk, "end")
        open_text.settle()
        open_text.part["state"] = "done"
        if self._ai_sdk == 7 and chunk["type"] == "text-end" and "citations" in chunk:
            open_text.part["citations"] = [_citation(citation) for citation in chunk["citations"]]
        _set_provider(open_text.part, chunk)
        del self._speaker(open_text.part["type"])[chunk["id"]]
        return "streaming"

    def _speaker(self, kind: str) -> dict[str, _OpenText]:
        return self._texts if kind == "text" else self._reasonings

    def _open_text(self, chunk: Mapping[str, Any], what: str) -> _OpenText:
        kind = chunk["type"].removesuffix(f"-{what}")
        found = self._speaker(kind).get(chunk["id"])
        if found is None:
            raise out_of_order(chunk["type"], chunk["id"], f"{kind} part", f"{kind}-start")
        return found

    # parts that come whole

    def _whole(self, chunk: Mapping[str, Any]) -> Write:
        keys = _WHOLE[chunk["type"]]
        self._parts.append({"type": chunk["type"], **{key: chunk[key] for key in keys if key in chunk}})
        return "streaming"

    def _data(self, chunk: Mapping[str, Any]) -> Write:
        self.data.append(cast("DataChunk", chunk))
        if chunk.get("transient"):
            return "nothing"
        for part in self._parts if "id" in chunk else ():
            if part["type"] == chunk["type"] and part.get("id") == chunk["id"]:
                part["data"] = chunk["data"]
                return "streaming"
        self._parts.append(dict(chunk))
        return "streaming"

    _handlers: ClassVar[Mapping[str, Callable[["MessageReducer", Mapping[str, Any]], Write]]] = MappingProxyType(
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
            **dict.fromkeys(_WHOLE, _whole),
        }
    )


def _set_provider(part: Part, chunk: Mapping[str, Any]) -> None:
    if "providerMetadata" in chunk:
        part["providerMetadata"] = chunk["providerMetadata"]


def _citation(citation: Mapping[str, Any]) -> dict[str, Any]:
    """The keys that the schema names: it strips a citation of all others, unlike a chunk."""
    source = citation["source"]
    own = ("url",) if source["sourceType"] == "url" else ("mediaType", "filename")
    keys = ("type", "sourceType", "id", "title", "providerMetadata", *own)
    known = {key: citation[key] for key in ("startIndex", "endIndex", "citedText") if key in citation}
    return {"source": {key: source[key] for key in keys if key in source}, **known}
