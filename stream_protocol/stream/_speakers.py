"""The authors of a stream. An author may have an open part: the message part that it is currently writing.

If agents run in parallel, their partial events are mixed, so each author can have an open part. An author is identified
by agent, branch and node path, because the event id may change with every fragment.

``StreamedResponse`` stores the parts that an author has streamed since its last complete event. ``UnconfirmedStream``
stores streamed parts until the complete event with these parts comes. If the run ends before that, a server writes
these parts to the session. So the history contains all text that the client has received.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Generic, NoReturn, TypeVar

from stream_protocol.adk import (
    AgentSpeech,
    EventFacts,
    File,
    OpenText,
    Part,
    ProviderPart,
    SpeakerKey,
    Text,
    open_text,
)
from stream_protocol.stream._aggregates import Comparison, PartKind, PrefixHash, StreamedResponse, compare
from stream_protocol.stream.calls import CallRegistry, ToolCall, provider_metadata
from stream_protocol.wire import DeltaWriter, Sink, TextCitation

T = TypeVar("T")


class _ClosedWriter(DeltaWriter[Any]):
    """The writer of an author without an open part. Every call raises ``AssertionError``."""

    __slots__ = ()

    def make(self, delta: str) -> NoReturn:
        raise AssertionError(f"no part is open for {delta!r}")

    def __call__(self, delta: str) -> NoReturn:
        self.make(delta)


_CLOSED: Final = _ClosedWriter()


@dataclass(slots=True)
class StreamedPart:
    """A streamed part: consecutive texts, consecutive thoughts, or a file. It can also be a call or result of a tool
    that the model's provider runs.
    """

    kind: PartKind | None = None
    """The kind of the texts; ``None`` for any other part."""
    pieces: list[str] = field(default_factory=list)
    signature: bytes | None = None
    whole: File | ProviderPart | None = None

    @property
    def is_of_provider(self) -> bool:
        """True for a call or result of a tool that the model's provider runs, such as code execution."""
        return isinstance(self.whole, ProviderPart)


@dataclass(slots=True, eq=False)
class UnconfirmedStream:
    """The parts that an author streamed between two of its complete events. Omits tool calls, except calls of tools
    that the model's provider runs.
    """

    begin: int = 0
    """The number of complete events before the stream."""
    newest: EventFacts | None = None
    """The newest partial event that did more than continue a text. The stored event copies its fields."""
    ended: bool = False
    """True if a complete event of the author came after the stream, but did not repeat all of it."""
    repeated: list[PartKind] = field(default_factory=list)
    """The kinds of text that the complete event after the stream repeats."""
    parts: list[StreamedPart] = field(default_factory=list)
    is_nested: bool = False
    """True if the stream comes from an agent inside a tool call."""

    def add_fragment(self, fragment: EventFacts, begin: int) -> None:
        """Append the parts of the next partial event. ``begin``: the number of complete events of the response before
        this event.
        """
        self.note(fragment, begin)
        for part in fragment.parts:
            self.add(part)

    def is_in(self, parts: Iterable[Part]) -> bool:
        """Return True if ``parts`` contain all streamed files, and all calls and results of the provider's tools. Texts
        are not compared.
        """
        confirmed = [part.part for part in parts if isinstance(part, File | ProviderPart)]
        return all(part.whole.part in confirmed for part in self.parts if part.whole is not None)

    @property
    def length(self) -> int:
        """The number of characters in all texts and thoughts."""
        return sum(len(piece) for part in self.parts for piece in part.pieces)

    def note(self, fragment: EventFacts, begin: int) -> None:
        """Store the fields of the next partial event, but not its parts. ``begin``: the number of complete events of
        the response before this event.
        """
        if self.newest is None:
            self.begin = begin
        self.newest = fragment

    def add_text(self, kind: PartKind, text: str) -> None:
        if not self.parts or self.parts[-1].kind is not kind:
            self.parts.append(StreamedPart(kind))
        self.parts[-1].pieces.append(text)

    def add(self, part: Part) -> None:
        match part:
            case Text(text, is_thought) if text:
                self.add_text(PartKind(is_thought), text)
                if is_thought:
                    self.sign(part.signature)
            case File() | ProviderPart():
                self.parts.append(StreamedPart(whole=part))
            case _:  # a later part without text may have the signature of a text
                self.sign(part.signature)

    def sign(self, signature: bytes | None) -> None:
        """Set the thought signature of the newest part, if this part is a text or a thought."""
        if signature is not None and self.parts and self.parts[-1].kind is not None:
            self.parts[-1].signature = signature


