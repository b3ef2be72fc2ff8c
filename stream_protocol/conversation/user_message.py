"""A stored user event -> the message that the user sent.

ADK can save the files of a message as artifacts (``SaveFilesAsArtifactsPlugin``, ``save_input_blobs_as_artifacts``). It
then stores, and shows to the model, a line of text in the place of each. The page still has the file; history has a
link to the artifact.
"""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING, Any, cast

from stream_protocol.conversation.metadata import client_message_id, sent_files
from stream_protocol.convert.media import UNKNOWN_MEDIA_TYPE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from google.adk.events import Event
    from google.genai import types

    from stream_protocol.convert.media import ArtifactUrl
    from stream_protocol.wire.messages import UIMessage


def user_message(event: Event, stretch: Iterable[Event] = (), artifact_url: ArtifactUrl | None = None) -> UIMessage:
    """The message of a user event, with the id that its client gave it, or else its own.

    ``stretch``: the events up to the next user text, which tell what was saved as an artifact.
    """
    stored = list((event.content.parts if event.content is not None else None) or ())
    saved = _saved(stretch, event, artifact_url) if artifact_url is not None else {}
    parts = [part for part in _parts(stored, saved) if part is not None]
    return cast("UIMessage", {"id": client_message_id(event) or event.id, "role": "user", "parts": parts})


def _saved(stretch: Iterable[Event], event: Event, artifact_url: ArtifactUrl) -> dict[int, dict[str, Any]]:
    """Place in the message -> the file that came there, as a link. The plugin tells names and versions; the run config
    does not, which names a file after its invocation and place."""
    told: dict[str, int] = {}
    for later in stretch:
        told = {**later.actions.artifact_delta, **told}
    saved = {}
    for place, file in enumerate(sent_files(event)):
        if file is not None:
            name = file.get("filename")
            if name is None or name not in told:
                name = f"artifact_{event.invocation_id}_{place}"
            if (url := artifact_url(name, told.get(name, 0))) is not None:
                saved[place] = _file(file["mediaType"], url, file.get("filename"))
    return saved


def _parts(stored: list[types.Part], saved: dict[int, dict[str, Any]]) -> Iterator[dict[str, Any] | None]:
    """The parts in their places. Where a model can load the artifact, a reference to it follows the line of text."""
    place = 0
    replaced: dict[str, Any] | None = None
    for part in stored:
        if replaced is not None and part.file_data is not None and part.file_data.display_name is not None:
            replaced = None
            continue
        replaced = saved.get(place) if part.text is not None else None
        yield replaced or _user_part(part)
        place += 1


def _user_part(part: types.Part) -> dict[str, Any] | None:
    if part.text is not None:
        return {"type": "text", "text": part.text}
    if (blob := part.inline_data) is not None:
        media_type = blob.mime_type or UNKNOWN_MEDIA_TYPE
        return _file(media_type, f"data:{media_type};base64,{b64encode(blob.data or b'').decode()}", blob.display_name)
    if (link := part.file_data) is not None:
        return _file(link.mime_type or UNKNOWN_MEDIA_TYPE, link.file_uri or "", link.display_name)
    return None


def _file(media_type: str, url: str, name: str | None) -> dict[str, Any]:
    return {"type": "file", "mediaType": media_type, "url": url, **({"filename": name} if name else {})}
