"""Finds the recorded turn for a request.

A turn is a request and its response. A request with a new user message normally also has the earlier messages of the
chat. The last of these assistant messages that is also in the recording is found. The request gets the turn after this
message. If the client sends only the new message, the request gets the turn after the last turn that the chat has
played.

A request may also contain answers to tool calls. Then it gets the last recorded turn whose recorded answers are all in
the request. Answers are compared if their calls have the same id.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Final

from stream_protocol.replay_server._differences import (
    Difference,
    ReceivedAnswer,
    difference,
    difference_in_answer,
    difference_in_parts,
    received_answers,
)
from stream_protocol.replay_server._recording_library import LibraryEntry
from stream_protocol.replay_server._turn_summaries import (
    LAST_MESSAGE,
    RecordedAnswer,
    TurnSummary,
    UserPart,
    user_parts,
)
from stream_protocol.wire import ChatRequest, ChatRequestError

COMPARED_LENGTH: Final = 500
"""Maximum number of compared characters of each text. The time grows with the product of the two lengths."""

END_SIMILARITY: Final = 0.5
"""The assumed similarity for the end of a recording, which has no next turn. Most different texts are less similar."""


@dataclass(frozen=True)
class LibraryTurn:
    """A turn of a loaded recording."""

    entry: LibraryEntry
    turn: TurnSummary

    def follows(self, other: LibraryTurn) -> bool:
        """Return True if this turn comes directly after ``other`` in the same recording."""
        return self.entry is other.entry and self.turn.number == other.turn.number + 1


@dataclass(frozen=True, kw_only=True)
class Mismatch:
    """A recorded turn that does not match the request, and the first difference between them."""

    nearest: LibraryTurn
    difference: Difference
    similarity: float = 1.0
    """The similarity of the user's texts, from 0 to 1, plus 0.1 for the right position in the conversation."""

    def __str__(self) -> str:
        where = f"turn {self.nearest.turn.number} of {self.nearest.entry.file}"
        return f"No recorded turn matches. Nearest: {where}; first difference at {self.difference}."


def find_turn(request: ChatRequest, entries: Iterable[LibraryEntry], last: LibraryTurn | None) -> LibraryTurn:
    """Return the recorded turn for a request. ``last``: the turn that this chat has last played, or ``None``.

    If no turn matches, raises ``ChatRequestError`` (409). Its text names the most similar turn and the first
    difference.
    """
    mismatches: list[Mismatch] = []
    is_user_message = request.target["role"] == "user"
    for entry in entries:
        last_here = last.turn if last is not None and last.entry is entry else None
        found = _find_by_text(request, entry, last_here) if is_user_message else _find_by_answers(request, entry)
        if isinstance(found, LibraryTurn):
            return found
        mismatches += found
    nearest = max(mismatches, key=lambda mismatch: mismatch.similarity)
    raise ChatRequestError(str(nearest), status=409)


def _find_by_text(request: ChatRequest, entry: LibraryEntry, last: TurnSummary | None) -> LibraryTurn | list[Mismatch]:
    parts = tuple(user_parts(request.target))
    if not parts:
        raise ChatRequestError("The message is empty.", status=422)
    before = _message_before(request, entry)
    regenerates = request.trigger == "regenerate-message"
    mismatches = [_after_the_end(entry, parts)] if before == entry.turns[-1].message_id else []
    for turn, previous in _candidates(request, entry, last):
        is_next = last is not None and (previous is last or (regenerates and turn is last))
        follows = is_next or _message_id(previous) == before
        found = difference_in_parts(turn.user_parts, parts) if turn.user_parts is not None else None
        if found is None and follows:
            return LibraryTurn(entry, turn)
        found = found or difference("messages[-2].id", _message_id(previous), before)
        similarity = _similarity(turn, parts) + follows / 10
        mismatches.append(Mismatch(nearest=LibraryTurn(entry, turn), difference=found, similarity=similarity))
    return mismatches


def _candidates(
    request: ChatRequest, entry: LibraryEntry, last: TurnSummary | None
) -> list[tuple[TurnSummary, TurnSummary | None]]:
    """Return the turns that begin with a user message, each with the turn before it.

    If the request regenerates the response of ``last``, the turn after ``last`` comes first, because it may be the
    recorded regeneration. ``last`` itself comes second.
    """
    pairs = [
        (turn, previous)
        for previous, turn in zip((None, *entry.turns), entry.turns, strict=False)
        if not turn.continues
    ]
    if request.trigger == "regenerate-message" and last is not None:
        pairs.sort(key=lambda pair: (pair[1] is not last, pair[0] is not last))
    return pairs


