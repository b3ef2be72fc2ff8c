"""How much of a held response is released at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from stream_protocol.wire import AnyChunk, ChatRequestError

STEP_KEYS: Final = frozenset({"count", "to", "all", "wait"})

WAIT: Final = 10.0
"""Seconds that a step waits for the request that it is about: a test that clicks and steps may be faster than its
page."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """``count`` chunks; or all up to the next one of type ``to``, that one too; or, of neither, all that is left."""

    count: int | None
    to: str | None
    wait: float

    def count_of(self, left: Sequence[AnyChunk]) -> int:
        """How many of these chunks it releases. Raises ``ChatRequestError`` where none is of the type."""
        if self.to is None:
            return len(left) if self.count is None else self.count
        types = [chunk["type"] for chunk in left]
        if self.to not in types:
            held = ", ".join(dict.fromkeys(types))
            raise ChatRequestError(f"No {self.to} is held. What is: {held}.", status=409)
        return types.index(self.to) + 1


def parse_step(given: Mapping[str, Any]) -> Step:
    """The step that a query or a JSON object describes; one chunk if it says nothing. Raises ``ChatRequestError``."""
    count, to, wait = given.get("count"), given.get("to"), given.get("wait", WAIT)
    everything = given.get("all", False) in (True, "true", "1", "")
    if sum((count is not None, to is not None, everything)) > 1:
        raise ChatRequestError("A step has one of count, to and all.", status=422)
    try:
        number = None if everything else int(1 if count is None else count)
        step = Step(count=number, to=to, wait=float(wait))
    except (TypeError, ValueError):
        raise ChatRequestError("count and wait must be numbers.", status=422) from None
    if (number is not None and number < 1) or not 0 <= step.wait <= 600 or not isinstance(to, str | None):
        raise ChatRequestError("count must be at least 1, wait between 0 and 600, to a chunk's type.", status=422)
    return step
