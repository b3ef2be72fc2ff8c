"""The versions of the user's turns, among all stored events: a rewind takes events back and leaves them stored.

After a rewind the chat is as it was before the first event of the invocation that the rewind names. A rewind has an
invocation of its own. So a rewind to before an earlier one restores what that one took back, and what follows goes on
from there. The user's messages form a tree: each follows the message that stood before it. Messages that follow the
same one are versions of one turn.
"""

from __future__ import annotations

from functools import cached_property
from math import inf
from typing import TYPE_CHECKING, Final, NamedTuple

from stream_protocol.adk import Rewind
from stream_protocol.session.transcript._metadata import hidden_events

if TYPE_CHECKING:
    from collections.abc import Iterable

    from stream_protocol.adk import EventFacts

ROOT: Final = -1
"""Stands for the message before the first ones."""


class _TakenBack(NamedTuple):
    """A rewind that took something back."""

    number: int
    """Of its event."""
    newest: int
    """The newest of the user's messages before it."""
    invocation_id: str | None
    """The invocation before which a later rewind goes to undo this one; ``None`` if it has none of its own."""


class VersionTree:
    """Reads the stored events once. The user's messages are counted as the events are, from 0."""

    def __init__(self, events: Iterable[EventFacts]) -> None:
        self._said: dict[int, EventFacts] = {}
        """The user's messages, by number."""
        self._numbers: dict[str, int] = {}
        """Id of a message's event -> its number."""
        self._before: dict[int, int] = {}
        """Number of a message -> that of the message which it follows."""
        self._after: dict[int, list[int]] = {}
        """Number of a message -> those of the messages which follow it, in stored order."""
        self._rewinds: list[_TakenBack] = []
        self._newest = self._read(events)

    def find(self, event_id: str) -> int | None:
        """The number of the user's message with this event; ``None`` if there is none."""
        return self._numbers.get(event_id)

    def message(self, number: int) -> EventFacts:
        """The facts of a user's message."""
        return self._said[number]

    def versions(self, number: int) -> list[int]:
        """The messages that follow the same one as this does, with this one, in stored order."""
        return self._after[self._before[number]]

    def last_shown(self, number: int) -> float:
        """A number that is the greater, the later this message was taken back; infinite if it stands."""
        taken_back = self._last_rewinds.get(number)
        return inf if taken_back is None else taken_back.number

    def stands(self, number: int) -> bool:
        """Return True if no rewind took back this message, or a later rewind restored it."""
        return number not in self._last_rewinds

    def rewind_to_restore(self, number: int) -> str | None:
        """The invocation to rewind to, so that a message that was taken back stands again, with what followed it last.

        ``None`` if no rewind can do that.
        """
        return self._last_rewinds[number].invocation_id

    def _read(self, events: Iterable[EventFacts]) -> int:
        """Returns the newest of the user's messages that stands."""
        newest_before: list[int] = []
        first_of: dict[str, int] = {}
        newest = ROOT
        for number, said in enumerate(events):
            newest_before.append(newest)
            first = first_of.setdefault(said.invocation_id, number)
            rewind = said.report(Rewind)
            if rewind is not None:
                target = first_of.get(rewind.invocation_id, number)
                if target < number:
                    self._rewinds.append(_TakenBack(number, newest, said.invocation_id if first == number else None))
                    newest = newest_before[target]
            elif said.is_user_message and not said.is_fragment and said.id not in hidden_events(said.event):
                self._said[number] = said
                self._numbers[said.id] = number
                self._before[number] = newest
                self._after.setdefault(newest, []).append(number)
                newest = number
        return newest

    @cached_property
    def _last_rewinds(self) -> dict[int, _TakenBack]:
        """Number of a message that does not stand -> the last rewind that took it back. Each message is visited
        once."""
        found: dict[int, _TakenBack] = {}
        standing: set[int] = set()
        number = self._newest
        while number != ROOT:
            standing.add(number)
            number = self._before[number]
        for taken_back in reversed(self._rewinds):
            number = taken_back.newest
            while number != ROOT and number not in found and number not in standing:
                found[number] = taken_back
                number = self._before[number]
        return found
