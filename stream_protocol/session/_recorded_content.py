"""Converts the texts and files of a user message to JSON for the stored record of a run. Another worker can read it.

The JSON has no file bytes. It identifies the artifact or the message part that has them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from stream_protocol.session._files import FilePlace, InlineFile, LinkedFile, SavedFile, read_file
from stream_protocol.session._user_message import stored_parts, stored_texts_and_files
from stream_protocol.wire import ChatRequestError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from google.adk.events import Event

    from stream_protocol.session._files import TextOrFile
    from stream_protocol.wire import FilePart, UIMessage


def record_content(texts_and_files: Iterable[TextOrFile]) -> list[dict[str, Any]]:
    """Return the texts and files of a message as JSON. A file is represented by the place of its bytes."""
    return [_recorded(item) for item in texts_and_files]


def _recorded(text_or_file: TextOrFile) -> dict[str, Any]:
    match text_or_file:
        case str():
            return {"text": text_or_file}
        case LinkedFile():
            return {"url": text_or_file.url, "mediaType": text_or_file.media_type, "name": text_or_file.name}
        case SavedFile() | InlineFile(origin=SavedFile()):
            file = text_or_file if isinstance(text_or_file, SavedFile) else cast("SavedFile", text_or_file.origin)
            return {
                "artifact": file.artifact,
                "version": file.version,
                "line": file.line,
                "mediaType": file.media_type,
                "name": file.name,
            }
        case InlineFile(origin=FilePlace() as place):
            return {"part": place.index, "event": place.event_id}
        case InlineFile():
            raise ValueError("The place of a file is not known.")


def content_from_record(
    recorded: Iterable[dict[str, Any]], message: UIMessage, events: Sequence[Event]
) -> list[TextOrFile]:
    """Return the texts and files from JSON that ``record_content`` made. The caller must load saved artifacts.

    ``message``: the message in the request. ``events``: all events of the session, including rewound events. Raises
    ``ChatRequestError`` if a file does not exist any more.
    """
    return [_from_record(item, message, events) for item in recorded]


def _from_record(item: dict[str, Any], message: UIMessage, events: Sequence[Event]) -> TextOrFile:
    match item:
        case {"text": str(text)}:
            return text
        case {"url": str(url), "mediaType": str(media_type), "name": name}:
            return LinkedFile(media_type=media_type, url=url, name=name)
        case {"artifact": str(artifact), "version": int(version), "line": str(line), "mediaType": str(media_type)}:
            return SavedFile(
                line=line, artifact=artifact, version=version, media_type=media_type, name=item.get("name")
            )
        case {"part": int(index), "event": None}:
            return read_file(cast("FilePart", message["parts"][index]))
        case {"part": int(index), "event": str(event_id)}:
            return _stored_file(events, event_id, index)
    raise ChatRequestError("The message has a part that this server cannot read.")


def _stored_file(events: Sequence[Event], event_id: str, index: int) -> TextOrFile:
    event = next((event for event in events if event.id == event_id), None)
    found = stored_parts(event, [event])[index : index + 1] if event is not None else []
    for file in stored_texts_and_files(found, event_id):
        return file
    raise ChatRequestError("A file of the message is not there any more.", status=409)
