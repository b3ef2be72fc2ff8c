"""Finds the part of a response that the client had received when the worker of the run died."""

from __future__ import annotations

from typing import TYPE_CHECKING

from google.adk.events import Event
from google.genai import types

from stream_protocol.session import unshown_events
from stream_protocol.session.transcript import EventMetadata, update_metadata
from stream_protocol.wire import encode_sse
from stream_protocol.wire.client import parse_sse

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from stream_protocol.serving.engine._engine import ToldEnd
    from stream_protocol.wire import AnyChunk


def unfinished_texts(
    logs: Iterable[Sequence[bytes]], again: Iterable[str], *, author: str, invocation_id: str
) -> list[Event]:
    """Return one event for each dead worker, with the last text that the worker sent. Omit texts that the new response
    contains.

    ``logs``: the SSE events of each dead worker, the oldest first. ``again``: the texts of the new response so far.
    """
    found, response = list[Event](), [*again]
    for text in (_unfinished_text(texts_in(log), response) for log in logs):
        if text:
            content = types.Content(role="model", parts=[types.Part(text=text)])
            event = Event(author=author, invocation_id=invocation_id, content=content)
            update_metadata(event, unfinished=True)
            found.append(event)
            response.append(text)
    return found


def _unfinished_text(shown: Sequence[str], again: Iterable[str]) -> str:
    """Return the last text in ``shown``; an empty string if the new response contains this text.

    ``shown``: the texts that the client has received. ``again``: the texts of the new response. Each text in ``again``
    counts as the repeat of only one text in ``shown``, because two replies often begin with the same words.
    """
    left = [*again]
    for text in shown[:-1]:
        _take_repeated(text, left)
    return "" if not shown or _take_repeated(shown[-1], left) else shown[-1]


def _take_repeated(text: str, left: list[str]) -> bool:
    """Remove ``text`` from the list ``left``. If ``text`` is missing, remove one text that begins with ``text``. Return
    False if ``left`` has neither.
    """
    repeated = text if text in left else next((whole for whole in left if whole.startswith(text)), None)
    if repeated is None:
        return False
    left.remove(repeated)
    return True


def as_log(text: str) -> list[bytes]:
    """Return SSE events that contain ``text``. These events replace the deleted events of a run."""
    if not text:
        return []
    chunks: list[AnyChunk] = [
        {"type": "text-start", "id": "unfinished"},
        {"type": "text-delta", "id": "unfinished", "delta": text},
    ]
    return [*map(encode_sse, chunks)]


def shown_before(end: ToldEnd | None, stored: Sequence[Event]) -> list[Event]:
    """Return the stored events that the client received before the end of the run. If this is unknown, return all
    stored events.
    """
    if end is None or end.shown is None:
        return [*stored]
    unshown = unshown_events(stored, end.shown)
    return [event for event in stored if event not in unshown]


def is_partial_text(event: Event) -> bool:
    return EventMetadata.of(event).unfinished


def texts_in(events: Sequence[bytes]) -> list[str]:
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
