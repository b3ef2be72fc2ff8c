"""Find the parts of a complete event that were not streamed before. Only these parts are sent to the client.

After the fragments of a stream, ADK creates a complete event that repeats the streamed text: the aggregate. A complete
event can also be a different response. For example, ``on_model_error_callback`` returns a new response if the model
fails during a stream. See ``docs/decisions/text-and-aggregates.md`` for the rules.

``compare`` handles the events of the response. ``new_speech`` handles the transcribed speech of a live run, and
``InnerStreams`` the events of agents inside calls. No other module of this package compares an event with a stream. In
a recovery, ``serving/engine/_shown`` compares the response with the text that dead workers have shown.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from stream_protocol.adk import (
    AgentSpeech,
    EventFacts,
    File,
    LiveTurnEnd,
    OtherPart,
    Part,
    ProviderPart,
    SpeakerKey,
    Text,
)
from stream_protocol.stream._streamed_texts import (
    PartKind,
    PrefixHash,
    StreamedTexts,
    UnconfirmedStream,
    texts_by_kind,
)
from stream_protocol.stream.calls import CallRegistry

if TYPE_CHECKING:
    from stream_protocol.stream._speakers import AuthorStream

STOP: Final = "STOP"
"""google-genai's finish reason of a stream that ended normally."""

_MARK: Final = re.compile(r"/\*\w+\*/|</?\w+>")
"""Pattern for tags and comments that divide a model's text, such as those of ADK's ``PlanReActPlanner``."""


class OtherStreamedParts:
    """Parts of an author's fragments that are neither text nor calls, and parts that are held back."""

    __slots__ = ("deferred", "written")

    def __init__(self) -> None:
        self.written: Counter[str] = Counter()
        """Names of a part's fields -> number of written parts that have these fields."""
        self.deferred: list[Part] = []
        """Parts of fragments that are held back until the complete event: a file that may become an artifact, and later
        parts."""

    def any_missing_in(self, parts: Iterable[Part]) -> bool:
        """Return True if ``parts`` lacks one of the stored parts. Texts, calls and empty parts are not compared."""
        streamed = self.written + Counter(_fields(self.deferred))
        return any(streamed) and any(streamed - Counter(_fields(parts)))


def _fields(parts: Iterable[Part]) -> Iterator[str]:
    return (part.fields for part in parts if isinstance(part, File | ProviderPart | OtherPart))


class Comparison(NamedTuple):
    """The result of comparing a complete event with the fragments that its author streamed before."""

    new_parts: Sequence[Part]
    """The event's parts that the client does not have. If a text was streamed in part, only its rest is included.

    If a streamed part now has a signature, an ``OtherPart`` with this signature is included.
    """
    is_separate: bool
    """True if the event is a separate response. False if it is the aggregate of the stream."""
    same_text: bool
    """True if the event's text begins with all of the streamed text, unchanged."""
    ends_stream: bool
    """True if the event ends the stream, because it has content, a finish reason or a failure."""
    ends_response: bool
    """True if the author's current model response ends with the event."""
    confirms_stream: bool
    """True if the event has all streamed parts, or is the aggregate with a changed text."""
    repeated: list[PartKind]
    """The kinds of text (text, thoughts) for which the event begins with the streamed text."""


class _TextComparison(NamedTuple):
    """The result of comparing only the texts and thoughts of a complete event with those that were streamed."""

    lengths: list[int]
    """For each kind, the number of characters at the beginning of the event's text that must not be written."""
    unrepeated: list[PartKind]
    """The kinds of text for which the event does not begin with the streamed text."""
    differs: bool
    """True if the event does not begin with the streamed text of a kind, and has text of this kind that was not
    streamed."""
    same_text: bool = True
    """True if the event's text begins with all of the streamed text, unchanged."""


_NOTHING_STREAMED: Final = _TextComparison([0 for _ in PartKind], [], differs=False)


def compare(facts: EventFacts, author: "AuthorStream", calls: CallRegistry) -> Comparison:
    """Compare a complete event with the parts that its author has streamed since the author's previous complete event.

    ``calls``: the tool calls of the message.
    """
    parts, others, failure = facts.parts, author.other_parts, facts.failure
    written = {} if others is None else others.written
    texts = _compare_texts(parts, author.streamed)
    reports_end = facts.finish_reason is not None or failure is not None
    ends_stream = reports_end or facts.role is not None
    whole = author.streamed.whole if ends_stream else None
    differs = texts.differs or (others is not None and others.any_missing_in(parts))
    has_all = not texts.unrepeated and (whole is None or _has_files_and_code(parts, whole))
    is_changed_aggregate = (differs or not has_all) and _is_aggregate(facts, author, calls)
    is_separate = bool(parts) and differs and not is_changed_aggregate
    if is_separate:
        new_parts = _new_parts(parts, _NOTHING_STREAMED.lengths, {})
    else:
        new_parts = _new_parts(parts, texts.lengths, written)
    return Comparison(
        new_parts=[*new_parts],
        is_separate=is_separate,
        same_text=is_separate or texts.same_text,
        ends_stream=ends_stream,
        ends_response=reports_end or bool(parts) or facts.reports_a(LiveTurnEnd),
        confirms_stream=has_all or (is_changed_aggregate and (bool(parts) or failure is None)),
        repeated=[kind for kind in PartKind if kind not in texts.unrepeated],
    )


