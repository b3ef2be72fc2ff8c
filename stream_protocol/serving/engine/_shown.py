"""Functions for the part of a response that the client had received when the worker died."""

from __future__ import annotations

from typing import TYPE_CHECKING

from google.adk.events import Event
from google.genai import types

from stream_protocol.session import unshown_events
from stream_protocol.session.transcript import EventMetadata, update_metadata
from stream_protocol.wire import encode_sse
from stream_protocol.wire.client import parse_sse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stream_protocol.serving.engine._engine import ToldEnd
    from stream_protocol.wire import AnyChunk


def unfinished_text(log: Sequence[bytes], said: Sequence[bytes], *, author: str, invocation_id: str) -> Event | None:
    """Return an event with the last text in the log of a dead worker; ``None`` if the new response contains the text.

    ``log``: the SSE events of the dead worker. ``said``: the SSE events of the new response so far.
    """
    shown, again = _texts(log), _texts(said)
    unfinished = next((text for text in reversed(shown) if not any(whole.startswith(text) for whole in again)), "")
    if not unfinished or unfinished != shown[-1]:
        return None
    content = types.Content(role="model", parts=[types.Part(text=unfinished)])
    event = Event(author=author, invocation_id=invocation_id, content=content)
    update_metadata(event, unfinished=True)
    return event


def as_log(text: str) -> list[bytes]:
    """Return SSE events for a text, as a replacement for a deleted log."""
    if not text:
        return []
    chunks: list[AnyChunk] = [
        {"type": "text-start", "id": "unfinished"},
        {"type": "text-delta", "id": "unfinished", "delta": text},
    ]
    return [*map(encode_sse, chunks)]


def shown_before(end: ToldEnd | None, stored: Sequence[Event]) -> list[Event]:
    """Return the stored events that the client received before the end of the response.

    If it is unknown which events the client received, return all stored events.
    """
    if end is None or end.shown is None:
        return [*stored]
    unshown = unshown_events(stored, end.shown)
    return [event for event in stored if event not in unshown]


def is_partial_text(event: Event) -> bool:
    """Return True if ``unfinished_text`` has created the event."""
    return EventMetadata.of(event).unfinished


def _texts(events: Sequence[bytes]) -> list[str]:
    """Return the texts of a response, in order."""
    texts: list[list[str]] = []
    open_texts: dict[str, list[str]] = {}
    for chunk in parse_sse(events):
        match chunk:
            case {"type": "text-start", "id": str(part)}:
                texts.append(open_texts.setdefault(part, []))
            case {"type": "text-delta", "id": str(part), "delta": str(delta)}:
                open_texts[part].append(delta)
            case {"type": "text-end", "id": str(part)}:
                open_texts.pop(part)
    return ["".join(text) for text in texts if any(text)]
