"""Speakers: who is speaking, and which part of theirs is open.

Agents that run in parallel interleave their fragments, so each (author, branch, node path) is a speaker with at most
one open part. The event id is no key: it changes with every fragment before ADK 2.6, and again in turns with a code
executor.

What a speaker streamed since its last complete event is kept as a list of pieces: the complete event repeats it, and
only the difference may be shown.
"""

from base64 import b64encode
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from stream_protocol.convert.calls import Known, ToolCall
from stream_protocol.wire import ProviderMetadata, Sink, WriteDelta

if TYPE_CHECKING:
    from google.adk.events import Event
    from google.genai.types import Part

SpeakerKey = tuple[str, str | None, str]
"""Author, branch, node path."""

NOBODY: SpeakerKey = ("", None, "")


class Kind(IntEnum):
    """The kinds of parts that grow; indices, since a member's hash is slow."""

    TEXT = 0
    REASONING = 1


class Ordinals:
    """Part ids: ordinals in the message, so that the same events give the same bytes."""

    def __init__(self) -> None:
        self._next = [0] * len(Kind)

    def next(self, kind: Kind) -> str:
        ordinal = self._next[kind]
        self._next[kind] = ordinal + 1
        return str(ordinal)


class Speaker:
    """One speaker's open part, and what it has streamed of the response it is giving."""

    __slots__ = (
        "_part_id",
        "_signature",
        "_sink",
        "author",
        "branch",
        "calls",
        "fresh",
        "held",
        "keep",
        "kind",
        "known",
        "overdue",
        "path",
        "provider",
        "saved",
        "shown",
        "streamed",
        "write",
    )

    def __init__(self, key: SpeakerKey, sink: Sink[Any]) -> None:
        self.author, self.branch, self.path = key
        adk: dict[str, Any] = {"author": self.author}
        if self.branch is not None:
            adk["branch"] = self.branch
        self._sink = sink
        self._part_id = ""
        self._signature: bytes | None = None
        self.provider: ProviderMetadata = {"adk": adk}
        """Who speaks: on every part of this speaker."""
        self.kind: Kind | None = None
        """The kind of the open part."""
        self.write: WriteDelta = _closed
        """Writes a delta of the open part."""
        self.streamed: list[list[str]] = [[] for _ in Kind]
        """The fragments of the response that is being streamed, by kind."""
        self.keep: WriteDelta = _closed
        """Appends to ``streamed`` of the open part's kind."""
        self.shown: dict[str, int] = {}
        """How many parts of other kinds have been shown of that response, by kind."""
        self.held: list[Part] = []
        """Fragments that wait for the complete event: a file that may have been saved by then, and all behind it."""
        self.saved: list[Event] = []
        """Events without content that name artifacts: the content which they were saved from is still to come."""
        self.known: Known = {}
        """All calls of this speaker."""
        self.calls: list[ToolCall] = []
        """Calls that fragments of the current response speak of; their complete form is still to come."""
        self.overdue: list[ToolCall] = []
        """Such calls of a response whose complete event came without them."""
        self.fresh = True
        """No content of the next response has been shown yet."""

    @property
    def busy(self) -> bool:
        """Whether a step can't end now: a part or an input is open."""
        return self.kind is not None or any(call.visible for call in self.calls)

    def open(self, kind: Kind, part_id: str) -> None:
        start = self._sink.text_start if kind is Kind.TEXT else self._sink.reasoning_start
        self.write = start(part_id, self.provider)
        self.kind = kind
        self._part_id = part_id
        self.keep = self.streamed[kind].append

    def sign(self, signature: bytes) -> None:
        """Keeps the thought signature for the end of the open part."""
        if self.kind is not None:
            self._signature = signature

    def close(self) -> None:
        """Ends the open part, if there is one."""
        if self.kind is None:
            return
        end = self._sink.text_end if self.kind is Kind.TEXT else self._sink.reasoning_end
        # A part's end replaces its metadata, so the speaker is said again beside the signature.
        end(self._part_id, None if self._signature is None else self.provider | signed(self._signature))
        self.kind = None
        self.write = self.keep = _closed
        self._signature = None

    def end_response(self) -> None:
        """The complete event has come: the next fragment begins another response."""
        self.close()
        for pieces in self.streamed:
            pieces.clear()
        self.shown.clear()
        self.held.clear()
        self.overdue += self.calls
        self.calls.clear()
        self.fresh = True


def signed(signature: bytes) -> ProviderMetadata:
    """Gemini's thought signature where the AI SDK's Google provider keeps it."""
    return {"google": {"thoughtSignature": b64encode(signature).decode()}}


def _closed(delta: str) -> None:
    raise AssertionError(f"no part is open for {delta!r}")
