"""Files of a user's message that ADK saved as artifacts.

``SaveFilesAsArtifactsPlugin`` and ``save_input_blobs_as_artifacts`` do that. ADK then stores, and shows to the model, a
line of text in the place of each, and behind it, where a model can load the artifact, a reference to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from stream_protocol.conversation.files import SavedFile
from stream_protocol.conversation.metadata import sent_files

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from google.adk.events import Event
    from google.genai import types


def stored_parts(event: Event, stretch: Iterable[Event]) -> Iterator[types.Part | SavedFile]:
    """What a user's message consists of, in its order.

    ``stretch``: the events up to the next user text. In them the plugin tells names and versions; the run config does
    not, which names a file after its invocation and place.
    """
    told: dict[str, int] = {}
    for later in stretch:
        told = {**later.actions.artifact_delta, **told}
    sent = dict(enumerate(sent_files(event)))
    place, was_saved = 0, False
    for part in (event.content.parts if event.content is not None else None) or ():
        if was_saved and part.file_data is not None and part.file_data.display_name is not None:
            was_saved = False
            continue
        file = sent.get(place) if part.text is not None else None
        was_saved = file is not None
        if file is None or part.text is None:
            yield part
        else:
            name = file.get("filename")
            artifact = name if name is not None and name in told else f"artifact_{event.invocation_id}_{place}"
            yield SavedFile(
                line=part.text,
                artifact=artifact,
                version=told.get(artifact, 0),
                media_type=file["mediaType"],
                name=name,
            )
        place += 1


def artifact_path(chat_id: str, name: str, version: int) -> str:
    """Where an artifact is served, behind the chat endpoint's URL."""
    return f"/{quote(chat_id, safe='')}/artifacts/{quote(name)}?version={version}"
