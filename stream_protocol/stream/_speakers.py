"""Authors of a stream, and the open part of each author.

Agents that run in parallel send interleaved fragments. So each author, with its branch and node path, has at most one
open part. The event id does not identify the author. Before ADK 2.6, it changes with every fragment. In later versions,
it changes with every fragment only if the agent has a code executor.

The texts since the author's last complete event are stored. The next complete event repeats these texts, so only the
difference is written.
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
    """Placeholder for the writer while no part is open."""

    __slots__ = ()

    def make(self, delta: str) -> NoReturn:
        raise AssertionError(f"no part is open for {delta!r}")

    def __call__(self, delta: str) -> NoReturn:
        self.make(delta)


_CLOSED: Final = _ClosedWriter()


@dataclass(slots=True, eq=False)
class AuthorStream:
    """An author's open part, and the streamed parts of its current response."""

    key: SpeakerKey
    _sink: Sink[Any]
    write: DeltaWriter[Any] = _CLOSED
    """Writer for the deltas of the open part."""
    _part_id: str = ""
    _signature: bytes | None = None
    kind: PartKind | None = None
    """The kind of the open part; ``None`` if no part is open."""
    opened: OpenText | None = None
    """The open part, if each fragment that continues it becomes exactly one item; else ``None``."""
    streamed: StreamedTexts = field(default_factory=StreamedTexts)
    """The streamed texts and thoughts of the current response."""
    citations: list[TextCitation] | None = None
    """The citations that are written at the end of the open text."""
    _closed_texts: list[tuple[str, int]] | None = None
    """The ids and lengths of the ended texts of the current response."""
    model: str | None = None
    """The model of the current response, if the fragments name it."""
    finish_reason: str | None = None
    """The finish reason in the fragments of the current response."""
    speech: PrefixHash | None = None
    """The speech of the current utterance in a live run."""
    other_parts: OtherStreamedParts | None = None
    """The streamed parts of the current response that are neither text nor calls; ``None`` if there are none."""
    saved_artifacts: tuple[Mapping[str, int], ...] = ()
    """Saved artifacts in events without content. They are written after the content from which they were saved."""
    streaming_calls: tuple[ToolCall, ...] = ()
    """The calls of the current response whose complete event is still to come."""
    unfinished_calls: tuple[ToolCall, ...] = ()
    """The calls of an earlier response that were missing in its complete event."""
    in_response: bool = False
    """True if content of the current response was written."""
    may_be_busy: bool = False
    """True while ``Steps`` lists the author among the authors that may have open parts."""
    has_failed: bool = False
    """True after a failure of a node, until the node continues."""

    @property
    def is_busy(self) -> bool:
        """True if a part or the input of a call is open, so that the step cannot end."""
        return self.kind is not None or any(call.is_shown for call in self.streaming_calls)

    @property
    def open_text(self) -> str | None:
        """The id of the open part if it is a text; else ``None``."""
        return self._part_id if self.kind is PartKind.TEXT else None

    @property
    def text_blocks(self) -> Sequence[tuple[str, int]]:
        """The ids and lengths of the texts of the current response, including the open text."""
        closed = self._closed_texts or []
        return [*closed, (self._part_id, self.streamed.part_length)] if self.kind is PartKind.TEXT else closed

    def write_whole(self, text: str) -> None:
        """Write a text, or the rest of a text, that was not streamed. A part must be open."""
        self.write(text)
        self.streamed.add_unstreamed(text)

    def open(self, kind: PartKind, part_id: str, model: str | None = None) -> None:
        """Open a part. No part may be open. ``model``: the model that streams the part."""
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
        """The parts of fragments that wait for the complete event. Later parts must also wait: see ``defer``."""
        return () if self.other_parts is None else self.other_parts.deferred

    def defer(self, part: Part) -> None:
        """Store a part of a fragment until the complete event comes."""
        self.other_parts = self.other_parts or OtherStreamedParts()
        self.other_parts.deferred.append(part)
        self.streamed.keep(part)
        self.opened = None

    def note_whole(self, fields: str) -> None:
        """Count a streamed part that was written in one piece. ``fields``: the fields of the part."""
        self.other_parts = self.other_parts or OtherStreamedParts()
        self.other_parts.written[fields] += 1

    def drop_deferred(self) -> None:
        """Remove the parts that waited for the complete event, which replaces them."""
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
        """Remove a complete call from the incomplete calls."""
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
    """The streams of a response that no complete event has confirmed, except those that are still growing."""

    ended: list[UnconfirmedStream] = field(default_factory=list)
    inner: InnerStreams = field(default_factory=InnerStreams)
    complete_ids: list[str] = field(default_factory=list)
    """The ids of the response's complete events, in their order."""


