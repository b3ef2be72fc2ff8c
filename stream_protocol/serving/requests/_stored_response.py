"""Provides ``stored_response``, the response to a repeated request."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, Final

from stream_protocol.adk import is_failure, is_user_event
from stream_protocol.serving.base import run_off_loop
from stream_protocol.serving.runs import ending_in_error, prevent_auto_resend
from stream_protocol.session.transcript import EventMetadata
from stream_protocol.stream import iter_sse

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from google.adk.events import Event

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
    memory = service.memory.share(incoming.user_id)
    memory.take(await service.memory.size_of(stored.events))

    def response() -> list[bytes]:
        *events, done = iter_sse(
            stored.events, past=stored.past, message_id=stored.message_id, taken_ids=stored.call_ids, **options
        )
        if stored.is_interrupted:
            return [*ending_in_error(events, INTERRUPTED_TEXT), done]
        if (error_text := _error_text(stored.events)) is not None:
            return [*ending_in_error(events, error_text), done]
        return [*prevent_auto_resend(events, continued=incoming.request.continued_message), done]

    return _iterate(await run_off_loop(response, events=[*stored.past, *stored.events]), memory)


def _error_text(events: Sequence[Event]) -> str | None:
    """Return the error text that the client received at the end of the run. ``None`` if the run did not fail, or if the
    text is not stored. ``events``: the stored response.
    """
    if not events or not is_failure(events[-1]):
        return None
    of_run = takewhile(lambda event: not is_user_event(event), reversed(events))
    return next((text for event in of_run if (text := EventMetadata.of(event).error_text) is not None), None)


async def _iterate(events: list[bytes], memory: ByteShare) -> AsyncIterator[bytes]:
    """Yield the events. Drop each event after it was sent, and release the memory at the end."""
    with memory:
        events.reverse()
        while events:
            yield events.pop()
