"""Find the parts of a complete event that were not streamed before. Only these parts are sent to the client.

A model streams its text in partial events. Then ADK creates a complete event that repeats the streamed text. This event
is the aggregate. But a complete event can also be a new response, for example from ``on_model_error_callback``. See
``docs/decisions/text-and-aggregates.md`` for the rules.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, Final, NamedTuple

from stream_protocol.adk import (
    EventFacts,
    File,
    LiveTurnEnd,
    OtherPart,
    Part,
    ProviderPart,
    Text,
)
from stream_protocol.stream.calls import CallRegistry
from stream_protocol.wire import storable_text, to_well_formed

if TYPE_CHECKING:
    from stream_protocol.stream._speakers import AuthorStream, UnconfirmedStream

BLOCK: Final = 512
"""The number of characters that are hashed together."""

END: Final = 4096
"""The minimum number of characters at the end of a text that are not hashed."""

MAX_KNOWN: Final = 2 * END
"""The maximum number of characters of a stream that is stored only as text. A longer stream has a hashed beginning."""

MAX_RECENT: Final = 1024
"""The maximum number of new characters that are stored as text after the hashed beginning."""

MAX_PIECES: Final = 64
"""The maximum number of separate texts that are stored before they are hashed."""

GATHERED: Final = 64
"""The number of streamed pieces of text that are joined into one text."""

STOP: Final = "STOP"
"""google-genai's finish reason of a normal end."""

_MARK: Final = re.compile(r"/\*\w+\*/|</?\w+>")
"""Pattern for tags and comments in a model's text, such as those of ADK's ``PlanReActPlanner``."""


class PartKind(IntEnum):
    """Kind of a part that is streamed in fragments. The value is used as a list index."""

    TEXT = 0
    REASONING = 1


class PrefixHash:
    """A growing text in bounded memory: at least its last ``END`` characters, and a hash of the others."""

    __slots__ = ("_blocks", "_hash", "_rest")

    def __init__(self, rest: str = "") -> None:
        self._blocks = 0
        """The number of hashed blocks."""
        self._hash = 0
        self._rest = rest

    @property
    def length(self) -> int:
        return self._blocks * BLOCK + len(self._rest)

    def plus(self, text: str) -> "PrefixHash":
        """Return a copy with ``text`` appended."""
        longer = PrefixHash(self._rest + text)
        longer._blocks, longer._hash = self._blocks, self._hash
        return longer

    def add(self, text: str) -> None:
        text = self._rest + text
        full = max(0, len(text) - END) // BLOCK
        self._hash = _hash(self._hash, text, full)
        self._blocks += full
        self._rest = text[full * BLOCK :]

    def begins(self, whole: str) -> bool:
        return self._begins_alike(whole) and whole.startswith(self._rest, self._blocks * BLOCK)

    def holds(self, piece: str) -> bool:
        """Return True if the text begins with ``piece``, or if the stored end of the text contains ``piece``."""
        rest = piece[self._blocks * BLOCK :]
        return piece in self._rest or (self._begins_alike(piece) and self._rest.startswith(rest))

    def _begins_alike(self, other: str) -> bool:
        return len(other) >= self._blocks * BLOCK and _hash(0, other, self._blocks) == self._hash


def _hash(before: int, text: str, blocks: int) -> int:
    for begin in range(0, blocks * BLOCK, BLOCK):
        before = hash((before, text[begin : begin + BLOCK]))
    return before


