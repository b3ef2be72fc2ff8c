"""Where one assistant message ends and the next begins.

An assistant message is everything that the agent said between two stored user *text* messages: a *exchange*. Answers to
the agent's own calls (approvals, client tools, input) do not end it. Its id is the invocation's id, or, when the agent
answers a later user text in an old invocation (task mode), that id with ``.2``, ``.3``… behind it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from google.adk.events import Event


@dataclass(frozen=True, kw_only=True)
class Exchange:
    """What the user said, and everything that the agent said to it."""

    message_id: str
    """The id of the assistant message."""
    events: tuple[Event, ...]
    """All of it, in order. The user's text comes first, unless the agent spoke before the user ever did."""

    @property
    def user_text(self) -> Event | None:
        """What the user said."""
        return self.events[0] if is_user_message(self.events[0]) else None

    @property
    def is_answered(self) -> bool:
        """Whether the agent took part at all."""
        return any(event.author != "user" or event.node_info.path for event in self.events)

    def responses(self) -> Iterator[tuple[Event, ...]]:
        """The events, cut where the user took part: what lies between was one run and one response.

        One request can give several answers, in events of their own.
        """
        users = [is_user_event(event) for event in self.events]
        cuts = [index for index, users_own in enumerate(users) if index == 0 or (users_own and not users[index - 1])]
        for begin, end in pairwise([*cuts, len(self.events)]):
            yield self.events[begin:end]


def exchanges(events: Sequence[Event]) -> list[Exchange]:
    """Live events, cut into the messages that they are."""
    texts: Counter[str] = Counter()
    cuts = [index for index, event in enumerate(events) if index == 0 or is_user_message(event)]
    found = []
    for begin, end in pairwise([*cuts, len(events)]):
        invocation_id = events[begin].invocation_id
        texts[invocation_id] += is_user_message(events[begin])
        found.append(
            Exchange(message_id=message_id(invocation_id, texts[invocation_id]), events=tuple(events[begin:end]))
        )
    return found


def is_user_event(event: Event) -> bool:
    """Whether the user made this event. A task agent's result is authored ``user``, too, but by a node."""
    return event.author == "user" and not event.node_info.path


def is_user_message(event: Event) -> bool:
    """Whether this event is something that the user said, as opposed to an answer to one of the agent's calls."""
    if event.author != "user" or event.content is None or not event.content.parts:
        return False
    return not any(part.function_response for part in event.content.parts)


def is_conversation_event(event: Event) -> bool:
    """Whether a client sees such an event. Others are only stored: compactions, which change what the model is shown,
    not what was said, and events of the user's without content, such as rewinds."""
    if event.actions.compaction is not None:
        return False
    return event.author != "user" or bool(event.content and event.content.parts)


def conversation_events(events: Sequence[Event]) -> list[Event]:
    """The events that count: those that are shown, without what a rewind took back."""
    kept: list[Event] = []
    for event in events:
        target = event.actions.rewind_before_invocation_id
        if target is None:
            kept += [event] if is_conversation_event(event) else []
        else:
            first = next((i for i, earlier in enumerate(kept) if earlier.invocation_id == target), len(kept))
            del kept[first:]
    return kept


def current_exchange(events: Sequence[Event]) -> list[Event]:
    """The last user text and everything behind it, of live events; empty if the user never said anything."""
    last = next((index for index in reversed(range(len(events))) if is_user_message(events[index])), len(events))
    return list(events[last:])


def newest_message_id(events: Iterable[Event], invocation_id: str) -> str:
    """The id of the newest assistant message of an invocation, by the user texts that it has among live events."""
    return message_id(
        invocation_id, sum(event.invocation_id == invocation_id for event in events if is_user_message(event))
    )


def message_id(invocation_id: str, ordinal: int) -> str:
    """The id of the ``ordinal``-th assistant message (from 1) of an invocation."""
    return invocation_id if ordinal <= 1 else f"{invocation_id}.{ordinal}"
