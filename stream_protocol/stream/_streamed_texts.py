"""The parts that an author has streamed since the author's last complete event.

``StreamedTexts`` stores the texts that ``_aggregates`` compares with the next complete event. Its size is bounded: the
beginning of a long text is stored as a hash. The hash shows if a complete event repeats the text, as nearly all
complete events do.

``UnconfirmedStream`` stores a whole stream until a complete event repeats it. When a run ends early, a server writes
these streams to the session. So the history and the next prompt have all text that the client has shown.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final

from stream_protocol.adk import CODE_EXECUTION, EventFacts, File, Part, ProviderPart, Text

BLOCK: Final = 512
"""The number of characters that are hashed at once."""

END: Final = 4096
"""The minimum number of characters at the end of a text that are not hashed."""

MAX_KNOWN: Final = 2 * END
"""The maximum number of characters of a stream that is stored only as text. The beginning of a longer stream is stored
as a hash."""

MAX_RECENT: Final = 1024
"""The maximum number of new characters of a hashed stream that are stored as text before they are hashed."""

MAX_PIECES: Final = 64
"""The maximum number of separate texts in which new characters are stored."""

GATHERED: Final = 64
"""The number of fragments that are joined into one text."""


class PartKind(IntEnum):
    """The kinds of parts that are streamed in fragments. The values are list indexes, because hashing enum members is
    slow."""

    TEXT = 0
    REASONING = 1


@dataclass(slots=True)
class StreamedPart:
    """Consecutive texts or thoughts of a stream. A file or a piece of code is also a part."""

    kind: PartKind | None = None
    """The kind of the texts; ``None`` for a file or code."""
    pieces: list[str] = field(default_factory=list)
    signature: bytes | None = None
    whole: File | ProviderPart | None = None


@dataclass(slots=True, eq=False)
class UnconfirmedStream:
    """The parts that an author streamed between two of the author's complete events. Tool calls are left out."""

    begin: int = 0
    """The number of complete events that came before the stream."""
    newest: EventFacts | None = None
    """The newest fragment that did more than continue a text. Its fields are copied to the stored event."""
    ended: bool = False
    """True if a complete event of the author came after the stream, but did not repeat all of it."""
    repeated: list[PartKind] = field(default_factory=list)
    """The kinds of text that the complete event after the stream repeats."""
    parts: list[StreamedPart] = field(default_factory=list)
    is_nested: bool = False
    """True if the stream comes from an agent inside a tool call. Only the output of the call shows such a stream."""

    def add_fragment(self, fragment: EventFacts, begin: int) -> None:
        """Append the parts of the next fragment. ``begin``: the number of complete events before it."""
        self.note(fragment, begin)
        for part in fragment.parts:
            self.add(part)

    @property
    def length(self) -> int:
        """The number of characters in all texts and thoughts."""
        return sum(len(piece) for part in self.parts for piece in part.pieces)

    def note(self, fragment: EventFacts, begin: int) -> None:
        """Store the next fragment, because its fields may be needed later. ``begin``: how many complete events came
        before this fragment."""
        if self.newest is None:
            self.begin = begin
        self.newest = fragment

    def add_text(self, kind: PartKind, text: str) -> None:
        """Append a text or a thought."""
        if not self.parts or self.parts[-1].kind is not kind:
            self.parts.append(StreamedPart(kind))
        self.parts[-1].pieces.append(text)

    def add(self, part: Part) -> None:
        """Append a part of a fragment."""
        match part:
            case Text(text, is_thought) if text:
                self.add_text(PartKind(is_thought), text)
                if is_thought:
                    self.sign(part.signature)
            case File():
                self.parts.append(StreamedPart(whole=part))
            case ProviderPart(value) if value.name == CODE_EXECUTION:
                self.parts.append(StreamedPart(whole=part))
            case _:  # the signature of a text comes on a later part without text
                self.sign(part.signature)

    def sign(self, signature: bytes | None) -> None:
        """Set the thought signature of the newest part, unless the part is a file or code."""
        if signature is not None and self.parts and self.parts[-1].kind is not None:
            self.parts[-1].signature = signature


