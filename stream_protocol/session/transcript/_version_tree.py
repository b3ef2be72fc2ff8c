"""Finds the versions of user messages among all stored events of a session, including events that a rewind removed.

User messages form a tree: the parent of a message is the user message before it. Messages with the same parent are
versions of one message.

A rewind removes the events of an invocation and all later events from the chat, but not from the store. If a second
rewind names the invocation of the first rewind, it removes the first rewind. The messages that the first rewind removed
then come back.
"""

from __future__ import annotations

from functools import cached_property
from math import inf
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias, TypedDict

from stream_protocol.adk import Text
from stream_protocol.session.transcript._metadata import EventMetadata, hidden_events
from stream_protocol.session.transcript._transcript_reader import AppliedRewind, Rewinds
from stream_protocol.wire import ChatRequestError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from stream_protocol.adk import EventFacts
    from stream_protocol.session.transcript._transcript import Transcript

_Words: TypeAlias = "tuple[str | None, tuple[str, ...]]"

ROOT: Final = -1
"""The parent number of messages without a parent."""


class _Removal(NamedTuple):
    """A rewind of the session, and the newest user message before the rewind."""

    rewind: AppliedRewind
    newest: int


class VersionTree:
    """Tree of the user messages in a session. A message's number is the index of its event."""

    def __init__(self, events: Iterable[EventFacts]) -> None:
        self._facts: dict[int, EventFacts] = {}
        self._numbers: dict[str, int] = {}
        self._before: dict[int, int] = {}
        self._after: dict[int, list[int]] = {}
        """Number of a message -> the numbers of the messages directly after it, in stored order."""
        self._removals: list[_Removal] = []
        self._newest = self._read(events)

    def find(self, event_id: str) -> int | None:
        """Return the number of the message with this event id; ``None`` if there is no such message."""
        return self._numbers.get(event_id)

    def message(self, number: int) -> EventFacts:
        return self._facts[number]

    def versions(self, number: int) -> list[int]:
        """Return the numbers of all versions of a message, including this one, in stored order."""
        return self._after[self._before[number]]

    def last_shown(self, number: int) -> float:
        """Return a sort key for a message: the index of the rewind event that removed it, or infinity if the message is
        in the chat."""
        rewind = self._last_rewinds.get(number)
        return inf if rewind is None else rewind.removed.stop

    def stands(self, number: int) -> bool:
        """Return True if the message is in the chat."""
        return number not in self._last_rewinds

    def rewind_to_restore(self, number: int) -> str | None:
        """Return the id of an invocation: a rewind to it restores a removed message. Return ``None`` if no rewind can
        restore the message. The rewind also restores the messages that were removed together with this message.
        """
        return self._last_rewinds[number].invocation_id

    def _read(self, events: Iterable[EventFacts]) -> int:
        """Read all events. Return the number of the newest user message in the chat."""
        newest_before: list[int] = []
        rewinds = Rewinds()
        newest = ROOT
        for number, facts in enumerate(events):
            newest_before.append(newest)
            if (rewind := rewinds.add(facts)) is not None:
                self._removals.append(_Removal(rewind, newest))
                newest = newest_before[rewind.removed.start]
            elif facts.is_user_message and not facts.is_fragment and facts.id not in hidden_events(facts.event):
                self._facts[number] = facts
                self._numbers[facts.id] = number
                self._before[number] = newest
                self._after.setdefault(newest, []).append(number)
                newest = number
        return newest

    @cached_property
    def _last_rewinds(self) -> dict[int, AppliedRewind]:
        """Return a dictionary from the number of each removed message to the last rewind that removed it."""
        found: dict[int, AppliedRewind] = {}
        current_events: set[int] = set()
        number = self._newest
        while number != ROOT:
            current_events.add(number)
            number = self._before[number]
        for rewind, newest in reversed(self._removals):
            number = newest
            while number != ROOT and number not in found and number not in current_events:
                found[number] = rewind
                number = self._before[number]
        return found


class MessageVersions(TypedDict):
    """All versions of one message that was edited or regenerated."""

    messageId: str
    """The id of the message in the chat: the user message if it was edited, the assistant message if it was
    regenerated."""
    current: int
    """The index in ``ids`` of the version that is in the chat now."""
    ids: list[str]
    """The ids of the versions, oldest first. Pass such an id to ``ChatService.choose_version``."""


def message_versions(transcript: Transcript) -> list[MessageVersions]:
    """Return the versions of each message that has several versions, in the order of the chat. Edits and new replies
    add versions.
    """
    return list(_message_versions(transcript))


def rewind_to_choose(transcript: Transcript, version_id: str) -> str | None:
    """Return the id of an invocation: a rewind to it restores this version of a user message. Return ``None`` if the
    version is already in the chat. The rewind also restores the messages that were removed together with the version.

    Raises ``ChatRequestError``: 404 if the version does not exist, 409 if no rewind can restore it.
    """
    tree = transcript.version_tree
    number = tree.find(version_id)
    if number is None:
        raise ChatRequestError("There is no such version.", status=404)
    if tree.stands(number):
        return None
    invocation_id = tree.rewind_to_restore(number)
    if invocation_id is None:
        raise ChatRequestError("This version cannot be shown again.", status=409)
    return invocation_id


def _message_versions(transcript: Transcript) -> Iterator[MessageVersions]:
    tree = transcript.version_tree
    for turn in transcript.turns:
        number = tree.find(turn.stored[0].id)
        if number is None or len(versions := tree.versions(number)) == 1:
            continue
        by_words: dict[_Words, list[int]] = {}
        for version in versions:
            by_words.setdefault(_words(tree.message(version)), []).append(version)
        facts = tree.message(number)
        answers = by_words[_words(facts)]
        edits = [number if number in same else max(same, key=tree.last_shown) for same in by_words.values()]
        user_message_id = EventMetadata.of(facts.event).message_id or facts.id
        for message_id, numbers in ((user_message_id, edits), (turn.message_id, answers)):
            if len(numbers) > 1:
                yield {"messageId": message_id, "current": numbers.index(number), "ids": _ids(tree, numbers)}


def _words(facts: EventFacts) -> _Words:
    """Return a user message's id from the client, and its texts. Two versions have the same id and texts if only the
    reply was regenerated.
    """
    return EventMetadata.of(facts.event).message_id, tuple(part.text for part in facts.parts if isinstance(part, Text))


def _ids(tree: VersionTree, numbers: Sequence[int]) -> list[str]:
    return [tree.message(number).id for number in numbers]
