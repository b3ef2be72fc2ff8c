"""Provides ``stored_response``, the response to a repeated request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from stream_protocol.adk import find_task_agents
from stream_protocol.serving.base import run_off_loop
from stream_protocol.serving.runs import ending_in_error, prevent_auto_resend
from stream_protocol.session import count_seen_events
from stream_protocol.session.transcript import stored_error_text
from stream_protocol.stream import hide_task_agents, iter_stored_sse

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from stream_protocol.serving.base import ByteShare
    from stream_protocol.serving.requests._context import ServiceContext
    from stream_protocol.serving.runs import Incoming
    from stream_protocol.session import NothingToRun

INTERRUPTED_TEXT: Final = "Your answer was taken, but what followed from it is missing. Reload the page, or ask again."
"""Error text for a repeated answer to a tool call, if the run that first got the answer has stored no output."""


async def stored_response(service: ServiceContext, incoming: Incoming, stored: NothingToRun) -> AsyncIterator[bytes]:
    """Returns the stored response to a repeated request, as SSE events. Raises ``ChatRequestError`` (429, 503) if the
    response exceeds the memory limit.
    """
    options = service.planner.options_for(incoming.request.id, incoming.overrides.artifact_base)
    message = incoming.request.continued_message
    known = [*stored.past, *stored.events]
    shown = hide_task_agents(find_task_agents(known), options)
    seen = None
    if message is not None:
        seen = await run_off_loop(lambda: count_seen_events(message, stored, shown), events=stored.past)
    memory = service.memory.share(incoming.user_id)
    memory.take(await service.memory.size_of(stored.events if seen is None else known[seen:]))

    def response() -> list[bytes]:
        *events, done = iter_stored_sse(
            stored.events,
            past=stored.past,
            seen=seen,
            message_id=stored.message_id,
            call_ids=stored.call_ids,
            **shown,
        )
        error_text = INTERRUPTED_TEXT if stored.is_interrupted else stored_error_text(stored.events)
        if error_text is not None:
            events = ending_in_error(events, error_text)
        return [*prevent_auto_resend(events, continued=message), done]

    return _iterate(await run_off_loop(response, events=known), memory)


async def _iterate(events: list[bytes], memory: ByteShare) -> AsyncIterator[bytes]:
    """Yield the events. Drop each event after it was sent, and release the memory at the end."""
    with memory:
        events.reverse()
        while events:
            yield events.pop()
