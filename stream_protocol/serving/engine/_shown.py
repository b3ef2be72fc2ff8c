"""Finds the part of a response that the client received before the worker of the run died."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from google.adk.events import Event
from google.genai import types

from stream_protocol.session import unshown_events
from stream_protocol.session.transcript import EventMetadata, update_metadata
from stream_protocol.wire import encode_sse
from stream_protocol.wire.client import parse_sse

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from stream_protocol.serving.engine._engine import ToldEnd
    from stream_protocol.wire import AnyChunk

_END_TYPES: Final = frozenset(
    {"text-end", "reasoning-end", "tool-input-error", "tool-output-error"}
    | {"finish-step", "message-metadata", "abort", "error", "finish"}
)
"""The types of the chunks that end an interrupted response, with its unfinished texts and tool calls."""


@dataclass
class _ShownText:
    """A text that the client has received. ``is_whole``: the response has continued after the end of the text."""

    author: str | None
    pieces: list[str] = field(default_factory=list)
    is_whole: bool = False

    @property
    def text(self) -> str:
        return "".join(self.pieces)

    def complete(self) -> None:
        """Set ``is_whole``."""
        self.is_whole = True


def unfinished_texts(
    logs: Iterable[Sequence[bytes]], again: Iterable[str], *, author: str, invocation_id: str
) -> list[Event]:
    """Return events with the texts that dead workers sent and did not complete. If agents ran in parallel, each can
    have such a text. Texts that the new response contains are omitted.

    ``logs``: the SSE events of each dead worker, the oldest first. ``again``: the texts of the new response.
    ``author``: the author of a text if the SSE events do not name an author.
    """
    found, response = list[Event](), [*again]
    for log in logs:
        for shown in _unfinished(_shown_texts(log), response):
            content = types.Content(role="model", parts=[types.Part(text=shown.text)])
            event = Event(author=shown.author or author, invocation_id=invocation_id, content=content)
            update_metadata(event, unfinished=True)
            found.append(event)
            response.append(shown.text)
    return found


def _unfinished(shown: Sequence[_ShownText], again: Iterable[str]) -> list[_ShownText]:
    """Return the incomplete texts in ``shown``, and its last text. Texts that the new response contains are omitted.

    ``shown``: the texts that the client has received. ``again``: the texts of the new response. Each text in ``again``
    is matched with only one text in ``shown``, because two replies often begin with the same words.
    """
    left, last = [*again], shown[-1:]
    for whole in shown[:-1]:
        if whole.is_whole:
            _take_repeated(whole.text, left)
    candidates = [*(text for text in shown[:-1] if not text.is_whole), *last]
    return [text for text in candidates if not _take_repeated(text.text, left)]


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
    """Return SSE events that contain ``text``, as a replacement for the deleted SSE events of a run."""
    if not text:
        return []
    chunks: list[AnyChunk] = [
        {"type": "text-start", "id": "unfinished"},
        {"type": "text-delta", "id": "unfinished", "delta": text},
    ]
    return [*map(encode_sse, chunks)]


def shown_before(end: ToldEnd | None, stored: Sequence[Event]) -> list[Event]:
    """Return those events in ``stored`` that the client had received when the run ended. If this is unknown, return all
    of them.
    """
    if end is None or end.shown is None:
        return [*stored]
    unshown = unshown_events(stored, end.shown)
    return [event for event in stored if event not in unshown]


def is_partial_text(event: Event) -> bool:
    return EventMetadata.of(event).unfinished


def texts_in(events: Sequence[bytes]) -> list[str]:
    return [shown.text for shown in _shown_texts(events)]


def _shown_texts(events: Sequence[bytes]) -> list[_ShownText]:
    """Return the texts in the SSE events of a response. Omit empty texts."""
    texts, open_texts, ended = list[_ShownText](), dict[str, _ShownText](), list[_ShownText]()
    for chunk in parse_sse(events):
        match chunk:
            case {"type": "text-start", "id": str(part)}:
                texts.append(open_texts.setdefault(part, _ShownText(_author(chunk))))
            case {"type": "text-delta", "id": str(part), "delta": str(delta)}:
                open_texts[part].pieces.append(delta)
            case {"type": "text-end", "id": str(part)}:
                ended.append(open_texts.pop(part))
        if chunk["type"] not in _END_TYPES:
            for text in ended:
                text.complete()
            ended.clear()
    return [shown for shown in texts if any(shown.pieces)]


def _author(text_start: Mapping[str, Any]) -> str | None:
    match text_start:
        case {"providerMetadata": {"adk": {"author": str(author)}}}:
            return author
    return None