def _has_files_and_code(parts: Iterable[Part], stream: UnconfirmedStream) -> bool:
    """Return True if ``parts`` contain all files and code of the stream."""
    confirmed = [part.part for part in parts if isinstance(part, File | ProviderPart)]
    return all(part.whole.part in confirmed for part in stream.parts if part.whole is not None)


def _new_parts(parts: Iterable[Part], lengths: Iterable[int], others: Mapping[str, int]) -> Iterator[Part]:
    """Yield the event's parts that the client does not have.

    ``lengths``: for each kind of text, the number of characters to leave out at the beginning. ``others``: names of a
    part's fields -> number of such parts to leave out.
    """
    repeated, repeated_others = [*lengths], {**others}
    for part in parts:
        match part:
            case Text(text, is_thought) if text:
                kind = PartKind(is_thought)
                rest = text[repeated[kind] :]
                repeated[kind] = max(0, repeated[kind] - len(text))
                if not repeated[kind]:  # else the part was streamed and has ended
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


def _compare_texts(parts: Sequence[Part], streamed: StreamedTexts) -> _TextComparison:
    """Compare the texts of a complete event with the streamed texts.

    If an event does not begin with the whole stream, and the stream does not contain the event's text, the texts
    differ. For a long stream, ``StreamedTexts`` stores the beginning as a hash. In this case, only the beginning and
    the end of the stream can be compared.
    """
    if not streamed:
        return _NOTHING_STREAMED
    texts = [(PartKind(part.is_thought), part.text) for part in parts if isinstance(part, Text) and part.text]
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
    """Return True if a complete event is the aggregate of the author's stream, although its text was changed."""
    if any(calls.newest(call.id, author.key) in author.streaming_calls for call in facts.calls):
        return True
    if author.model and facts.model and facts.model != author.model:
        return False
    if author.finish_reason is not None:
        return author.finish_reason == STOP or facts.finish_reason is not None
    return facts.is_streams_end


def _same_words(streamed: Iterable[tuple[PartKind, str]], facts: Iterable[tuple[PartKind, str]]) -> bool:
    """Return True if the event repeats the streamed text, without regard to tags and to the kinds of text.

    Planners create such events: they divide a complete text at its tags, remove the tags, and turn some texts into
    thoughts.
    """
    before, after = ("".join(text for _, text in texts) for texts in (streamed, facts))
    letters = _letters(after)
    if not letters or 2 * len(letters) < len(_letters(_MARK.sub("", before))):
        return False
    remaining = iter(before)
    return all(letter in remaining for letter in letters)


def _letters(text: str) -> str:
    return "".join(text.split())


def new_speech(speech: AgentSpeech, author: "AuthorStream") -> str:
    """Return the text of this speech that was not written before.

    In a live run, ADK first sends an utterance in fragments, and then the whole utterance with ``finished`` set.
    """
    pieces, text = author.speech, speech.text
    if not speech.finished:
        author.speech = pieces or PrefixHash()
        author.speech.add(text)
        return text
    author.speech = None
    if pieces is None:
        return text
    return text[pieces.length :] if pieces.begins(text) else ""


class InnerStreams:
    """Streams of agents that run inside tool calls. A stream is removed when a complete event has repeated it.

    ``max_length``: the maximum number of characters in all streams; ``None`` for no limit. With a limit, fragments
    above the limit and fragments without text are left out.
    """

    __slots__ = ("_length", "_max_length", "_streams")

    def __init__(self, max_length: int | None = None) -> None:
        self._max_length = max_length
        self._streams: dict[SpeakerKey, UnconfirmedStream] = {}
        self._length = 0

    def __iter__(self) -> Iterator[UnconfirmedStream]:
        return iter(self._streams.values())

    def add(self, facts: EventFacts, begin: int = 0) -> None:
        """Process an event of an agent inside a call. A fragment is stored. A complete event with content removes the
        stream of its author.

        ``begin``: the number of complete events before the fragment.
        """
        if not facts.is_fragment:
            repeated = self._streams.pop(facts.speaker, None) if facts.parts and self._streams else None
            self._length -= 0 if repeated is None else repeated.length
            return
        length = sum(len(part.text) for part in facts.parts if isinstance(part, Text))
        if self._max_length is None or (length and self._length + length <= self._max_length):
            self._length += length
            self._streams.setdefault(facts.speaker, UnconfirmedStream(is_nested=True)).add_fragment(facts, begin)
