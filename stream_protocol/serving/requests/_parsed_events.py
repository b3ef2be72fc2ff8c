"""A response as chunks, for a server that sends them in another form."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

from stream_protocol.wire.client import parse_sse

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from stream_protocol.wire import AnyChunk


async def chunks_of(events: AsyncIterator[bytes]) -> AsyncIterator[AnyChunk]:
    """The chunks of SSE events. Closes the events, if they are a generator, when this is closed."""
    try:
        async for piece in events:
            for chunk in parse_sse(piece):
                yield chunk
    finally:
        if isinstance(events, AsyncGenerator):
            await events.aclose()
