"""``RunReader``: the events of a response, as one reader gets them."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import Any

from stream_protocol.serving.base import ByteShare


class RunReader(AsyncGenerator[bytes, None]):
    """The SSE events of a response, one or more in a piece. Closing it early counts as a disconnect."""

    def __init__(
        self, events: AsyncGenerator[bytes, None], cut_off: asyncio.Event, kept_bytes: Callable[[], int]
    ) -> None:
        self._events = events
        self.cut_off = cut_off
        """Set when the reader is cut off: it gets nothing more. Close its connection without ending the response, so
        that the client knows that there is more."""
        self.kept_bytes = kept_bytes
        """Returns the bytes of a response that has ended, which are in memory for its readers alone; 0 before its end.
        """
        self._memory: ByteShare | None = None

    @property
    def memory(self) -> ByteShare | None:
        """Counts these bytes, if the client reads on for long. If there is no room for them, it is cut off."""
        return self._memory

    def count_in(self, memory: ByteShare) -> None:
        """Counts the bytes in this share."""
        self._memory = memory

    def __aiter__(self) -> AsyncIterator[bytes]:
        """The pieces, each without a detour through this object."""
        return self._events

    async def asend(self, value: None) -> bytes:
        """Returns the next events."""
        return await self._events.asend(value)

    async def athrow(self, *error: Any) -> bytes:
        """Raises this error in the reader, which ends it."""
        return await self._events.athrow(*error)

    async def aclose(self) -> None:
        """Stops reading."""
        await self._events.aclose()
