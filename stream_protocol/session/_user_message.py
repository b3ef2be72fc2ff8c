"""A stored user event -> the message that the user sent.

The page still has the files that ADK saved as artifacts; history has a link to each artifact.
"""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING, Any, cast

from stream_protocol.convert import UNKNOWN_MEDIA_TYPE
from stream_protocol.session._files import SavedFile
from stream_protocol.session._metadata import client_message_id
from stream_protocol.session._saved_files import stored_parts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from google.adk.events import Event
    from google.genai import types

    from stream_protocol.convert import ArtifactUrl
    from stream_protocol.wire import UIMessage


def user_message(event: Event, exchange: Iterable[Event] = (), artifact_url: ArtifactUrl | None = None) -> UIMessage:
    """The message of a user event, with the id that its client gave it, or else its own.

    ``exchange``: the events up to the next user text, which tell what was saved as an artifact.
    """
    parts = [_user_part(part, artifact_url) for part in stored_parts(event, exchange)]
    message = {"id": client_message_id(event) or event.id, "role": "user", "parts": [part for part in parts if part]}
    return cast("UIMessage", message)


def _user_part(part: types.Part | SavedFile, artifact_url: ArtifactUrl | None) -> dict[str, Any] | None:
    if isinstance(part, SavedFile):
        url = artifact_url(part.artifact, part.version) if artifact_url is not None else None
        return _text(part.line) if url is None else _file(part.media_type, url, part.name)
    if part.text is not None:
        return _text(part.text)
    if (blob := part.inline_data) is not None:
        media_type = blob.mime_type or UNKNOWN_MEDIA_TYPE
        return _file(media_type, f"data:{media_type};base64,{b64encode(blob.data or b'').decode()}", blob.display_name)
    if (link := part.file_data) is not None:
        return _file(link.mime_type or UNKNOWN_MEDIA_TYPE, link.file_uri or "", link.display_name)
    return None


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _file(media_type: str, url: str, name: str | None) -> dict[str, Any]:
    return {"type": "file", "mediaType": media_type, "url": url, **({"filename": name} if name else {})}