class Authors(Generic[T]):
    """The authors of a response, and their streams that no complete event has confirmed."""

    __slots__ = ("_by_key", "_sink", "_unconfirmed")

    def __init__(self, sink: Sink[T]) -> None:
        self._sink = sink
        self._by_key: dict[SpeakerKey, AuthorStream] = {}
        self._unconfirmed: UnconfirmedStreams | None = None
        """``None`` until ``keep_unconfirmed`` is called."""

    def __iter__(self) -> Iterator[AuthorStream]:
        return iter(self._by_key.values())

    def get(self, key: SpeakerKey) -> AuthorStream:
        """Return the author, which is added if it is new."""
        author = self._by_key.get(key)
        if author is None:
            author = self._by_key[key] = AuthorStream(key, self._sink)
            if self._unconfirmed is not None:
                author.streamed.kept = UnconfirmedStream()
        return author

    def keep_unconfirmed(self) -> None:
        """Start to store all streamed parts until a complete event confirms them. See ``unconfirmed``."""
        self._unconfirmed = UnconfirmedStreams()
        for author in self:
            author.streamed.kept = UnconfirmedStream()

    @property
    def unconfirmed(self) -> list[UnconfirmedStream]:
        """The streamed parts that no complete event has confirmed, oldest first."""
        if self._unconfirmed is None:
            return []
        streams = [*self._unconfirmed.ended, *(author.streamed.whole for author in self), *self._unconfirmed.inner]
        unconfirmed = (stream for stream in streams if stream is not None and stream.parts)
        return sorted(unconfirmed, key=lambda stream: stream.begin)

    @property
    def complete_ids(self) -> list[str]:
        """The ids of the complete events since ``keep_unconfirmed``, in their order."""
        return self._unconfirmed.complete_ids if self._unconfirmed is not None else []

    def note_complete(self, facts: EventFacts) -> None:
        """Store the id of a complete event, if ``keep_unconfirmed`` was called."""
        if self._unconfirmed is not None:
            self._unconfirmed.complete_ids.append(facts.id)
            self._unconfirmed.inner.add(facts)

    def note_fragment(self, author: AuthorStream, facts: EventFacts) -> None:
        """Store the fields of a fragment, if ``keep_unconfirmed`` was called."""
        if author.streamed.kept is not None:
            author.streamed.kept.note(facts, len(self.complete_ids))

    def keep_inner(self, fragment: EventFacts) -> None:
        """Store a fragment of an agent inside a call until a complete event repeats it.

        Does nothing unless ``keep_unconfirmed`` was called.
        """
        if self._unconfirmed is not None:
            self._unconfirmed.inner.add(fragment, len(self.complete_ids))

    def end_stream(self, author: AuthorStream) -> None:
        """End the author's stream, for which no complete event came.

        The stream stays unconfirmed: see ``unconfirmed``.
        """
        if self._unconfirmed is not None and (stream := author.streamed.take_kept()) is not None:
            self._unconfirmed.ended.append(stream)

    def replace_stream(self, author: AuthorStream, comparison: Comparison) -> None:
        """End the author's stream if a complete event ends it. It stays unconfirmed unless the event confirms it."""
        if not comparison.ends_stream:
            return
        stream = author.streamed.take_kept()
        if self._unconfirmed is not None and stream is not None and not comparison.confirms_stream:
            stream.ended = True
            stream.repeated = comparison.repeated
            self._unconfirmed.ended.append(stream)