class StreamedResponse:
    """The texts, files and other parts that an agent has streamed in one model response. Tool calls are not included.

    To bound the memory, the beginning of a long text is stored as a hash. The hash is enough to recognize a complete
    event that repeats the text.
    """

    __slots__ = (
        "_earlier",
        "_kind",
        "_known",
        "_length",
        "_part_length",
        "deferred",
        "finish_reason",
        "fragments",
        "kept",
        "model",
        "written",
    )

    def __init__(self, kept: "UnconfirmedStream | None" = None) -> None:
        self.model: str | None = None
        """The model of the response; ``None`` if no partial event names it."""
        self.finish_reason: str | None = None
        self.written: Counter[str] | None = None
        """Names of a part's fields -> number of such parts that were written in one piece."""
        self.deferred: tuple[Part, ...] = ()
        """Parts that wait for the complete event: a file that may become an artifact, and all later parts."""
        self._earlier: list[PrefixHash] | None = None
        """The hashed beginning of each kind of text; ``None`` if nothing is hashed."""
        self._known: tuple[tuple[PartKind, str], ...] = ()
        """The texts after the hashed beginning of the stream, in order."""
        self._length = 0
        """The number of characters in ``_known``."""
        self._kind = PartKind.TEXT
        self._part_length = 0
        """The number of characters in the newest part, without ``fragments``."""
        self.fragments: list[str] = []
        """The newest pieces of the newest part, which are not in ``_known`` yet."""
        self.kept = kept
        """The whole stream, if the stream is stored for the end of the run. The stream can continue in the author's
        next response."""

    def __bool__(self) -> bool:
        """True if any text was streamed."""
        return bool(self.fragments or self._known or self._earlier)

    def begin(self, kind: PartKind) -> None:
        self.gather()
        self._kind = kind
        self._part_length = 0

    @property
    def part_length(self) -> int:
        self.gather()
        return self._part_length

    def add_unstreamed(self, text: str) -> None:
        """Count the characters of a text that came in a complete event and was added to the current part."""
        self._part_length += len(text)

    def add(self, fragment: str) -> None:
        self.fragments.append(fragment)
        if len(self.fragments) == GATHERED:
            self.shorten()

    @property
    def whole(self) -> "UnconfirmedStream | None":
        """The streamed parts that the server stores if the run ends early; ``None`` if the server stores none."""
        self.gather()
        return self.kept

    def note_whole(self, fields: str) -> None:
        """Count a part, such as a file, that came in a single partial event. ``fields``: the names of the part's
        fields.
        """
        self.written = self.written or Counter()
        self.written[fields] += 1

    def any_missing_in(self, parts: Iterable[Part]) -> bool:
        """Return True if a file or another complete part was streamed, but is not in ``parts``. Texts, calls and empty
        parts are not compared.
        """
        if self.written is None and not self.deferred:
            return False
        streamed = (self.written or Counter()) + Counter(_fields(self.deferred))
        return any(streamed) and any(streamed - Counter(_fields(parts)))

    @property
    def all_known(self) -> Sequence[tuple[PartKind, str]] | None:
        """All streamed texts and their kinds, in order. ``None`` if the texts are so long that only a hash of the
        beginning is left.
        """
        self.gather()
        return self._known if self._earlier is None else None

    def of(self, kind: PartKind) -> PrefixHash:
        """Return everything that was streamed of one kind, text or reasoning, as a ``PrefixHash``."""
        self.gather()
        known = texts_by_kind(self._known)[kind]
        return PrefixHash(known) if self._earlier is None else self._earlier[kind].plus(known)

    def shorten(self) -> None:
        """Join the newest text fragments, so that their list stays short.

        If the last fragment ends with the first half of a surrogate pair, this half is not joined yet. The next
        fragment may contain the second half.
        """
        last = self.fragments[-1]
        half = last[-1:] if "\ud800" <= last[-1:] <= "\udbff" else ""
        if half:
            self.fragments[-1] = last[:-1]
        self.gather()
        if half:
            self.fragments.append(half)

    def gather(self) -> None:
        """Join all new text fragments. Call this method before the texts are read, and at the end of a part."""
        if not self.fragments:
            return
        text = storable_text("".join(self.fragments))
        self.fragments.clear()
        self._known += ((self._kind, text),)
        self._length += len(text)
        self._part_length += len(text)
        if self.kept is not None:
            self.kept.add_text(self._kind, text)
        if self._length > (MAX_KNOWN if self._earlier is None else MAX_RECENT) or len(self._known) > MAX_PIECES:
            self._forget()

    def _forget(self) -> None:
        if self._earlier is None:
            self._earlier = [PrefixHash() for _ in PartKind]
        for beginning, text in zip(self._earlier, texts_by_kind(self._known), strict=True):
            beginning.add(text)
        self._known, self._length = (), 0


def texts_by_kind(texts: Iterable[tuple[PartKind, str]]) -> list[str]:
    """Return a list of two texts: first all visible text, then all reasoning. The indexes are the values of
    ``PartKind``.
    """
    joined: list[list[str]] = [[] for _ in PartKind]
    for kind, text in texts:
        joined[kind].append(text)
    return ["".join(pieces) for pieces in joined]


def _fields(parts: Iterable[Part]) -> Iterator[str]:
    return (part.fields for part in parts if isinstance(part, File | ProviderPart | OtherPart))


class Comparison(NamedTuple):
    """The comparison of a complete event with the parts that its author has streamed."""

    new_parts: Sequence[Part]
    """The event's parts that the client does not have. Of a partly streamed text, only the rest is included. If a
    streamed part now has a signature, an ``OtherPart`` has the signature.
    """
    is_separate: bool
    """True if the event is a separate response, False if it is the aggregate of the stream."""
    same_text: bool
    """True if the event's text begins with all of the streamed text, unchanged."""
    ends_stream: bool
    """True if the event has content, a finish reason or a failure."""
    ends_response: bool
    """True if the author's current model response ends with the event."""
    confirms_stream: bool
    """True if the event has all streamed parts, or is the aggregate with a changed text."""
    repeated: list[PartKind]
    """The kinds of text for which the event begins with the streamed text."""


class _TextComparison(NamedTuple):
    """The comparison of a complete event's text and reasoning with the streamed text and reasoning."""

    lengths: list[int]
    """For each kind, the number of characters at the beginning that must not be written."""
    unrepeated: list[PartKind]
    """The kinds for which the event does not begin with the streamed text."""
    differs: bool
    """True if, for one kind, the event's text does not begin with the streamed text, and is not a part of the streamed
    text."""
    same_text: bool = True


