"""Which recorded turn a request asks for.

A text asks for the turn behind the assistant's message that stands before it in the request; so a reload, a new server
or another test that uses the chat's id again changes nothing. Only for clients that send no more than their last
message, the chat's own place counts: the turn behind the one that was played last. Answers to calls ask for the last
turn of the message whose answers are all there, which the ids of the calls tell.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Final

from stream_protocol.replay_server._differences import (
    Difference,
    Given,
    difference,
    difference_in_answer,
    difference_in_words,
    given_answers,
)
from stream_protocol.replay_server._library import Tape
from stream_protocol.replay_server._recorded_turns import LAST, Answer, Said, Scene, said
from stream_protocol.wire import ChatRequest, ChatRequestError, UIMessage

COMPARED: Final = 500
"""Characters of two texts that are compared to tell how near they are: the time grows with their product."""

BEHIND_THE_END: Final = 0.5
"""How near the end of a recording is that a chat has reached: nearer than words that are mostly others."""


@dataclass(frozen=True)
class Place:
    """A turn of a tape."""

    tape: Tape
    scene: Scene

    def follows(self, other: Place) -> bool:
        """Whether it is the next turn."""
        return self.tape is other.tape and self.scene.number == other.scene.number + 1


@dataclass(frozen=True, kw_only=True)
class Miss:
    """A turn that was not meant, and why."""

    place: Place
    difference: Difference
    nearness: float = 1.0
    """How alike the words are, from 0 to 1."""

    def __str__(self) -> str:
        where = f"turn {self.place.scene.number} of {self.place.tape.file}"
        return f"No recorded turn matches. Nearest: {where}; first difference at {self.difference}."


def target_of(request: ChatRequest) -> UIMessage:
    """The message that the request is about: the assistant's that it names, as it does when that is not the last one;
    else the last."""
    for message in request.messages if request.trigger == "submit-message" else ():
        if message["id"] and message["id"] == request.message_id and message["role"] == "assistant":
            return message
    return request.messages[-1]


def find(request: ChatRequest, tapes: Iterable[Tape], last: Place | None) -> Place:
    """The turn that a request asks for; ``last`` is what this chat played last, if that is known.

    Raises ``ChatRequestError`` (409) that names the nearest turn and where it differs.
    """
    misses: list[Miss] = []
    is_words = request.messages[-1]["role"] == "user"
    for tape in tapes:
        kept = last.scene if last is not None and last.tape is tape else None
        found = _by_words(request, tape, kept) if is_words else _by_answers(request, tape)
        if isinstance(found, Place):
            return found
        misses += found
    raise ChatRequestError(str(max(misses, key=lambda miss: miss.nearness)), status=409)


def _by_words(request: ChatRequest, tape: Tape, last: Scene | None) -> Place | list[Miss]:
    words = tuple(said(request.messages[-1]))
    if not words:
        raise ChatRequestError("The message is empty.", status=422)
    before = _message_before(request, tape)
    anew = request.trigger == "regenerate-message"
    misses = [_end_of_tape(tape, words)] if before == tape.scenes[-1].message_id else []
    for scene, previous in _candidates(request, tape, last):
        is_next = last is not None and (previous is last or (anew and scene is last))
        follows = is_next or _id_of(previous) == before
        found = difference_in_words(scene.said, words) if scene.said is not None else None
        if found is None and follows:
            return Place(tape, scene)
        found = found or difference("messages[-2].id", _id_of(previous), before)
        misses.append(Miss(place=Place(tape, scene), difference=found, nearness=_nearness(scene, words) + follows / 10))
    return misses


def _candidates(request: ChatRequest, tape: Tape, last: Scene | None) -> list[tuple[Scene, Scene | None]]:
    """The turns that a user's words began, each with the one before it.

    Words that are to be answered anew ask for the next turn first, where the same words may have been recorded again,
    and then for the last one.
    """
    pairs = [
        (scene, previous)
        for previous, scene in zip((None, *tape.scenes), tape.scenes, strict=False)
        if not scene.continues
    ]
    if request.trigger == "regenerate-message" and last is not None:
        pairs.sort(key=lambda pair: (pair[1] is not last, pair[0] is not last))
    return pairs


def _id_of(scene: Scene | None) -> str | None:
    return scene.message_id if scene is not None else None


def _message_before(request: ChatRequest, tape: Tape) -> str | None:
    """The last message of the assistant in the request that is the tape's."""
    recorded = {scene.message_id for scene in tape.scenes}
    answers = (message["id"] for message in reversed(request.messages) if message["role"] == "assistant")
    return next((message_id for message_id in answers if message_id in recorded), None)


def _end_of_tape(tape: Tape, words: tuple[Said, ...]) -> Miss:
    found = difference(words[0].place, None, words[0].value)
    return Miss(place=Place(tape, tape.scenes[-1]), difference=found, nearness=BEHIND_THE_END)


def _nearness(scene: Scene, words: tuple[Said, ...]) -> float:
    old, new = ("\n".join(one.value for one in all_said)[:COMPARED] for all_said in (scene.said or (), words))
    return SequenceMatcher(None, old, new, autojunk=False).ratio()


def _by_answers(request: ChatRequest, tape: Tape) -> Place | list[Miss]:
    message = target_of(request)
    given = given_answers(message)
    misses: list[Miss] = []
    for scenes in sorted(_messages(tape), key=lambda scenes: scenes[0].message_id != message["id"]):
        found = _in_message(tape, scenes, given)
        if isinstance(found, Place):
            return found
        misses.append(replace(found, nearness=float(scenes[0].message_id == message["id"])))
    return misses


def _messages(tape: Tape) -> list[list[Scene]]:
    """The turns of each message of the assistant."""
    messages: list[list[Scene]] = []
    for scene in tape.scenes:
        if not scene.continues or not messages:
            messages.append([])
        messages[-1].append(scene)
    return messages


def _in_message(tape: Tape, scenes: Sequence[Scene], given: Sequence[Given]) -> Place | Miss:
    """The last turn whose answers, and those of all turns before it, are given; and no other is."""
    asked = frozenset[str]().union(*(scene.asks for scene in scenes))
    left = [one for one in given if one.is_approval or one.id in asked]
    reached: Scene | None = None
    scene = scenes[0]
    for scene in scenes[1:]:
        if scene.answers is None:
            mine = left
        else:
            mine = [one for answer in scene.answers if (one := _find_answer(answer, given)) is not None]
        if not mine:
            break
        if (found := _first_difference(scene.answers or (), given)) is not None:
            return Miss(place=Place(tape, scene), difference=found)
        left = [one for one in left if one not in mine]
        reached = scene
    if reached is not None and not left:
        return Place(tape, reached)
    found = difference(left[0].place, None, left[0].value) if left else difference(f"{LAST}.role", "user", "assistant")
    return Miss(place=Place(tape, scene), difference=found)


def _first_difference(answers: Sequence[Answer], given: Sequence[Given]) -> Difference | None:
    for answer in answers:
        mine = _find_answer(answer, given)
        if mine is None:
            return difference(f"{LAST}.parts (the answer to {answer.id})", answer.response, None)
        if (found := difference_in_answer(answer, mine)) is not None:
            return found
    return None


def _find_answer(answer: Answer, given: Sequence[Given]) -> Given | None:
    """The answer to the same call. A call without an id of its own may have another in the page: its tool tells."""
    of_tool = (one for one in given if one.tool == answer.name and not one.is_approval)
    return next((one for one in given if one.id == answer.id), None) or next(of_tool, None)
