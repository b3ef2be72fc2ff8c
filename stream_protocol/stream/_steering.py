"""Write a steering message, as ``steering-message`` or, for clients that do not accept it, as ``data-adk-steering``."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from stream_protocol.adk import Blob, File, Part, Text
from stream_protocol.stream._media import UNKNOWN_MEDIA_TYPE, DataUrl
from stream_protocol.stream._options import Settings
from stream_protocol.wire import Sink

STEERING_MESSAGE: Final = "steering-message"


def write_steering_message(sink: Sink[Any], message_id: str, parts: Iterable[Part], settings: Settings) -> None:
    """Write the texts and files of a steering message."""
    ui_parts = [*_ui_parts(parts)]
    if settings.client.accepts(STEERING_MESSAGE):
        sink.steering_message(message_id, ui_parts)
    else:
        sink.data("adk-steering", {"id": message_id, "parts": ui_parts}, data_id=message_id)


def _ui_parts(parts: Iterable[Part]) -> Iterator[dict[str, Any]]:
    """Yield the parts in the form of a user message. A file with bytes is a data URL."""
    for part in parts:
        match part:
            case Text(text=text) if text:
                yield {"type": "text", "text": text}
            case File(content=Blob() as blob):
                yield _ui_file(blob.media_type, str(DataUrl(blob.media_type, blob.data)), blob.name)
            case File(reference=reference) if reference is not None:
                yield _ui_file(reference.media_type, reference.uri, reference.name)


def _ui_file(media_type: str | None, url: str, name: str | None) -> dict[str, Any]:
    file = {"type": "file", "mediaType": media_type or UNKNOWN_MEDIA_TYPE, "url": url}
    return {**file, "filename": name} if name else file
