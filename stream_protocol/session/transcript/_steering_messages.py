"""The messages that the user sent while the agent worked. Some of them wait for a model call."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from stream_protocol.adk import Rewind
from stream_protocol.session.transcript._metadata import AcceptedMessage, kept_steering, steering_state

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from stream_protocol.adk import EventFacts


class SteeringMessages:
    """The steering messages of a session: user messages that a run has accepted while it worked.

    ``stored``: all events of the session. ``current``: the events that no rewind has removed. A rewind keeps the
    steering messages that the event directly before it lists. These messages wait for a model call again.
    """

    def __init__(self, stored: Sequence[EventFacts], current: Iterable[EventFacts]) -> None:
        self.accepted: dict[str, AcceptedMessage] = {}
        """Id -> steering message, in the order of the session."""
        settled: set[str] = set()
        kept = _kept_by_rewinds(stored)
        for facts in current:
            message, settled_id = steering_state(facts.event)
            for each in (*kept.get(facts.event.id, ()), *([message] if message is not None else ())):
                self.accepted[each.id] = each
                settled.discard(each.id)
            if settled_id is not None:
                settled.add(settled_id)
        self.waiting = tuple(each for each in self.accepted.values() if each.id not in settled)
        """The steering messages that no model call has read and that begin no turn, in the order of the session."""


def _kept_by_rewinds(stored: Sequence[EventFacts]) -> dict[str, list[AcceptedMessage]]:
    """Return the steering messages that rewinds do not remove: event id of a rewind -> messages."""
    ids = {
        facts.event.id: names
        for before, facts in pairwise(stored)
        if facts.reports_a(Rewind) and (names := kept_steering(before.event))
    }
    if not ids:
        return {}
    known = {message.id: message for facts in stored if (message := steering_state(facts.event)[0]) is not None}
    return {rewind: [known[name] for name in names if name in known] for rewind, names in ids.items()}
