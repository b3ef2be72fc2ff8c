"""Responses that begin before the server has accepted the request, so that no client or proxy times out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from typing import TYPE_CHECKING

from stream_protocol.serving.run_logs import RunReader
from stream_protocol.serving.telemetry import count_refusal
from stream_protocol.wire import SSE_DONE, ChatRequestError, SseSink

if TYPE_CHECKING:
    from asyncio import Task
    from collections.abc import Awaitable, Callable


async def refusal_as_events(answer: Callable[[], Awaitable[AsyncIterator[bytes]]]) -> AsyncIterator[bytes]:
    """Return the SSE events of a response. If ``answer`` raises ``ChatRequestError``, return one ``error`` chunk
    instead, because the status was already sent.
    """
    try:
        return await answer()
    except ChatRequestError as refused:
        count_refusal(refused.reason)
        return _error(str(refused))


def deferred_response(answering: Task[AsyncIterator[bytes]]) -> RunReader:
    """Return a reader of the SSE events that the task returns. If the reader is closed, the task continues."""
    cut_off = asyncio.Event()

    def kept_bytes() -> int:
        is_answered = answering.done() and not answering.cancelled() and answering.exception() is None
        events = answering.result() if is_answered else None
        return events.kept_bytes() if isinstance(events, RunReader) else 0

    return RunReader(_events(answering, cut_off), cut_off, kept_bytes)


async def _events(answering: Task[AsyncIterator[bytes]], cut_off: asyncio.Event) -> AsyncGenerator[bytes]:
    events = await asyncio.shield(answering)
    try:
        async for piece in events:
            yield piece
    finally:
        if isinstance(events, AsyncGenerator):
            await events.aclose()
        if isinstance(events, RunReader) and events.cut_off.is_set():
            cut_off.set()


async def _error(text: str) -> AsyncGenerator[bytes]:
    sink = SseSink()
    sink.error(text)
    for event in (*sink.take(), SSE_DONE):
        yield event
