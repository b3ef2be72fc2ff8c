"""The authors of a stream, with the open part of each author.

Agents that run in parallel send interleaved fragments. So there is one open part for each author. An author is
identified by agent, branch and node path. The event id does not identify an author, because it may change with every
fragment.

The texts that were streamed since the author's last complete event are stored. The next complete event repeats these
texts, so only the rest of its text is written.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Generic, NoReturn, TypeVar

from stream_protocol.adk import EventFacts, OpenText, Part, SpeakerKey, open_text
from stream_protocol.stream._aggregates import Comparison, InnerStreams, OtherStreamedParts
from stream_protocol.stream._streamed_texts import (
    PartKind,
    PrefixHash,
    StreamedTexts,
    UnconfirmedStream,
)
from stream_protocol.stream.calls import ToolCall, provider_metadata
from stream_protocol.wire import DeltaWriter, Sink, TextCitation

T = TypeVar("T")


class _ClosedWriter(DeltaWriter[Any]):
    """Placeholder for the writer of deltas while no part is open."""

    __slots__ = ()

    def make(self, delta: str) -> NoReturn:
        raise AssertionError(f"no part is open for {delta!r}")

    def __call__(self, delta: str) -> NoReturn:
        self.make(delta)


_CLOSED: Final = _ClosedWriter()


@dataclass(slots=True, eq=False)
class AuthorStream:
    """The open part of an author, and the streamed parts of the author's current model response."""

    key: SpeakerKey
    _sink: Sink[Any]
    write: DeltaWriter[Any] = _CLOSED
    """Writer for the deltas of the open part."""
    _part_id: str = ""
    _signature: bytes | None = None
    kind: PartKind | None = None
    """The kind of the open part; ``None`` if no part is open."""
    opened: OpenText | None = None
    """The open part, if each fragment that continues it becomes exactly one item; otherwise ``None``."""
    streamed: StreamedTexts = field(default_factory=StreamedTexts)
    """The texts and thoughts of the current response that were streamed."""
    citations: list[TextCitation] | None = None
    """The citations to write at the end of the open text."""
    _closed_texts: list[tuple[str, int]] | None = None
    """Id and length of each ended text of the current response."""
    model: str | None = None
    """The model of the current response; ``None`` if the fragments do not name it."""
    finish_reason: str | None = None
    """The finish reason that a fragment of the current response has reported."""
    speech: PrefixHash | None = None
    """The fragments of the agent's current utterance in a live run."""
    other_parts: OtherStreamedParts | None = None
    """The streamed parts of the current response that are neither text nor calls; ``None`` without such parts."""
    saved_artifacts: tuple[Mapping[str, int], ...] = ()
    """Artifacts that were saved in events without content. They are written after the content."""
    streaming_calls: tuple[ToolCall, ...] = ()
    """The calls of the current response whose complete event has not come."""
    unfinished_calls: tuple[ToolCall, ...] = ()
    """The streamed calls of the author's earlier responses. The complete events of these responses did not contain the
    calls."""
    in_response: bool = False
    """True if content of the author's current response was written."""
    may_be_busy: bool = False
    """True while ``Steps`` lists this author as one that may have open parts."""
    has_failed: bool = False
    """True after a workflow node has failed, until it continues."""

    @property
    def is_busy(self) -> bool:
        """True if a part or a call's input is open. The step cannot end while an author is busy."""
        return self.kind is not None or any(call.is_shown for call in self.streaming_calls)

    @property
    def open_text(self) -> str | None:
        """The id of the open part if it is a text; otherwise ``None``."""
        return self._part_id if self.kind is PartKind.TEXT else None

    @property
    def text_blocks(self) -> Sequence[tuple[str, int]]:
        """Id and length of each text of the current response, including the open text."""
        closed = self._closed_texts or []
        return [*closed, (self._part_id, self.streamed.part_length)] if self.kind is PartKind.TEXT else closed

    def write_whole(self, text: str) -> None:
        """Write a text that was not streamed, or the rest of a streamed text. A part must be open."""
        self.write(text)
        self.streamed.add_unstreamed(text)

    def open(self, kind: PartKind, part_id: str, model: str | None = None) -> None:
        """Open a part. No other part of the author may be open. ``model``: the model that streams the part."""
        is_text = kind is PartKind.TEXT
        self.write = (self._sink.text_start if is_text else self._sink.reasoning_start)(
            part_id, provider_metadata(self.key)
        )
        if self._sink.makes_items:
            self.opened = open_text(self.key, is_thought=not is_text)
        self.kind = kind
        self._part_id = part_id
        self.streamed.begin(kind)
        self.model = model

    @property
    def deferred(self) -> Sequence[Part]:
        """The parts of fragments that are held back until the complete event. All later parts are also held back."""
        return () if self.other_parts is None else self.other_parts.deferred

    def defer(self, part: Part) -> None:
        """Hold back a part of a fragment until the complete event comes."""
        self.other_parts = self.other_parts or OtherStreamedParts()
        self.other_parts.deferred.append(part)
        self.streamed.keep(part)
        self.opened = None

    def note_whole(self, fields: str) -> None:
        """Count a part of a fragment that was written in one piece. ``fields``: the names of the part's fields."""
        self.other_parts = self.other_parts or OtherStreamedParts()
        self.other_parts.written[fields] += 1

    def drop_deferred(self) -> None:
        """Remove the parts that were held back. The complete event replaces them."""
        if self.other_parts is not None:
            self.other_parts.deferred.clear()

    def sign(self, signature: bytes) -> None:
        """Store the thought signature for the end of the open part."""
        if self.kind is not None:
            self._signature = signature

    def close(self) -> None:
        """End the open part, if there is one."""
        if self.kind is None:
            return
        # The metadata at a part's end replaces the metadata at its start, so it contains the author again.
        provider = None if self._signature is None else provider_metadata(self.key, self._signature)
        if self.kind is PartKind.TEXT:
            self._closed_texts = self._closed_texts or []
            self._closed_texts.append((self._part_id, self.streamed.part_length))
            self._sink.text_end(self._part_id, provider, self.citations)
            self.citations = None
        else:
            self._sink.reasoning_end(self._part_id, provider)
        self.kind = None
        self.write, self.opened = _CLOSED, None
        self._signature = None

    def remove_call(self, call: ToolCall) -> None:
        """Remove a call from the incomplete calls, because its complete event has come."""
        if call in self.streaming_calls:
            self.streaming_calls = tuple(other for other in self.streaming_calls if other is not call)
        if call in self.unfinished_calls:
            self.unfinished_calls = tuple(other for other in self.unfinished_calls if other is not call)

    def end_response(self) -> None:
        """End the current response. The next fragment begins a new response."""
        self.close()
        self.streamed.clear()
        self._closed_texts = self.model = self.finish_reason = None
        self.other_parts = None
        self.unfinished_calls += self.streaming_calls
        self.streaming_calls = ()
        self.in_response = False