@dataclass(slots=True, eq=False)
class AuthorStream:
    """The part that an author is writing, and the parts that the author has streamed in its current model response."""

    key: SpeakerKey
    _sink: Sink[Any]
    write: DeltaWriter[Any] = _CLOSED
    _part_id: str = ""
    _signature: bytes | None = None
    kind: PartKind | None = None
    """The kind of the open part; ``None`` if no part is open."""
    opened: OpenText | None = None
    """The open part, if each partial event that continues it becomes exactly one item."""
    streamed: StreamedResponse = field(default_factory=StreamedResponse)
    citations: list[TextCitation] | None = None
    """The citations to write at the end of the open text."""
    _closed_texts: list[tuple[str, int]] | None = None
    """Id and length of each ended text of the current response."""
    speech: PrefixHash | None = None
    """The pieces of the agent's current utterance in a live run."""
    saved_artifacts: tuple[Mapping[str, int], ...] = ()
    """Artifacts of events without content. They are written after the author's next content, which may be streamed
    already, or before the event of another author."""
    streaming_calls: tuple[ToolCall, ...] = ()
    """The current response's calls without a complete event."""
    unfinished_calls: tuple[ToolCall, ...] = ()
    """Streamed calls that the complete events of earlier responses did not contain."""
    in_response: bool = False
    """True if content of the current response was written."""
    has_failed: bool = False
    """True after a workflow node has failed, until it continues."""

    @property
    def is_busy(self) -> bool:
        """True while the author streams a part or the input of a tool call. During this time, a step cannot end."""
        return self.kind is not None or any(call.is_shown for call in self.streaming_calls)

    @property
    def open_text(self) -> str | None:
        """The id of the open text part; ``None`` if there is none."""
        return self._part_id if self.kind is PartKind.TEXT else None

    @property
    def text_blocks(self) -> Sequence[tuple[str, int]]:
        """Id and length of each text part in the current model response. A text part that has not ended is included."""
        closed = self._closed_texts or []
        return [*closed, (self._part_id, self.streamed.part_length)] if self.kind is PartKind.TEXT else closed

    def write_whole(self, text: str) -> None:
        """Write a text, or the end of a text, that was not streamed."""
        self.write(text)
        self.streamed.add_unstreamed(text)

    def open(self, kind: PartKind, part_id: str, model: str | None = None) -> None:
        """Begin a part. Call ``close`` first. ``model``: the model that streams the part."""
        is_text = kind is PartKind.TEXT
        self.write = (self._sink.text_start if is_text else self._sink.reasoning_start)(
            part_id, provider_metadata(self.key)
        )
        if self._sink.makes_items:
            self.opened = open_text(self.key, is_thought=not is_text)
        self.kind = kind
        self._part_id = part_id
        self.streamed.begin(kind)
        self.streamed.model = model

    def defer(self, part: Part) -> None:
        """Do not write the part yet, but keep it until the complete event comes. All later parts must also be
        deferred.
        """
        self.streamed.deferred = (*self.streamed.deferred, part)
        self.keep(part)
        self.opened = None

    def keep(self, part: Part) -> None:
        """Keep a streamed part until the complete event with this part comes. Does nothing unless
        ``Authors.keep_unconfirmed`` was called.
        """
        if self.streamed.kept is not None:
            self.streamed.gather()
            self.streamed.kept.add(part)

    def sign(self, signature: bytes) -> None:
        """Set the thought signature of the part that the author is writing."""
        if self.kind is not None:
            self._signature = signature
        if self.streamed.kept is not None:
            self.streamed.gather()
            self.streamed.kept.sign(signature)

    def close(self) -> None:
        """End the part that the author is writing, if there is one."""
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

    def new_speech(self, speech: AgentSpeech) -> str:
        """Return the text of ``speech`` that was not streamed before. In a live run, ADK sends an utterance in
        fragments, and then the whole utterance with ``finished`` set.
        """
        pieces, text = self.speech, speech.text
        if not speech.finished:
            self.speech = pieces or PrefixHash()
            self.speech.add(text)
            return text
        self.speech = None
        if pieces is None:
            return text
        return text[pieces.length :] if pieces.begins(text) else ""

    def remove_call(self, call: ToolCall) -> None:
        """Remove a call from the list of streaming calls, because its complete event has come."""
        if call in self.streaming_calls:
            self.streaming_calls = tuple(other for other in self.streaming_calls if other is not call)
        if call in self.unfinished_calls:
            self.unfinished_calls = tuple(other for other in self.unfinished_calls if other is not call)

    def end_response(self) -> None:
        """End the current model response. The author's next event begins a new response."""
        self.close()
        self.streamed = StreamedResponse(self.streamed.whole)
        self._closed_texts = None
        self.unfinished_calls += self.streaming_calls
        self.streaming_calls = ()
        self.in_response = False


