"""The parts that an author has streamed since its last complete event.

``StreamedTexts`` stores the texts for the comparison with the next complete event: see ``_aggregates``. A stream may be
long, and there may be thousands of streams. So only a short text is stored as text. The beginning of a longer text is
stored as a hash. The hash shows that a complete event repeats the text, as nearly all complete events do.

``UnconfirmedStream`` is the whole stream. A server stores it when the run ends, so that the history and the next prompt
have everything that the client has shown. Without a server, no ``UnconfirmedStream`` exists.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final

from stream_protocol.adk import CODE_EXECUTION, EventFacts, File, Part, ProviderPart, Text

BLOCK: Final = 512
"""The number of characters in one step of the hash."""

END: Final = 4096
"""The number of characters at the end of a text that are never hashed."""

MAX_KNOWN: Final = 2 * END
"""The maximum number of characters of a stream that is stored whole."""

MAX_RECENT: Final = 1024
"""The maximum number of characters that wait to be added to a hashed beginning."""

MAX_PIECES: Final = 64
"""The maximum number of texts in which the waiting characters are stored."""

GATHERED: Final = 64
"""The number of fragments that are joined to one text."""


class PartKind(IntEnum):
    """The kinds of parts that grow. The values are indexes of lists, because hashing an enum member is slow."""

    TEXT = 0
    REASONING = 1


@dataclass(slots=True)
class StreamedPart:
    """Consecutive texts or thoughts; or one file or one piece of code."""

    kind: PartKind | None = None
    """The kind of a text; ``None`` for a file and for code."""
    pieces: list[str] = field(default_factory=list)
    signature: bytes | None = None
    whole: File | ProviderPart | None = None


@dataclass(slots=True, eq=False)
class UnconfirmedStream:
    """The parts that an author streamed between two of its complete events, without pieces of calls."""

    begin: int = 0
    """The number of complete events before the stream."""
    newest: EventFacts | None = None
    """The newest fragment that was not only continued text, for its other fields."""
    ended: bool = False
    """True if a complete event of the author came after the stream."""
    repeated: list[PartKind] = field(default_factory=list)
    """The kinds of text that this complete event repeats."""
    parts: list[StreamedPart] = field(default_factory=list)
    is_nested: bool = False
    """True if the stream is of an agent inside a call. Only the call's output shows it."""

    def add_fragment(self, fragment: EventFacts, begin: int) -> None:
        """Store the next fragment and append its parts. ``begin``: as for ``note``."""
        self.note(fragment, begin)
        for part in fragment.parts:
            self.add(part)

    @property
    def length(self) -> int:
        """The number of characters in all texts and thoughts."""
        return sum(len(piece) for part in self.parts for piece in part.pieces)

    def note(self, fragment: EventFacts, begin: int) -> None:
        """Store the next fragment. ``begin``: the number of complete events before this fragment."""
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
        """Set the signature of the newest part, unless that is a file or code."""
        if signature is not None and self.parts and self.parts[-1].kind is not None:
            self.parts[-1].signature = signature


class PrefixHash:
    """A growing text, stored as a hash of its first blocks and at least ``END`` characters after them."""

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
        """Return this text followed by another text, for a comparison. The other text is not hashed."""
        longer = PrefixHash(self._rest + text)
        longer._blocks, longer._hash = self._blocks, self._hash
        return longer

    def add(self, text: str) -> None:
        """Append to the text, and hash all full blocks before its last ``END`` characters."""
        text = self._rest + text
        full = max(0, len(text) - END) // BLOCK
        self._hash = _hash(self._hash, text, full)
        self._blocks += full
        self._rest = text[full * BLOCK :]

    def begins(self, whole: str) -> bool:
        """Return True if ``whole`` begins with this text."""
        return self._begins_alike(whole) and whole.startswith(self._rest, self._blocks * BLOCK)

    def holds(self, piece: str) -> bool:
        """Return True if this text contains ``piece``, at its beginning or in the part that is not hashed."""
        rest = piece[self._blocks * BLOCK :]
        return piece in self._rest or (self._begins_alike(piece) and self._rest.startswith(rest))

    def _begins_alike(self, other: str) -> bool:
        return len(other) >= self._blocks * BLOCK and _hash(0, other, self._blocks) == self._hash


