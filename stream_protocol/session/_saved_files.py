"""Files of a user's message that ADK saved as artifacts.

``SaveFilesAsArtifactsPlugin`` and ``save_input_blobs_as_artifacts`` do that. ADK then stores, and shows to the model, a
line of text in the place of each, and behind it, where a model can load the artifact, a reference to it.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING
from urllib.parse import quote

from stream_protocol.session._files import SavedFile
from stream_protocol.session._metadata import sent_files

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from google.adk.events import Event
    from google.genai import types


def stored_parts(event: Event, exchange: Iterable[Event]) -> list[types.Part | SavedFile]:
    """What a user's message consists of, in its order.

    ``exchange``: the events up to the next user text. In them the plugin tells the names, and the newest version of
    each; files of one name were saved one after the other. The run config tells nothing, but names a file after its
    invocation and place, which its line says.
    """
    told: dict[str, int] = {}
    for later in exchange:
        told = {**later.actions.artifact_delta, **told}
    behind: Counter[str] = Counter()
    stored: list[types.Part | SavedFile] = []
    for part, place, file in reversed(list(_placed(event))):
        if file is None or part.text is None:
            stored.append(part)
            continue
        name, given = file.get("filename"), f"artifact_{event.invocation_id}_{place}"
        artifact = name if name is not None and name in told and given not in part.text else given
        version = max(0, told.get(artifact, 0) - behind[artifact])
        behind[artifact] += 1
        stored.append(
            SavedFile(line=part.text, artifact=artifact, version=version, media_type=file["mediaType"], name=name)
        )
    return stored[::-1]


def _placed(event: Event) -> Iterator[tuple[types.Part, int, dict[str, str] | None]]:
    """Each part of the user's with its place, and with the file that came there, if it is a line of text now."""
    parts = (event.content.parts if event.content is not None else None) or []
    sent = sent_files(event)
    references = len(parts) - len(sent)
    place = 0
    file: dict[str, str] | None = None
    for part in parts:
        if file is not None and references > 0 and part.file_data is not None and part.file_data.display_name:
            references -= 1
            file = None
            continue
        file = sent[place] if place < len(sent) and part.text is not None else None
        yield part, place, file
        place += 1


def artifact_path(chat_id: str, name: str, version: int) -> str:
    """Where an artifact is served, behind the chat endpoint's URL."""
    is_relative = {".", ".."} & {*name.split("/")}  # a browser would resolve it
    return f"{_folder(chat_id)}{quote(name, safe='' if is_relative else '/')}?version={version}"


def linked_path(chat_id: str, url: str) -> str:
    """The part of a URL that ``artifact_path`` has made; empty if it has made none."""
    _, folder, name = url.partition(_folder(chat_id))
    return folder + name


def _folder(chat_id: str) -> str:
    return f"/{quote(chat_id, safe='')}/artifacts/"
