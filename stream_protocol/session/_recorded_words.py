"""The texts and files of a message as a record of its run holds them, so that another worker can read them again.

A record never holds the bytes of a file. It names the place where they can be read: an artifact and its version, or the
part of a message.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from stream_protocol.session._files import FilePlace, InlineFile, LinkedFile, SavedFile, read_file
from stream_protocol.session._user_message import stored_parts, stored_texts_and_files
from stream_protocol.wire import ChatRequestError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from google.adk.events import Event

    from stream_protocol.session._files import TextOrFile
    from stream_protocol.wire import FilePart, UIMessage


def recorded_words(said: Iterable[TextOrFile]) -> list[dict[str, Any]]:
    """Return the texts and files of a message as JSON, each file by its place."""
    return [_recorded(each) for each in said]


def _recorded(said: TextOrFile) -> dict[str, Any]:
    match said:
        case str():
            return {"text": said}
        case LinkedFile():
            return {"url": said.url, "mediaType": said.media_type, "name": said.name}
        case SavedFile() | InlineFile(origin=SavedFile()):
            file = said if isinstance(said, SavedFile) else cast("SavedFile", said.origin)
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


def words_from_record(
    recorded: Iterable[dict[str, Any]], message: UIMessage, events: Sequence[Event]
) -> list[TextOrFile]:
    """Return what ``recorded_words`` was given. A saved file is an artifact again, which the caller loads.

    ``message``: that of the request. ``events``: those of the session, also the ones that were taken back.
    Raises ``ChatRequestError`` if a file is not there any more.
    """
    return [*_words_from_record(recorded, message, events)]


def _words_from_record(
    recorded: Iterable[dict[str, Any]], message: UIMessage, events: Sequence[Event]
) -> Iterator[TextOrFile]:
    for each in recorded:
        match each:
            case {"text": str(text)}:
                yield text
            case {"url": str(url), "mediaType": str(media_type), "name": name}:
                yield LinkedFile(media_type=media_type, url=url, name=name)
            case {"artifact": str(artifact), "version": int(version), "line": str(line), "mediaType": str(media_type)}:
                yield SavedFile(
                    line=line, artifact=artifact, version=version, media_type=media_type, name=each.get("name")
                )
            case {"part": int(index), "event": None}:
                yield read_file(cast("FilePart", message["parts"][index]))
            case {"part": int(index), "event": str(event_id)}:
                yield _stored_file(events, event_id, index)
            case _:
                raise ChatRequestError("The message has a part that this server cannot read.")


def _stored_file(events: Sequence[Event], event_id: str, index: int) -> TextOrFile:
    event = next((event for event in events if event.id == event_id), None)
    found = stored_parts(event, [event])[index : index + 1] if event is not None else []
    for file in stored_texts_and_files(found, event_id):
        return file
    raise ChatRequestError("A file of the message is not there any more.", status=409)