def _message_id(turn: TurnSummary | None) -> str | None:
    return turn.message_id if turn is not None else None


def _message_before(request: ChatRequest, entry: LibraryEntry) -> str | None:
    recorded = {turn.message_id for turn in entry.turns}
    ids = (message["id"] for message in reversed(request.messages) if message["role"] == "assistant")
    return next((message_id for message_id in ids if message_id in recorded), None)


def _after_the_end(entry: LibraryEntry, parts: tuple[UserPart, ...]) -> Mismatch:
    found = difference(parts[0].path, None, parts[0].value)
    return Mismatch(nearest=LibraryTurn(entry, entry.turns[-1]), difference=found, similarity=END_SIMILARITY)


def _similarity(turn: TurnSummary, parts: tuple[UserPart, ...]) -> float:
    old, new = ("\n".join(part.value for part in each)[:COMPARED_LENGTH] for each in (turn.user_parts or (), parts))
    return SequenceMatcher(None, old, new, autojunk=False).ratio()


def _find_by_answers(request: ChatRequest, entry: LibraryEntry) -> LibraryTurn | list[Mismatch]:
    message = request.target
    received = received_answers(message)
    mismatches: list[Mismatch] = []
    for turns in sorted(_turns_by_message(entry), key=lambda turns: turns[0].message_id != message["id"]):
        found = _find_in_message(entry, turns, received)
        if isinstance(found, LibraryTurn):
            return found
        mismatches.append(replace(found, similarity=float(turns[0].message_id == message["id"])))
    return mismatches


def _turns_by_message(entry: LibraryEntry) -> list[list[TurnSummary]]:
    messages: list[list[TurnSummary]] = []
    for turn in entry.turns:
        if not turn.continues or not messages:
            messages.append([])
        messages[-1].append(turn)
    return messages


def _find_in_message(
    entry: LibraryEntry, turns: Sequence[TurnSummary], received: Sequence[ReceivedAnswer]
) -> LibraryTurn | Mismatch:
    """``turns``: the turns of one assistant message. Return the last of them for which the request contains all answers
    that were recorded up to this turn.

    Returns a ``Mismatch`` if there is no such turn.
    """
    open_calls = frozenset[str]().union(*(turn.open_calls for turn in turns))
    unused = [answer for answer in received if answer.is_approval or answer.id in open_calls]
    reached: TurnSummary | None = None
    turn = turns[0]
    for turn in turns[1:]:
        if turn.answers is None:
            own = unused
        else:
            own = [found for answer in turn.answers if (found := _find_answer(answer, received)) is not None]
        if not own:
            break
        if (difference_found := _first_difference(turn.answers or (), received)) is not None:
            return Mismatch(nearest=LibraryTurn(entry, turn), difference=difference_found)
        unused = [answer for answer in unused if answer not in own]
        reached = turn
    if reached is not None and not unused:
        return LibraryTurn(entry, reached)
    if unused:
        difference_found = difference(unused[0].path, None, unused[0].value)
    else:
        difference_found = difference(f"{LAST_MESSAGE}.role", "user", "assistant")
    return Mismatch(nearest=LibraryTurn(entry, turn), difference=difference_found)


def _first_difference(answers: Sequence[RecordedAnswer], received: Sequence[ReceivedAnswer]) -> Difference | None:
    for answer in answers:
        found = _find_answer(answer, received)
        if found is None:
            return difference(f"{LAST_MESSAGE}.parts (the answer to {answer.id})", answer.response, None)
        if (difference_found := difference_in_answer(answer, found)) is not None:
            return difference_found
    return None


def _find_answer(answer: RecordedAnswer, received: Sequence[ReceivedAnswer]) -> ReceivedAnswer | None:
    """Return the received answer with the recorded id. If there is none, returns an answer to a call of the same tool,
    because the ids differ if the model sends no ids.
    """
    same_tool = (each for each in received if each.tool == answer.tool and not each.is_approval)
    return next((each for each in received if each.id == answer.id), None) or next(same_tool, None)