@dataclass(slots=True, eq=False)
class UnconfirmedStreams:
    """The streams of a response that have ended without a complete event that repeats all of their content."""

    ended: list[UnconfirmedStream] = field(default_factory=list)
    inner: InnerStreams = field(default_factory=InnerStreams)
    complete_ids: list[str] = field(default_factory=list)
    """The ids of the response's complete events, in order."""


class Authors(Generic[T]):
    """The authors of a response, and the streams that no complete event has repeated."""

    __slots__ = ("_by_key", "_sink", "_unconfirmed")

    def __init__(self, sink: Sink[T]) -> None:
        self._sink = sink
        self._by_key: dict[SpeakerKey, AuthorStream] = {}
        self._unconfirmed: UnconfirmedStreams | None = None
        """The streams that no complete event has repeated; ``None`` until ``keep_unconfirmed`` is called."""

    def __iter__(self) -> Iterator[AuthorStream]:
        return iter(self._by_key.values())

    def get(self, key: SpeakerKey) -> AuthorStream:
        """Return the ``AuthorStream`` for this key. Add it if it is new."""
        author = self._by_key.get(key)
        if author is None:
            author = self._by_key[key] = AuthorStream(key, self._sink)
            if self._unconfirmed is not None:
                author.streamed.kept = UnconfirmedStream()
        return author

    def keep_unconfirmed(self) -> None:
        """Store all streamed parts from now on, until a complete event repeats them."""
        self._unconfirmed = UnconfirmedStreams()
        for author in self:
            author.streamed.kept = UnconfirmedStream()

    @property
    def unconfirmed(self) -> list[UnconfirmedStream]:
        """The streamed parts that no complete event has repeated, oldest first."""
        if self._unconfirmed is None:
            return []
        streams = [*self._unconfirmed.ended, *(author.streamed.whole for author in self), *self._unconfirmed.inner]
        unconfirmed = (stream for stream in streams if stream is not None and stream.parts)
        return sorted(unconfirmed, key=lambda stream: stream.begin)

    @property
    def complete_ids(self) -> list[str]:
        """The ids of the complete events since ``keep_unconfirmed`` was called, in order."""
        return self._unconfirmed.complete_ids if self._unconfirmed is not None else []

    def note_complete(self, facts: EventFacts) -> None:
        """Store the id of a complete event. Does nothing unless ``keep_unconfirmed`` was called."""
        if self._unconfirmed is not None:
            self._unconfirmed.complete_ids.append(facts.id)
            self._unconfirmed.inner.add(facts)

    def note_fragment(self, author: AuthorStream, facts: EventFacts) -> None:
        """Store a fragment, because its fields may be needed later. Does nothing unless ``keep_unconfirmed`` was
        called."""
        if author.streamed.kept is not None:
            author.streamed.kept.note(facts, len(self.complete_ids))

    def keep_inner(self, fragment: EventFacts) -> None:
        """Store a fragment of an agent inside a call until a complete event repeats it.

        Does nothing unless ``keep_unconfirmed`` was called.
        """
        if self._unconfirmed is not None:
            self._unconfirmed.inner.add(fragment, len(self.complete_ids))

    def end_stream(self, author: AuthorStream) -> None:
        """End the stream of an author who sent no complete event. The stream stays in ``unconfirmed``."""
        if self._unconfirmed is not None and (stream := author.streamed.take_kept()) is not None:
            self._unconfirmed.ended.append(stream)

    def replace_stream(self, author: AuthorStream, comparison: Comparison) -> None:
        """End the author's stream if the complete event ends it.

        If the event does not repeat the whole stream, the stream stays in ``unconfirmed``.
        """
        if not comparison.ends_stream:
            return
        stream = author.streamed.take_kept()
        if self._unconfirmed is not None and stream is not None and not comparison.confirms_stream:
            stream.ended = True
            stream.repeated = comparison.repeated
            self._unconfirmed.ended.append(stream)