class PrefixHash:
    """A growing text. Its first blocks are stored as a hash, and at least the last ``END`` characters as text."""

    __slots__ = ("_blocks", "_hash", "_rest")

    def __init__(self, rest: str = "") -> None:
        self._blocks = 0
        """The number of hashed blocks."""
        self._hash = 0
        self._rest = rest

    @property
    def length(self) -> int:
        """The length of the text in characters."""
        return self._blocks * BLOCK + len(self._rest)

    def plus(self, text: str) -> "PrefixHash":
        """Return a copy with ``text`` appended, for a comparison. ``text`` is not hashed."""
        longer = PrefixHash(self._rest + text)
        longer._blocks, longer._hash = self._blocks, self._hash
        return longer

    def add(self, text: str) -> None:
        """Append ``text``. Hash all full blocks before the last ``END`` characters."""
        text = self._rest + text
        full = max(0, len(text) - END) // BLOCK
        self._hash = _hash(self._hash, text, full)
        self._blocks += full
        self._rest = text[full * BLOCK :]

    def begins(self, whole: str) -> bool:
        """Return True if ``whole`` begins with the stored text."""
        return self._begins_alike(whole) and whole.startswith(self._rest, self._blocks * BLOCK)

    def holds(self, piece: str) -> bool:
        """Return True if the stored text contains ``piece``, at the beginning or after the hashed blocks."""
        rest = piece[self._blocks * BLOCK :]
        return piece in self._rest or (self._begins_alike(piece) and self._rest.startswith(rest))

    def _begins_alike(self, other: str) -> bool:
        return len(other) >= self._blocks * BLOCK and _hash(0, other, self._blocks) == self._hash


def _hash(before: int, text: str, blocks: int) -> int:
    for begin in range(0, blocks * BLOCK, BLOCK):
        before = hash((before, text[begin : begin + BLOCK]))
    return before


class StreamedTexts:
    """The texts and thoughts of a stream, stored in bounded memory."""

    __slots__ = ("_earlier", "_kind", "_known", "_length", "_part_length", "fragments", "kept")

    def __init__(self) -> None:
        self._earlier: list[PrefixHash] | None = None
        """The hashed beginning of the stream, for each kind of text; ``None`` if nothing is hashed."""
        self._known: tuple[tuple[PartKind, str], ...] = ()
        """The texts after the hashed beginning of the stream, in order."""
        self._length = 0
        """The number of characters in ``_known``."""
        self._kind = PartKind.TEXT
        """The kind of the newest part of the stream."""
        self._part_length = 0
        """The number of characters in the newest part. ``fragments`` are not counted."""
        self.fragments: list[str] = []
        """The newest fragments of the newest part. They are not in ``_known`` yet."""
        self.kept: UnconfirmedStream | None = None
        """The whole stream, if it is stored for the end of the run; otherwise ``None``."""

    def __bool__(self) -> bool:
        """Return True if any text was streamed."""
        return bool(self.fragments or self._known or self._earlier)

    def begin(self, kind: PartKind) -> None:
        """Begin a new part of the stream."""
        self.gather()
        self._kind = kind
        self._part_length = 0

    @property
    def part_length(self) -> int:
        """The number of characters in the newest part."""
        self.gather()
        return self._part_length

    def add_unstreamed(self, text: str) -> None:
        """Count a text that was written to the newest part without being streamed."""
        self._part_length += len(text)

    def add(self, fragment: str) -> None:
        """Append a fragment to the newest part."""
        self.fragments.append(fragment)
        if len(self.fragments) == GATHERED:
            self.gather()

    def keep(self, part: Part) -> None:
        """Add a part without text to the stored stream. Does nothing if the stream is not stored."""
        if self.kept is not None:
            self.gather()
            self.kept.add(part)

    def sign(self, signature: bytes) -> None:
        """Set the signature of the newest thought in the stored stream. Does nothing if the stream is not stored."""
        if self.kept is not None:
            self.gather()
            self.kept.sign(signature)

    @property
    def whole(self) -> UnconfirmedStream | None:
        """The whole stream, if it is stored; otherwise ``None``."""
        self.gather()
        return self.kept

    def take_kept(self) -> UnconfirmedStream | None:
        """Return the stored stream, and begin to store a new stream. Return ``None`` if streams are not stored."""
        if (kept := self.whole) is not None:
            self.kept = UnconfirmedStream()
        return kept

    def clear(self) -> None:
        """Remove the texts that complete events are compared with. The stored stream (``kept``) stays."""
        self.gather()
        self._earlier, self._known = None, ()
        self._length = 0

    @property
    def all_known(self) -> Sequence[tuple[PartKind, str]] | None:
        """All texts of the stream in order; ``None`` if the beginning is stored as a hash."""
        self.gather()
        return self._known if self._earlier is None else None

    def of(self, kind: PartKind) -> PrefixHash:
        """Return the streamed text of this kind: text or thoughts."""
        self.gather()
        known = texts_by_kind(self._known)[kind]
        return PrefixHash(known) if self._earlier is None else self._earlier[kind].plus(known)

    def gather(self) -> None:
        """Join the newest fragments into one text, so that the list of fragments stays short."""
        if not self.fragments:
            return
        text = "".join(self.fragments)
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
    """Return the joined texts of each kind. The list index is the kind."""
    joined: list[list[str]] = [[] for _ in PartKind]
    for kind, text in texts:
        joined[kind].append(text)
    return ["".join(pieces) for pieces in joined]
