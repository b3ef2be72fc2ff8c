"""Provides ``chunks_of``, for servers that do not use SSE."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

from stream_protocol.wire.client import parse_sse

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from stream_protocol.wire import AnyChunk


async def chunks_of(events: AsyncIterator[bytes]) -> AsyncIterator[AnyChunk]:
    """Yield the chunks in SSE events. Closing this generator also closes ``events``."""
    try:
        async for piece in events:
            for chunk in parse_sse(piece):
                yield chunk
    finally:
        if isinstance(events, AsyncGenerator):
            await events.aclose()
