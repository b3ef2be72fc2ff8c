"""Where one assistant message ends and the next begins.

An assistant message is everything that the agent said between two stored user *text* messages: a *stretch*. Answers to
the agent's own calls (approvals, client tools, input) do not end it. Its id is the invocation's id, or, when the agent
answers a later user text in an old invocation (task mode), that id with ``.2``, ``.3``… behind it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from google.adk.events import Event


def is_user_text(event: Event) -> bool:
    """Whether this event is something that the user said, as opposed to an answer to one of the agent's calls."""
    if event.author != "user" or event.content is None or not event.content.parts:
        return False
    return not any(part.function_response for part in event.content.parts)


def live_events(events: Sequence[Event]) -> list[Event]:
    """The events that count: without what a rewind took back, and without the rewinds themselves."""
    kept: list[Event] = []
    for event in events:
        target = event.actions.rewind_before_invocation_id
        if target is None:
            kept.append(event)
        else:
            first = next((i for i, earlier in enumerate(kept) if earlier.invocation_id == target), len(kept))
            del kept[first:]
    return kept


def current_stretch(events: Sequence[Event]) -> list[Event]:
    """The last user text and everything behind it, of live events; empty if the user never said anything."""
    last = next((index for index in reversed(range(len(events))) if is_user_text(events[index])), len(events))
    return list(events[last:])


def stretch_id(events: Iterable[Event], invocation_id: str) -> str:
    """The id of the newest assistant message of an invocation, by the user texts that it has among live events."""
    return message_id(
        invocation_id, sum(event.invocation_id == invocation_id for event in events if is_user_text(event))
    )


def message_id(invocation_id: str, ordinal: int) -> str:
    """The id of the ``ordinal``-th assistant message (from 1) of an invocation."""
    return invocation_id if ordinal <= 1 else f"{invocation_id}.{ordinal}"
