"""The user messages that a chat can have after concurrent requests, some of which got no response."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, Final, TypeAlias

from tests.kills.visitor import Deletion, Reading

REFUSED: Final = range(400, 500)
"""Statuses of requests that the server did not accept. A 503 may follow after the message was stored."""


@dataclass(frozen=True)
class StoredWords:
    """A user message in a history, and the body of the request that stored it."""

    id: str
    text: str
    body: str


History: TypeAlias = tuple[StoredWords, ...]


@dataclass(frozen=True)
class Change:
    """A change of the history between two times. ``body``: of the request; ``None`` for a deletion of the chat.

    ``is_certain``: False for a request that may not have been accepted.
    """

    body: str | None
    begun: float
    ended: float
    is_certain: bool

    def applied_to(self, history: History) -> History:
        """Return the history after the change. A repetition of a stored request changes nothing."""
        if self.body is None:
            return ()
        said = said_in(self.body)
        if said["message"]["role"] != "user" or any(words.body == self.body for words in history):
            return history
        text = next(part["text"] for part in said["message"]["parts"] if part["type"] == "text")
        again = said["message"]["id"] if said["trigger"] == "regenerate-message" else said["messageId"]
        ids = [words.id for words in history]
        kept = history[: ids.index(again)] if again in ids else history  # later messages are taken back
        return (*kept, StoredWords(said["message"]["id"], text, self.body))


def possible_histories(readings: Sequence[Reading], deletions: Sequence[Deletion]) -> set[tuple[str, ...]]:
    """Return the texts of the user messages of each history that the chat can have.

    The server may accept concurrent requests in any order. The order of two requests is certain only if one of them got
    its response before the page sent the other one.
    """
    changes = [*_changes(readings)]
    changes += [
        Change(None, each.sent, each.answered, is_certain=True) for each in deletions if is_done(each, readings)
    ]
    found: set[History] = set()
    reached: set[tuple[frozenset[Change], History]] = {(frozenset(changes), ())}
    seen = set(reached)
    while reached:
        left, history = reached.pop()
        if not left:
            found.add(history)
        for change in _next_of(left):
            histories = {change.applied_to(history)} if change.is_certain else {change.applied_to(history), history}
            new = {(left - {change}, each) for each in histories} - seen
            seen |= new
            reached |= new
    return {tuple(words.text for words in history) for history in found}


def is_done(deletion: Deletion, readings: Sequence[Reading]) -> bool:
    """Return True if the chat was deleted.

    This includes a worker that died during the response to the deletion, if the page then repeated the request and
    found no chat.
    """
    is_repeated = any(
        each.method == "DELETE" and each.status == 0 and deletion.sent <= each.begun < deletion.answered
        for each in readings
    )
    return deletion.status < 300 or (deletion.status == 404 and is_repeated)


def said_in(body: str) -> dict[str, Any]:
    return Reading("POST", "/api/chat", body, 0.0, None, None, 0, 0, "", None).said


def _changes(readings: Sequence[Reading]) -> Iterator[Change]:
    """Yield the changes by requests: two for a request that the page has repeated after its response.

    If the first was taken back meanwhile, the server stores the repeated message again.
    """
    posts = [each for each in readings if each.is_post and each.body is not None and each.status not in REFUSED]
    for body in dict.fromkeys(each.body for each in posts):
        sent = [each for each in posts if each.body == body]
        accepted = min((each.answered or inf for each in sent if each.status == 200), default=inf)
        yield Change(body, min(each.begun for each in sent), accepted, is_certain=accepted < inf)
        again = [each for each in sent if (each.answered or inf) > accepted]
        if again:
            yield Change(body, min(each.begun for each in again), _last_end(again), is_certain=False)


def _last_end(readings: Iterable[Reading]) -> float:
    """Return the time of the last response. A request without a response may be accepted much later."""
    return max(each.answered or inf for each in readings)


def _next_of(left: frozenset[Change]) -> list[Change]:
    """Return the changes that can come first."""
    return [each for each in left if not any(other.ended < each.begun for other in left)]
