"""Collects the streamed parts of a response that no complete event has repeated yet. The fragments of each part are
joined to one text.

A server stores them when the run ends, so that the history and the next prompt have everything that the client has
shown. Without a server, the converter keeps only what it needs to compare the stream with the complete event: see
``StreamedTexts``.
"""

from dataclasses import dataclass, field
from enum import IntEnum

from stream_protocol.adk import CODE_EXECUTION, EventFacts, File, Part, ProviderPart, Text


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

    def note(self, fragment: EventFacts, begin: int) -> None:
        """Store the next fragment. ``begin``: the number of complete events before it."""
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

    def is_confirmed_by(self, parts: tuple[Part, ...]) -> bool:
        """Return True if the stream's files and code are among these parts."""
        confirmed = [part.part for part in parts if isinstance(part, File | ProviderPart)]
        return all(part.whole.part in confirmed for part in self.parts if part.whole is not None)


@dataclass(slots=True, eq=False)
class UnconfirmedStreams:
    """The ended streams of a response that no complete event has confirmed."""

    ended: list[UnconfirmedStream] = field(default_factory=list)
    complete_ids: list[str] = field(default_factory=list)
    """The ids of the response's complete events, in their order."""