class InnerStreams:
    """Streamed parts of agents inside tool calls. A complete event with content removes the streamed parts of its
    author.

    ``max_length``: the maximum number of stored characters; ``None`` for no limit. With a limit, partial events without
    text are not stored. An event that would exceed the limit is not stored either.
    """

    __slots__ = ("_length", "_max_length", "_streams")

    def __init__(self, max_length: int | None = None) -> None:
        self._max_length = max_length
        self._streams: dict[SpeakerKey, UnconfirmedStream] = {}
        self._length = 0

    def __iter__(self) -> Iterator[UnconfirmedStream]:
        return iter(self._streams.values())

    def add(self, facts: EventFacts, begin: int = 0) -> None:
        """Process an event of an agent inside a tool call. ``begin``: for a partial event, the number of complete
        events before this event.
        """
        if not facts.is_fragment:
            repeated = self._streams.pop(facts.speaker, None) if facts.parts and self._streams else None
            self._length -= 0 if repeated is None else repeated.length
            return
        length = sum(len(part.text) for part in facts.parts if isinstance(part, Text))
        if self._max_length is None or (length and self._length + length <= self._max_length):
            self._length += length
            self._streams.setdefault(facts.speaker, UnconfirmedStream(is_nested=True)).add_fragment(facts, begin)


@dataclass(slots=True, eq=False)
class UnconfirmedStreams:
    """Streamed parts of a response. The complete events with these parts have not come yet."""

    ended: list[UnconfirmedStream] = field(default_factory=list)
    inner: InnerStreams = field(default_factory=InnerStreams)
    complete_ids: list[str] = field(default_factory=list)


class Authors(Generic[T]):
    """The authors of a response, and the open part of each author."""

    __slots__ = ("_by_key", "_sink", "_unconfirmed")

    def __init__(self, sink: Sink[T]) -> None:
        self._sink = sink
        self._by_key: dict[SpeakerKey, AuthorStream] = {}
        self._unconfirmed: UnconfirmedStreams | None = None
        """``None`` until ``keep_unconfirmed`` is called."""

    def __iter__(self) -> Iterator[AuthorStream]:
        return iter(self._by_key.values())

    def get(self, key: SpeakerKey) -> AuthorStream:
        author = self._by_key.get(key)
        if author is None:
            author = self._by_key[key] = AuthorStream(key, self._sink)
            if self._unconfirmed is not None:
                author.streamed.kept = UnconfirmedStream()
        return author

    def keep_unconfirmed(self) -> None:
        """From now on, keep each streamed part until the complete event with this part comes."""
        self._unconfirmed = UnconfirmedStreams()
        for author in self:
            author.streamed.kept = UnconfirmedStream()

    @property
    def unconfirmed(self) -> list[UnconfirmedStream]:
        """The streamed parts for which no complete event has come, oldest first. Empty unless ``keep_unconfirmed`` was
        called.
        """
        if self._unconfirmed is None:
            return []
        streams = [*self._unconfirmed.ended, *(author.streamed.whole for author in self), *self._unconfirmed.inner]
        unconfirmed = (stream for stream in streams if stream is not None and stream.parts)
        return sorted(unconfirmed, key=lambda stream: stream.begin)

    @property
    def complete_ids(self) -> list[str]:
        """The ids of all complete events since the call of ``keep_unconfirmed``, in order."""
        return self._unconfirmed.complete_ids if self._unconfirmed is not None else []

    def note_complete(self, facts: EventFacts) -> None:
        """Record a complete event. Does nothing unless ``keep_unconfirmed`` was called."""
        if self._unconfirmed is not None:
            self._unconfirmed.complete_ids.append(facts.id)
            self._unconfirmed.inner.add(facts)

    def note_fragment(self, author: AuthorStream, facts: EventFacts) -> None:
        """Record a partial event. Does nothing unless ``keep_unconfirmed`` was called."""
        if author.streamed.kept is not None:
            author.streamed.kept.note(facts, len(self.complete_ids))

    def keep_inner(self, fragment: EventFacts) -> None:
        """Store a partial event of an agent inside a tool call. Does nothing unless ``keep_unconfirmed`` was called."""
        if self._unconfirmed is not None:
            self._unconfirmed.inner.add(fragment, len(self.complete_ids))

    def end_stream(self, author: AuthorStream) -> None:
        """End an author's stream, although its complete event has not come. The property ``unconfirmed`` still contains
        the streamed parts.
        """
        if self._unconfirmed is not None and (stream := author.streamed.whole) is not None:
            author.streamed.kept = UnconfirmedStream()
            self._unconfirmed.ended.append(stream)

    def confirm(self, author: AuthorStream, complete: EventFacts, calls: CallRegistry) -> Comparison:
        """Compare a complete event with the streamed parts of its author. ``calls``: the tool calls of the message.

        If ``Comparison.ends_stream`` is True, the author's stream ends. Parts that the event does not repeat stay in
        the property ``unconfirmed``.
        """
        comparison, stream = compare(complete, author, calls), author.streamed.kept
        if stream is not None and comparison.ends_stream:
            if comparison.confirms_stream:
                author.streamed.kept = UnconfirmedStream()
            else:
                stream.ended, stream.repeated = True, comparison.repeated
                self.end_stream(author)
        return comparison
