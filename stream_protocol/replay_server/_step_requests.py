"""Requests to release the next chunks of a ``HELD`` response: ``POST /__replay/{chat}/step``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from stream_protocol.wire import AnyChunk, ChatRequestError

STEP_KEYS: Final = frozenset({"count", "to", "all", "wait"})
"""The keys of a request."""

DEFAULT_WAIT: Final = 10.0
"""Seconds. A test may ask for a step before the client has sent its request."""

WAIT_LIMIT: Final = 600.0
"""The longest wait, in seconds."""


@dataclass(frozen=True, kw_only=True)
class StepRequest:
    """Releases ``count`` chunks; or all chunks up to the next of type ``to``, with that one; or all that are left."""

    count: int | None
    to: str | None
    wait: float
    """Seconds to wait for a response in the chat."""

    def count_chunks(self, left: Sequence[AnyChunk]) -> int:
        """The number of remaining chunks that it releases. Raises ``ChatRequestError`` if none has the type ``to``."""
        if self.to is None:
            return len(left) if self.count is None else self.count
        types = [chunk["type"] for chunk in left]
        if self.to not in types:
            held = ", ".join(dict.fromkeys(types))
            raise ChatRequestError(f"No {self.to} is waiting. Waiting: {held}.", status=409)
        return types.index(self.to) + 1


def parse_step(values: Mapping[str, Any]) -> StepRequest:
    """Parses a query or a JSON object. Without ``count``, ``to`` and ``all`` it releases one chunk.

    Raises ``ChatRequestError``.
    """
    count, to, wait = values.get("count"), values.get("to"), values.get("wait", DEFAULT_WAIT)
    release_all = values.get("all", False) in (True, "true", "1", "")
    if sum((count is not None, to is not None, release_all)) > 1:
        raise ChatRequestError("A step has one of count, to and all.", status=422)
    try:
        number = None if release_all else int(1 if count is None else count)
        step = StepRequest(count=number, to=to, wait=float(wait))
    except (TypeError, ValueError):
        raise ChatRequestError("count and wait must be numbers.", status=422) from None
    if (number is not None and number < 1) or not 0 <= step.wait <= WAIT_LIMIT or not isinstance(to, str | None):
        raise ChatRequestError("count must be at least 1, wait between 0 and 600, to a chunk's type.", status=422)
    return step
