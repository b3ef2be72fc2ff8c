"""Which invocations begin a message though the user's event is missing.

An event can be beside the conversation: a state update by a monitor, between a call and its result. It has an
invocation id of its own, or none, and nothing says so but the events around it. So they are read twice, as for
omissions: first to note the invocations that are turns, then to read the conversation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from stream_protocol.adk import is_user_event

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from google.adk.events import Event


@dataclass(slots=True)
class _Invocation:
    last: int
    """The number of its newest event."""
    by_agent: bool | None = None
    """Whether an agent, and not the user, showed something first; ``None`` until somebody did."""


class BeginningFinder:
    """Finds these invocations while the events are read."""

    def __init__(self) -> None:
        self._invocations: dict[str, _Invocation] = {}
        """In the order in which they began."""

    def watch(self, events: Iterable[Event]) -> Iterator[Event]:
        """Yields the same events."""
        for number, event in enumerate(events):
            if event.invocation_id:
                invocation = self._invocations.setdefault(event.invocation_id, _Invocation(number))
                invocation.last = number
                if invocation.by_agent is None and shows_something(event):
                    invocation.by_agent = not is_user_event(event)
            yield event

    def found(self) -> frozenset[str]:
        """The ids of the invocations in which an agent spoke first, without those that lie within another one."""
        return frozenset(self._found())

    def _found(self) -> Iterator[str]:
        end = -1
        for invocation_id, invocation in self._invocations.items():
            if invocation.by_agent is None:
                continue  # it says nothing, so nothing lies within it
            if invocation.by_agent and invocation.last > end:
                yield invocation_id
            end = max(end, invocation.last)


def shows_something(event: Event) -> bool:
    """Whether the event says, does or reports something, and does not only keep state, artifacts or usage."""
    return bool(
        (event.content is not None and event.content.parts)
        or event.output is not None
        or event.error_code
        or event.error_message
        or event.output_transcription
    )
