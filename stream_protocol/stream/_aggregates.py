"""Compare a complete event with the text that its author has streamed.

An aggregate is the complete event that ADK makes of a stream. It repeats all of the streamed text. But a complete event
is not always the aggregate of the stream before it. When a model fails during a stream, ``on_model_error_callback``
returns a different response. An agent can also send text that differs from its stream. See
``docs/decisions/text-and-aggregates.md`` for the rules.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from stream_protocol.adk import EventFacts, Part, Text
from stream_protocol.stream._streamed_texts import StreamedTexts, texts_by_kind
from stream_protocol.stream._unconfirmed import PartKind

STOP: Final = "STOP"
"""google-genai's finish reason of a stream that ended normally."""

_MARK: Final = re.compile(r"/\*\w+\*/|</?\w+>")
"""Pattern for the tags that divide a model's text, as for ADK's ``PlanReActPlanner``."""


@dataclass(frozen=True, slots=True)
class Repetition:
    """The result of comparing a complete event's text with the text that was streamed before it."""

    lengths: list[int]
    """For each kind, the number of characters at the beginning of the event's text that are not written again."""
    unrepeated: list[PartKind]
    """The kinds of text for which the event does not begin with the streamed text."""
    differs: bool
    """True if the event has text of an unrepeated kind that was not streamed at all."""
    same_text: bool = True
    """True if the event's text begins with all of the streamed text, without any difference."""


NOTHING_STREAMED: Final = Repetition([0 for _ in PartKind], [], differs=False)


def compare(parts: Sequence[Part], streamed: StreamedTexts) -> Repetition:
    """Compare the parts of a complete event with the streamed texts.

    Of a long stream, only the end is stored as text (``StreamedTexts``). An event that does not begin with the whole
    stream usually differs from the stream. It does not differ if its text is the beginning of the stream, or is
    contained in that end. If a differing event is the aggregate, none of its text is written again.
    """
    if not streamed:
        return NOTHING_STREAMED
    texts = [(PartKind(part.is_thought), part.text) for part in parts if isinstance(part, Text) and part.text]
    wholes = texts_by_kind(texts)
    streamed_texts = [streamed.of(kind) for kind in PartKind]
    unrepeated = [kind for kind in PartKind if not streamed_texts[kind].begins(wholes[kind])]
    all_known = streamed.all_known
    if unrepeated and all_known is not None and _same_words(all_known, texts):
        return Repetition([len(whole) for whole in wholes], [], differs=False, same_text=False)
    not_written = PartKind if unrepeated and all_known is None else unrepeated
    lengths = [len(wholes[kind]) if kind in not_written else streamed_texts[kind].length for kind in PartKind]
    differs = any(not streamed_texts[kind].holds(wholes[kind]) for kind in unrepeated)
    return Repetition(lengths, unrepeated, differs=differs, same_text=PartKind.TEXT not in unrepeated)


def is_aggregate(facts: EventFacts, *, model: str | None, finish_reason: str | None, call_ids: Collection[str]) -> bool:
    """Return True if an event that differs from the stream before it is the changed aggregate of that stream.

    ``facts``: a complete event. ``model``, ``finish_reason``: those that the stream reported. ``call_ids``: the ids of
    the calls in the stream.
    """
    if any(call.id in call_ids for call in facts.calls):
        return True
    if model and facts.model and facts.model != model:
        return False
    if finish_reason is not None:
        return finish_reason == STOP or facts.finish_reason is not None
    return facts.is_streams_end


def _same_words(streamed: Iterable[tuple[PartKind, str]], facts: Iterable[tuple[PartKind, str]]) -> bool:
    """Return True if the event repeats the streamed text. Tags may be missing, and text may have become thoughts.

    Planners make such events: they divide a complete text by its tags.
    """
    before, after = ("".join(text for _, text in texts) for texts in (streamed, facts))
    letters = _letters(after)
    if not letters or 2 * len(letters) < len(_letters(_MARK.sub("", before))):
        return False
    remaining = iter(before)
    return all(letter in remaining for letter in letters)


def _letters(text: str) -> str:
    return "".join(text.split())
