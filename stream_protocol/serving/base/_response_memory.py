"""Provides ``ResponseMemory``: the memory limit for responses with stored content."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel

from stream_protocol.serving.base._limits import response_budget
from stream_protocol.serving.base._off_loop import run_off_loop

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from google.adk.events import Event

    from stream_protocol.serving.base._byte_budget import ByteShare


class ResponseMemory:
    """Counts the bytes of histories, artifacts and finished replies while they are sent.

    ``limit``: the maximum for all responses together, in bytes; ``None`` for no limit. ``with_state``: True if
    responses contain the session's state.
    """

    def __init__(self, limit: int | None, *, with_state: bool) -> None:
        self._limit = limit
        self._with_state = with_state
        self._budget = response_budget(limit)

    def share(self, user_id: str) -> ByteShare:
        return self._budget.share(user_id)

    async def size_of(self, events: Sequence[Event]) -> int:
        """Returns the estimated size, in bytes, of a response with the stored ``events``. Returns 0 if there is no
        limit.
        """
        if (limit := self._limit) is None:
            return 0
        return await run_off_loop(
            lambda: held_size(events, with_state=self._with_state, enough=limit + 1), events=events
        )


EVENT_BYTES: Final = 1024
"""Estimated bytes of one event without its content."""

MEMBER_BYTES: Final = 100
"""Estimated bytes of a value or a key, without the characters of a text."""


def held_size(events: Iterable[Event], *, with_state: bool, enough: int) -> int:
    """Return the estimated size, in bytes, of the messages that are created from the events.

    A file counts as Base64 text. A text counts with its size in Python's memory. For example, each character of a text
    with an emoji counts four bytes. ``with_state``: True if the messages contain changes of the state (``send_state``).
    ``enough``: the size at which counting stops.
    """
    size = 0
    for event in events:
        size += EVENT_BYTES
        actions = vars(event.actions)
        left: list[Any] = [value for name, value in actions.items() if value and (with_state or name != "state_delta")]
        left += [value for name, value in vars(event).items() if value and name != "actions"]
        while left and size < enough:
            match left.pop():
                case str() as text:
                    size += sys.getsizeof(text)
                case bytes() | bytearray() as file:
                    size += len(file) * 4 // 3
                case dict() as members:
                    size += MEMBER_BYTES * 2 * len(members)
                    left += members
                    left += members.values()
                case list() | tuple() | set() as members:
                    size += MEMBER_BYTES * len(members)
                    left += members
                case BaseModel() as model:
                    size += MEMBER_BYTES * 4  # the message's part also has metadata
                    left += [value for value in vars(model).values() if value]
    return size