_NOTHING_STREAMED: Final = _TextComparison([0 for _ in PartKind], [], differs=False)


def compare(facts: EventFacts, author: "AuthorStream", calls: CallRegistry) -> Comparison:
    """Compare a complete event with the parts that its author has streamed since the previous complete event.
    ``calls``: the tool calls of the message.
    """
    streamed, failure = author.streamed, facts.failure
    parts = [part._replace(text=to_well_formed(part.text)) if isinstance(part, Text) else part for part in facts.parts]
    texts = _compare_texts(parts, streamed)
    reports_end = facts.finish_reason is not None or failure is not None
    ends_stream = reports_end or facts.role is not None
    whole = streamed.whole if ends_stream else None
    differs = texts.differs or streamed.any_missing_in(parts)
    has_all = not texts.unrepeated and (whole is None or whole.is_in(parts))
    is_changed_aggregate = (differs or not has_all) and _is_aggregate(facts, author, calls)
    is_separate = bool(parts) and differs and not is_changed_aggregate
    if is_separate:
        new_parts = _new_parts(parts, _NOTHING_STREAMED.lengths, {})
    else:
        new_parts = _new_parts(parts, texts.lengths, streamed.written or {})
    return Comparison(
        new_parts=[*new_parts],
        is_separate=is_separate,
        same_text=is_separate or texts.same_text,
        ends_stream=ends_stream,
        ends_response=reports_end or bool(parts) or facts.reports_a(LiveTurnEnd),
        confirms_stream=has_all or (is_changed_aggregate and (bool(parts) or failure is None)),
        repeated=[kind for kind in PartKind if kind not in texts.unrepeated],
    )


def _new_parts(parts: Iterable[Part], lengths: Iterable[int], others: Mapping[str, int]) -> Iterator[Part]:
    """Yield the event's parts that the client does not have.

    ``lengths``: for each ``PartKind``, the number of characters that the client already has. ``others``: counts of the
    other parts that the client already has. The keys are the names of a part's fields.
    """
    repeated, repeated_others = [*lengths], {**others}
    for part in parts:
        match part:
            case Text(text, is_thought) if text:
                kind = PartKind(is_thought)
                rest = text[repeated[kind] :]
                repeated[kind] = max(0, repeated[kind] - len(text))
                if not repeated[kind]:  # otherwise the whole part was streamed, and more streamed parts follow
                    yield part._replace(text=rest)
            case File() | ProviderPart() | OtherPart() if repeated_others.get(part.fields, 0) > 0:
                repeated_others[part.fields] -= 1
                if part.signature:
                    yield OtherPart(part.fields, part.signature)
            case Text(signature=signature):
                if signature:
                    yield OtherPart("text", signature)
            case _:
                yield part


def _compare_texts(parts: Sequence[Part], streamed: StreamedResponse) -> _TextComparison:
    if not streamed:
        return _NOTHING_STREAMED
    texts = [
        (PartKind(part.is_thought), storable_text(part.text)) for part in parts if isinstance(part, Text) and part.text
    ]
    wholes = texts_by_kind(texts)
    streamed_texts = [streamed.of(kind) for kind in PartKind]
    unrepeated = [kind for kind in PartKind if not streamed_texts[kind].begins(wholes[kind])]
    all_known = streamed.all_known
    if unrepeated and all_known is not None and _same_words(all_known, texts):
        return _TextComparison([len(whole) for whole in wholes], [], differs=False, same_text=False)
    not_written = PartKind if unrepeated and all_known is None else unrepeated
    lengths = [len(wholes[kind]) if kind in not_written else streamed_texts[kind].length for kind in PartKind]
    differs = any(not streamed_texts[kind].holds(wholes[kind]) for kind in unrepeated)
    return _TextComparison(lengths, unrepeated, differs=differs, same_text=PartKind.TEXT not in unrepeated)


def _is_aggregate(facts: EventFacts, author: "AuthorStream", calls: CallRegistry) -> bool:
    """``facts`` is an event that differs from the text that its author has streamed. Return True if it is the aggregate
    of this text.

    The aggregate is the complete event that ADK creates from streamed text. A callback may have changed it.
    """
    if any(calls.newest(call.id, author.key) in author.streaming_calls for call in facts.calls):
        return True
    streamed = author.streamed
    if streamed.model and facts.model and facts.model != streamed.model:
        return False
    if streamed.finish_reason is not None:
        return streamed.finish_reason == STOP or facts.finish_reason is not None
    return facts.is_streams_end


def _same_words(streamed: Iterable[tuple[PartKind, str]], facts: Iterable[tuple[PartKind, str]]) -> bool:
    """Return True if the event differs from the streamed text only by changes of ADK's planners. The planners remove
    tags, and mark some texts as thoughts.
    """
    before, after = ("".join(text for _, text in texts) for texts in (streamed, facts))
    letters = _letters(after)
    if not letters or 2 * len(letters) < len(_letters(_MARK.sub("", before))):
        return False
    remaining = iter(before)
    return all(letter in remaining for letter in letters)


def _letters(text: str) -> str:
    return "".join(text.split())