def _hash(before: int, text: str, blocks: int) -> int:
    for begin in range(0, blocks * BLOCK, BLOCK):
        before = hash((before, text[begin : begin + BLOCK]))
    return before


class StreamedTexts:
    """The texts and thoughts of a stream, in constant memory."""

    __slots__ = ("_earlier", "_kind", "_known", "_length", "_part_length", "fragments", "kept")

    def __init__(self) -> None:
        self._earlier: list[PrefixHash] | None = None
        """For each kind, the hashed beginning of the stream; ``None`` while nothing is hashed."""
        self._known: tuple[tuple[PartKind, str], ...] = ()
        """The texts after the hashed beginning, in their order."""
        self._length = 0
        """The number of characters in these texts."""
        self._kind = PartKind.TEXT
        """The kind of the newest part of the stream."""
        self._part_length = 0
        """The number of characters in that part, without ``fragments``."""
        self.fragments: list[str] = []
        """The newest fragments of that part, which are not in the stored texts yet."""
        self.kept: UnconfirmedStream | None = None
        """The whole stream, if the response needs it when the run ends; else ``None``."""

    def __bool__(self) -> bool:
        """Return True if any text was streamed."""
        return bool(self.fragments or self._known or self._earlier)

    def begin(self, kind: PartKind) -> None:
        """Begin a new part."""
        self.gather()
        self._kind = kind
        self._part_length = 0

    @property
    def part_length(self) -> int:
        """The number of characters in the newest part."""
        self.gather()
        return self._part_length

    def add_unstreamed(self, text: str) -> None:
        """Count a text of the newest part that was not streamed, and that no complete event repeats."""
        self._part_length += len(text)

    def add(self, fragment: str) -> None:
        """Append a fragment to the newest part."""
        self.fragments.append(fragment)
        if len(self.fragments) == GATHERED:
            self.gather()

    def keep(self, part: Part) -> None:
        """Add a part without text to the stored parts of the whole stream, if they are stored."""
        if self.kept is not None:
            self.gather()
            self.kept.add(part)

    def sign(self, signature: bytes) -> None:
        """Add the signature of the newest thought to the whole stream, if the whole stream is stored."""
        if self.kept is not None:
            self.gather()
            self.kept.sign(signature)

    @property
    def whole(self) -> UnconfirmedStream | None:
        """The whole stream, if it is stored; else ``None``."""
        self.gather()
        return self.kept

    def take_kept(self) -> UnconfirmedStream | None:
        """Return the whole stream, if it is stored, and begin a new stream."""
        if (kept := self.whole) is not None:
            self.kept = UnconfirmedStream()
        return kept

    def clear(self) -> None:
        """Forget the texts of the stream. The whole stream stays."""
        self.gather()
        self._earlier, self._known = None, ()
        self._length = 0

    @property
    def all_known(self) -> Sequence[tuple[PartKind, str]] | None:
        """The texts of the stream in their order; ``None`` if their beginning is stored as a hash."""
        self.gather()
        return self._known if self._earlier is None else None

    def of(self, kind: PartKind) -> PrefixHash:
        """Return the stream's text of this kind."""
        self.gather()
        known = texts_by_kind(self._known)[kind]
        return PrefixHash(known) if self._earlier is None else self._earlier[kind].plus(known)

    def gather(self) -> None:
        """Join the newest fragments, so that the list of fragments stays short."""
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
    """Return the joined texts of each kind."""
    joined: list[list[str]] = [[] for _ in PartKind]
    for kind, text in texts:
        joined[kind].append(text)
    return ["".join(pieces) for pieces in joined]
