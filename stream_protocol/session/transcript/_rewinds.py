"""Finds the events that the rewinds of a conversation remove.

A rewind removes the first event of the invocation that it names and all later events, including earlier rewinds. ADK
applies it in this way for the model's prompt.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from stream_protocol.adk import Rewind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stream_protocol.adk import EventFacts


class AppliedRewind(NamedTuple):
    """A rewind that removes events."""

    removed: range
    """The numbers of the removed events. The event of the rewind itself comes next."""
    invocation_id: str | None
    """The invocation that a later rewind names to undo this rewind; ``None`` if other events share it."""


class Rewinds:
    """The rewinds of a conversation. Event numbers start at 0."""

    def __init__(self) -> None:
        self._count = 0
        self._first_numbers: dict[str, int] = {}
        """Invocation id -> the number of its first event."""
        self._applied: list[AppliedRewind] = []

    def add(self, facts: EventFacts) -> AppliedRewind | None:
        """Read the next event. Return the rewind if the event is a rewind and removes events."""
        number, self._count = self._count, self._count + 1
        first_of_own = self._first_numbers.setdefault(facts.invocation_id, number)
        if (rewind := facts.report(Rewind)) is None:
            return None
        removed = range(self._first_numbers.get(rewind.invocation_id, number), number)
        if not removed:
            return None
        self._applied.append(AppliedRewind(removed, facts.invocation_id if first_of_own == number else None))
        return self._applied[-1]

    @property
    def removed(self) -> tuple[range, ...]:
        """The numbers of the events that are removed after all rewinds, in order and without overlap."""
        return tuple(reversed([*self._removed()]))

    def _removed(self) -> Iterator[range]:
        """Yield the ranges, the last range first. A removed rewind no longer counts."""
        end = self._count
        for removed, _ in reversed(self._applied):
            if removed.stop < end:
                yield removed
                end = removed.start
