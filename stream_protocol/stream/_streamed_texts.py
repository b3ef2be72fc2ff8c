"""The texts that a speaker has streamed since its last complete event, kept for a comparison with the next one.

A stream may be long, and there may be thousands of streams. So a text is kept whole only while it is short. The
beginning of a longer text is kept as a hash. The hash tells whether a complete event repeats the text, as nearly every
one does.
"""

from collections.abc import Iterable
from typing import Final

from stream_protocol.adk import Part
from stream_protocol.stream._unconfirmed import PartKind, UnconfirmedStream

BLOCK: Final = 512
"""Characters that become one step of the hash."""

END: Final = 4096
"""Characters at the end of a text that are never hashed."""

MAX_KNOWN: Final = 2 * END
"""The most characters of a stream that is known as it was."""

MAX_RECENT: Final = 1024
"""The most characters that wait to be added to a beginning which is kept as a hash."""

MAX_PIECES: Final = 64
"""The most pieces in which these are kept."""

GATHERED: Final = 64
"""Fragments that become one piece."""


class PrefixHash:
    """A text that only grows: the hash of its first blocks, and what follows them: ``END`` or more."""

    __slots__ = ("_blocks", "_hash", "_rest")

    def __init__(self, rest: str = "") -> None:
        self._blocks = 0
        """The number of blocks in the hash."""
        self._hash = 0
        self._rest = rest

    @property
    def length(self) -> int:
        """The number of its characters."""
        return self._blocks * BLOCK + len(self._rest)

    def plus(self, text: str) -> "PrefixHash":
        """The two texts as one, for a comparison: nothing of the other is put into the hash."""
        longer = PrefixHash(self._rest + text)
        longer._blocks, longer._hash = self._blocks, self._hash
        return longer

    def add(self, text: str) -> None:
        """Appends to it, and puts all full blocks before its end into the hash."""
        text = self._rest + text
        full = max(0, len(text) - END) // BLOCK
        self._hash = _hash(self._hash, text, full)
        self._blocks += full
        self._rest = text[full * BLOCK :]

    def begins(self, whole: str) -> bool:
        """Return True if the other text begins with this one."""
        return self._begins_alike(whole) and whole.startswith(self._rest, self._blocks * BLOCK)

    def holds(self, piece: str) -> bool:
        """Return True if this text contains the other one. Searches the beginning, and the rest that is not hashed."""
        rest = piece[self._blocks * BLOCK :]
        return piece in self._rest or (self._begins_alike(piece) and self._rest.startswith(rest))

    def _begins_alike(self, other: str) -> bool:
        return len(other) >= self._blocks * BLOCK and _hash(0, other, self._blocks) == self._hash


def _hash(before: int, text: str, blocks: int) -> int:
    for begin in range(0, blocks * BLOCK, BLOCK):
        before = hash((before, text[begin : begin + BLOCK]))
    return before


class StreamedTexts:
    """The texts and thoughts of a stream. The memory that this object needs does not grow with them."""

    __slots__ = ("_earlier", "_kind", "_known", "_length", "_part_length", "fragments", "kept")

    def __init__(self, known: Iterable[tuple[PartKind, str]] = ()) -> None:
        """``known``: texts that are kept as they are."""
        self._earlier: list[PrefixHash] | None = None
        """The beginning of the stream, by kind, once it is kept as a hash."""
        self._known = list(known)
        """The texts after that, in their order."""
        self._length = 0
        """The characters of what is known."""
        self._kind = PartKind.TEXT
        """The kind of the newest part."""
        self._part_length = 0
        """The characters of that part, without its newest fragments."""
        self.fragments: list[str] = []
        """The newest fragments of that part: they came after what is known."""
        self.kept: UnconfirmedStream | None = None
        """The whole stream, for a response that must know it when its run ends."""

    def __bool__(self) -> bool:
        """Return True if anything was streamed."""
        return bool(self.fragments or self._known or self._earlier)

    def begin(self, kind: PartKind) -> None:
        """Begins a part."""
        self.gather()
        self._kind = kind
        self._part_length = 0

    @property
    def part_length(self) -> int:
        """The number of characters of the newest part."""
        self.gather()
        return self._part_length

    def add_unstreamed(self, text: str) -> None:
        """Counts a text that was written to the newest part and never streamed: nothing repeats it."""
        self._part_length += len(text)

    def add(self, fragment: str) -> None:
        """Appends to the newest part."""
        self.fragments.append(fragment)
        if len(self.fragments) == GATHERED:
            self.gather()

    def keep(self, part: Part) -> None:
        """Takes a part that is not compared as text, if the whole stream is kept."""
        if self.kept is not None:
            self.gather()
            self.kept.add(part)

    def sign(self, signature: bytes) -> None:
        """Takes the signature of the newest thought, if the whole stream is kept."""
        if self.kept is not None:
            self.gather()
            self.kept.sign(signature)

    @property
    def whole(self) -> UnconfirmedStream | None:
        """The whole stream, if that is kept."""
        self.gather()
        return self.kept

    def take_kept(self) -> UnconfirmedStream | None:
        """The whole stream, if that is kept: another one begins."""
        if (kept := self.whole) is not None:
            self.kept = UnconfirmedStream()
        return kept

    def clear(self) -> None:
        """Forgets the stream, but for what is kept."""
        self.gather()
        self._earlier = None
        self._known.clear()
        self._length = 0

    @property
    def all_known(self) -> list[tuple[PartKind, str]] | None:
        """The whole stream in its order; ``None`` if its beginning is only known as a hash."""
        self.gather()
        return self._known if self._earlier is None else None

    def of(self, kind: PartKind) -> PrefixHash:
        """All of the stream that is of this kind."""
        self.gather()
        known = texts_by_kind(self._known)[kind]
        return PrefixHash(known) if self._earlier is None else self._earlier[kind].plus(known)

    def gather(self) -> None:
        """Joins the newest fragments: later ones can follow in a list that stays short."""
        if not self.fragments:
            return
        text = "".join(self.fragments)
        self.fragments.clear()
        self._known.append((self._kind, text))
        self._length += len(text)
        self._part_length += len(text)
        if self.kept is not None:
            self.kept.add_text(self._kind, text)
        if self._length > (MAX_KNOWN if self._earlier is None else MAX_RECENT) or len(self._known) > MAX_PIECES:
            self._forget()

    def _forget(self) -> None:
        if self._earlier is None:
            self._earlier = [PrefixHash() for _ in PartKind]
        for told, text in zip(self._earlier, texts_by_kind(self._known), strict=True):
            told.add(text)
        self._known.clear()
        self._length = 0


def texts_by_kind(texts: Iterable[tuple[PartKind, str]]) -> list[str]:
    """The texts of each kind as one."""
    joined: list[list[str]] = [[] for _ in PartKind]
    for kind, text in texts:
        joined[kind].append(text)
    return ["".join(pieces) for pieces in joined]
