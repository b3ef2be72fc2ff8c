"""The streamed parts of a response that no complete event has confirmed, kept whole.

A server stores them when the run ends, so that history and the next prompt have everything that the client was shown.
The converter alone keeps no more of a stream than it needs for the comparison: see ``StreamedTexts``.
"""

from dataclasses import dataclass, field
from enum import IntEnum

from stream_protocol.adk import CODE_EXECUTION, EventFacts, File, Part, ProviderPart, Text


class PartKind(IntEnum):
    """The kinds of parts that grow; indices, since a member's hash is slow."""

    TEXT = 0
    REASONING = 1


@dataclass(slots=True)
class StreamedPart:
    """Neighbouring texts, or thoughts, as one; or a file or code."""

    kind: PartKind | None = None
    """``None`` for a file and for code."""
    pieces: list[str] = field(default_factory=list)
    signature: bytes | None = None
    whole: File | ProviderPart | None = None


@dataclass(slots=True, eq=False)
class UnconfirmedStream:
    """The parts that a speaker streamed between two of its complete events. Pieces of calls are useless without the
    rest."""

    begin: int = 0
    """The number of complete events that the client had been shown before it."""
    newest: EventFacts | None = None
    """Its newest fragment that was more than a continued text: for what else that says."""
    ended: bool = False
    """True if a complete event of the speaker came after it."""
    repeated: list[PartKind] = field(default_factory=list)
    """The kinds of its texts that this complete event repeats."""
    parts: list[StreamedPart] = field(default_factory=list)

    def note(self, fragment: EventFacts, begin: int) -> None:
        """Notes its next fragment. ``begin``: how many complete events the client was shown before that."""
        if self.newest is None:
            self.begin = begin
        self.newest = fragment

    def add_text(self, kind: PartKind, text: str) -> None:
        """Appends a text or a thought."""
        if not self.parts or self.parts[-1].kind is not kind:
            self.parts.append(StreamedPart(kind))
        self.parts[-1].pieces.append(text)

    def add(self, part: Part) -> None:
        """Appends a part of a fragment."""
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
        """Signs its newest text or thought, unless something else came after that."""
        if signature is not None and self.parts and self.parts[-1].kind is not None:
            self.parts[-1].signature = signature

    def is_confirmed_by(self, parts: tuple[Part, ...]) -> bool:
        """Return True if its files and its code are among these parts."""
        said = [one.part for one in parts if isinstance(one, File | ProviderPart)]
        return all(part.whole.part in said for part in self.parts if part.whole is not None)
