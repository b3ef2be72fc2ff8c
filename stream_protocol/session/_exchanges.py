"""Where one assistant message ends and the next begins in a stored session.

An *exchange* is one message of the user's and everything that the agent said to it: one assistant message. Answers to
the agent's own calls (approvals, client tools, input) do not begin a new exchange. A *turn* is smaller: one request
and what the agent says to it. So an exchange has a turn for the user's message, and one for each request with answers.

The assistant message has the id of its invocation. Where the agent answers a later user message in an old invocation
(task mode), ``.2``, ``.3``… follows.
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
    """In order, never empty. The user's message comes first, unless the agent spoke before the user ever did."""

    @property
    def user_event(self) -> Event | None:
        """The event with what the user said."""
        return self.events[0] if is_user_message(self.events[0]) else None

    @property
    def has_agent_events(self) -> bool:
        """Whether the agent took part at all."""
        return not all(is_user_event(event) for event in self.events)

    def responses(self) -> Iterator[tuple[Event, ...]]:
        """The events of each run, after the user's events that began it. The client got one response for each run.

        One request can hold several answers, in events of their own.
        """
        by_user = [is_user_event(event) for event in self.events]
        cuts = [index for index, users in enumerate(by_user) if index == 0 or (users and not by_user[index - 1])]
        for begin, end in pairwise([*cuts, len(self.events)]):
            yield self.events[begin:end]


def exchanges(events: Sequence[Event]) -> list[Exchange]:
    """The exchanges of a conversation. ``events``: those of ``conversation_events``."""
    user_messages: Counter[str] = Counter()
    cuts = [index for index, event in enumerate(events) if index == 0 or is_user_message(event)]
    found = []
    for begin, end in pairwise([*cuts, len(events)]):
        invocation_id = events[begin].invocation_id
        user_messages[invocation_id] += is_user_message(events[begin])
        name = message_id(invocation_id, user_messages[invocation_id])
        found.append(Exchange(message_id=name, events=tuple(events[begin:end])))
    return found


def current_exchange(events: Sequence[Event]) -> list[Event]:
    """The events of the newest exchange; empty if the user never said anything. ``events``: as for ``exchanges``."""
    last = next((index for index in reversed(range(len(events))) if is_user_message(events[index])), len(events))
    return list(events[last:])


def is_user_event(event: Event) -> bool:
    """Whether the user made this event. A task agent's result has the author ``user``, too, but comes from a node."""
    return event.author == "user" and not event.node_info.path


def is_user_message(event: Event) -> bool:
    """Whether the event is what the user said, which begins an exchange, and not an answer to one of the agent's
    calls."""
    if event.author != "user" or event.content is None or not event.content.parts:
        return False
    return not any(part.function_response for part in event.content.parts)


def is_conversation_event(event: Event) -> bool:
    """Whether the event is part of the conversation.

    Not part of it are compactions, which change what the model reads and not what was said, and events of the user's
    without content, such as rewinds.
    """
    if event.actions.compaction is not None:
        return False
    return event.author != "user" or bool(event.content and event.content.parts)


def conversation_events(events: Sequence[Event]) -> list[Event]:
    """The events of the conversation as it stands: what a rewind took back is gone."""
    kept: list[Event] = []
    for event in events:
        target = event.actions.rewind_before_invocation_id
        if target is None:
            kept += [event] if is_conversation_event(event) else []
        else:
            first = next((i for i, earlier in enumerate(kept) if earlier.invocation_id == target), len(kept))
            del kept[first:]
    return kept


def newest_message_id(events: Iterable[Event], invocation_id: str) -> str:
    """The id of the newest assistant message of an invocation. ``events``: those of ``conversation_events``."""
    return message_id(
        invocation_id, sum(event.invocation_id == invocation_id for event in events if is_user_message(event))
    )


def message_id(invocation_id: str, number: int) -> str:
    """The id of the assistant message with this number, from 1, in its invocation."""
    return invocation_id if number <= 1 else f"{invocation_id}.{number}"
