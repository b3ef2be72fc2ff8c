"""Compares a complete event with the text that its speaker has streamed.

ADK's aggregate repeats all of the streamed text. But not every complete event is the aggregate of the stream before it.
When a model fails in the middle, ``on_model_error_callback`` answers in its place. An agent may also say something else
than it streamed. See ``docs/decisions/text-and-aggregates.md`` for the rules that tell the two apart.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from stream_protocol.adk import EventFacts, Part, Text
from stream_protocol.stream._streamed_texts import StreamedTexts, texts_by_kind
from stream_protocol.stream._unconfirmed import PartKind

STOP: Final = "STOP"
"""google-genai's reason of a stream that came to its own end."""

_MARK: Final = re.compile(r"/\*\w+\*/|</?\w+>")
"""A mark by which a model divides its text, as ADK's ``PlanReActPlanner`` and many prompts ask for it."""


@dataclass(frozen=True, slots=True)
class Repetition:
    """A comparison of a complete event's text with the text that was streamed before it."""

    lengths: list[int]
    """The number of characters, by kind and from the beginning of the event's text, that are not written again."""
    unrepeated: list[PartKind]
    """The kinds whose streamed text the event does not begin with."""
    differs: bool
    """True if the event has a text that was not streamed at all, of a kind in ``unrepeated``: it says something
    else."""
    same_text: bool = True
    """True if the event's text begins with all of the streamed text, character by character."""


NOTHING_STREAMED: Final = Repetition([0 for _ in PartKind], [], differs=False)


def compare(parts: Sequence[Part], streamed: StreamedTexts) -> Repetition:
    """Compares the parts of a complete event with the streamed texts.

    Of a long stream only the end is known as it was (``StreamedTexts``). An event that does not begin with the whole
    stream differs, unless it begins as the stream does or is in that end. If it is the aggregate, none of it is written
    again.
    """
    if not streamed:
        return NOTHING_STREAMED
    texts = [(PartKind(part.is_thought), part.text) for part in parts if isinstance(part, Text) and part.text]
    wholes = texts_by_kind(texts)
    told = [streamed.of(kind) for kind in PartKind]
    unrepeated = [kind for kind in PartKind if not told[kind].begins(wholes[kind])]
    all_known = streamed.all_known
    if unrepeated and all_known is not None and _same_words(all_known, texts):
        return Repetition([len(whole) for whole in wholes], [], differs=False, same_text=False)
    not_written = PartKind if unrepeated and all_known is None else unrepeated
    lengths = [len(wholes[kind]) if kind in not_written else told[kind].length for kind in PartKind]
    differs = any(not told[kind].holds(wholes[kind]) for kind in unrepeated)
    return Repetition(lengths, unrepeated, differs=differs, same_text=PartKind.TEXT not in unrepeated)


def is_aggregate(said: EventFacts, *, model: str | None, finish_reason: str | None, call_ids: Collection[str]) -> bool:
    """Return True if an event that differs from the stream before it is the changed aggregate of that stream.

    ``said``: a complete event. ``model``, ``finish_reason``: those that the stream reported. ``call_ids``: of the calls
    in it.
    """
    if any(call.id in call_ids for call in said.calls):
        return True
    if model and said.model and said.model != model:
        return False
    if finish_reason is not None:
        return finish_reason == STOP or said.finish_reason is not None
    return said.is_streams_end


def _same_words(streamed: Iterable[tuple[PartKind, str]], said: Iterable[tuple[PartKind, str]]) -> bool:
    """Return True if the event repeats the streamed text. Marks may be removed, and text may have become thoughts.

    Planners make such events: they split a text by tags when it is complete.
    """
    before, after = ("".join(text for _, text in texts) for texts in (streamed, said))
    letters = _letters(after)
    if not letters or 2 * len(letters) < len(_letters(_MARK.sub("", before))):
        return False
    remaining = iter(before)
    return all(letter in remaining for letter in letters)


def _letters(text: str) -> str:
    return "".join(text.split())
