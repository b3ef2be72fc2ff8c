"""Speakers, and the open part of each.

Agents that run in parallel interleave their fragments, so each (author, branch, node path) is a speaker with at most
one open part. The event id is not a key: it changes with every fragment before ADK 2.6, and again in turns with a code
executor.

Texts that a speaker streamed since its last complete event are remembered: the complete event repeats them, and only
the difference may be shown.
"""

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn

from stream_protocol.adk import OpenText, Part, SpeakerKey, open_text
from stream_protocol.stream._streamed_texts import PrefixHash, StreamedTexts
from stream_protocol.stream._unconfirmed import PartKind
from stream_protocol.stream.calls import ToolCall
from stream_protocol.wire import DeltaWriter, ProviderMetadata, Sink, TextCitation


@dataclass(slots=True, eq=False)
class AuthorStream:
    """One speaker's open part, and what it has streamed of its current response."""

    key: SpeakerKey
    _sink: Sink[Any]
    provider: ProviderMetadata = field(init=False)
    """Provider metadata that names the speaker, for each of the speaker's parts."""
    write: DeltaWriter[Any] = field(init=False)
    """Writes a delta of the open part."""
    _part_id: str = ""
    _signature: bytes | None = None
    kind: PartKind | None = None
    """The kind of the open part."""
    opened: OpenText | None = None
    """The open part, while a fragment may only continue it and becomes one item then."""
    streamed: StreamedTexts = field(default_factory=StreamedTexts)
    """The texts and thoughts of the current response."""
    citations: list[TextCitation] | None = None
    """The citations of the open text, for its end."""
    _closed_texts: list[tuple[str, int]] = field(default_factory=list)
    """The ids and lengths of the texts of the current response that have ended."""
    model: str | None = None
    """The model that has streamed them, if the fragments name it."""
    finish_reason: str | None = None
    """The finish reason in the fragments of the current response."""
    speech: PrefixHash | None = None
    """The text that is being said in a live run."""
    streamed_others: dict[str, int] = field(default_factory=dict)
    """The number of parts of other kinds that were streamed in that response, by kind."""
    deferred_parts: list[Part] = field(default_factory=list)
    """Fragments that wait for the complete event: a file that may have been saved by then, and all after it."""
    saved_artifacts: list[Mapping[str, int]] = field(default_factory=list)
    """Artifacts that were saved by events without content: that from which they were saved is still to come."""
    calls_by_id: dict[str, ToolCall] = field(default_factory=dict)
    """The newest calls of this speaker, by the ids that fragments have for them."""
    streaming_calls: list[ToolCall] = field(default_factory=list)
    """Calls of the current response whose complete event is still to come."""
    unfinished_calls: list[ToolCall] = field(default_factory=list)
    """Such calls of an earlier response, whose complete event came without them."""
    in_response: bool = False
    """True if content of the current response has been shown."""

    has_failed: bool = False
    """True after a node failed, until it does something again."""

    def __post_init__(self) -> None:
        author, branch, _ = self.key
        adk = {"author": author} if branch is None else {"author": author, "branch": branch}
        self.provider = {"adk": adk}
        self.write = _CLOSED

    @property
    def is_busy(self) -> bool:
        """True if a step can't end now: a part or an input is open."""
        return self.kind is not None or any(call.is_shown for call in self.streaming_calls)

    @property
    def open_text(self) -> str | None:
        """The id of the open part, if that is a text."""
        return self._part_id if self.kind is PartKind.TEXT else None

    @property
    def text_blocks(self) -> list[tuple[str, int]]:
        """The ids of the texts of the current response, and the number of their characters."""
        if self.kind is not PartKind.TEXT:
            return self._closed_texts
        return [*self._closed_texts, (self._part_id, self.streamed.part_length)]

    def write_whole(self, text: str) -> None:
        """Writes a text, or the rest of it, that was not streamed: to the open part."""
        self.write(text)
        self.streamed.add_unstreamed(text)

    def open(self, kind: PartKind, part_id: str, model: str | None = None) -> None:
        """Opens a part. No part may be open. ``model``: the one that streams the part."""
        is_text = kind is PartKind.TEXT
        self.write = (self._sink.text_start if is_text else self._sink.reasoning_start)(part_id, self.provider)
        if self._sink.makes_items:
            self.opened = open_text(self.key, is_thought=not is_text)
        self.kind = kind
        self._part_id = part_id
        self.streamed.begin(kind)
        self.model = model

    def defer(self, part: Part) -> None:
        """Keeps a fragment until the complete event comes."""
        self.deferred_parts.append(part)
        self.streamed.keep(part)
        self.opened = None

    def sign(self, signature: bytes) -> None:
        """Keeps the thought signature for the end of the open part."""
        if self.kind is not None:
            self._signature = signature

    def close(self) -> None:
        """Ends the open part, if there is one."""
        if self.kind is None:
            return
        # A part's end replaces its metadata, so the speaker is named again beside the signature.
        provider = None if self._signature is None else self.provider | signature_metadata(self._signature)
        if self.kind is PartKind.TEXT:
            self._closed_texts.append((self._part_id, self.streamed.part_length))
            self._sink.text_end(self._part_id, provider, self.citations)
            self.citations = None
        else:
            self._sink.reasoning_end(self._part_id, provider)
        self.kind = None
        self.write, self.opened = _CLOSED, None
        self._signature = None

    def remove_call(self, call: ToolCall) -> None:
        """Removes a call that is complete from the lists of incomplete ones."""
        for calls in (self.streaming_calls, self.unfinished_calls):
            if call in calls:
                calls.remove(call)

    def end_response(self) -> None:
        """Ends the current response: the next fragment begins another one."""
        self.close()
        self._closed_texts.clear()
        self.streamed.clear()
        self.model = self.finish_reason = None
        self.streamed_others.clear()
        self.deferred_parts.clear()
        self.unfinished_calls += self.streaming_calls
        self.streaming_calls.clear()
        self.in_response = False


def signature_metadata(signature: bytes) -> ProviderMetadata:
    """Gemini's thought signature where the AI SDK's Google provider keeps it."""
    return {"google": {"thoughtSignature": b64encode(signature).decode()}}


def _closed(delta: str) -> NoReturn:
    raise AssertionError(f"no part is open for {delta!r}")


_CLOSED: Final = DeltaWriter[Any](_closed, _closed)
