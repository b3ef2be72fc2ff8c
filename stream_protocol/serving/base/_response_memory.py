"""``ResponseMemory``: the memory of stored content that is being sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream_protocol.serving.base._held_size import held_size
from stream_protocol.serving.base._limits import response_budget
from stream_protocol.serving.base._long_work import long_work

if TYPE_CHECKING:
    from collections.abc import Sequence

    from google.adk.events import Event

    from stream_protocol.serving.base._byte_budget import ByteShare


class ResponseMemory:
    """Counts the memory of histories, artifacts and stored responses, up to ``limit`` bytes; ``None``: no limit.

    ``with_state``: responses contain the session's state.
    """

    def __init__(self, limit: int | None, *, with_state: bool) -> None:
        self._limit = limit
        self._with_state = with_state
        self._budget = response_budget(limit)

    def share(self, user_id: str) -> ByteShare:
        """Returns an empty share of the memory, for a response to this user."""
        return self._budget.share(user_id)

    async def size_of(self, events: Sequence[Event]) -> int:
        """Returns the bytes that these stored events take in a response; 0 if there is no limit."""
        if (limit := self._limit) is None:
            return 0
        return await long_work(lambda: held_size(events, with_state=self._with_state, enough=limit + 1), events=events)
