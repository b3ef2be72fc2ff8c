"""Converts a user message from one form to another. Its forms are the UI message, a list of texts and files, the ADK
event, and JSON in the stored record of a run. Another worker can restore the message from the record.

ADK can save the files of a message as artifacts (``SaveFilesAsArtifactsPlugin``, ``save_input_blobs_as_artifacts``).
Instead of each file, the event then has a line of text for the model, and sometimes a reference to the artifact. The
history shows a link to the artifact.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import quote

from google.genai import types

from stream_protocol.adk import is_user_message
from stream_protocol.session._files import FilePlace, InlineFile, LinkedFile, SavedFile, TextOrFile, read_file
from stream_protocol.session.transcript import EventMetadata, SentFile
from stream_protocol.stream import DataUrl, file_part
from stream_protocol.wire import ChatRequestError, to_well_formed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from google.adk.events import Event

    from stream_protocol.stream import ArtifactUrl
    from stream_protocol.wire import FilePart, TextPart, UIMessage


MAX_TEXTS_AND_FILES: Final = 1_000
"""The maximum number of texts and files in a user's message."""


def texts_and_files(
    message: UIMessage, find_saved_file: Callable[[str], SavedFile | None] = lambda _: None
) -> Iterator[TextOrFile]:
    """Yield the texts and files of a UI message, without empty texts. ``find_saved_file``: takes the URL of a file
    part, and returns the saved artifact that the URL links to, or ``None``.

    Raises ``ChatRequestError`` for a refused file, and for more than ``MAX_TEXTS_AND_FILES`` texts and files (413).
    """
    if sum(part["type"] in ("text", "file") for part in message["parts"]) > MAX_TEXTS_AND_FILES:
        raise ChatRequestError(f"The message has more than {MAX_TEXTS_AND_FILES:,} texts and files.", status=413)
    for index, part in enumerate(message["parts"]):
        if part["type"] == "text" and (text := cast("TextPart", part)["text"]):
            yield text
        elif part["type"] == "file":
            file = cast("FilePart", part)
            yield find_saved_file(file["url"]) or _sent_file(file, index)


def _sent_file(part: FilePart, index: int) -> TextOrFile:
    file = read_file(part)
    return replace(file, origin=FilePlace(index=index)) if isinstance(file, InlineFile) else file


def texts(message: UIMessage) -> list[str]:
    """Return the texts of a UI message, without empty texts."""
    found = [cast("TextPart", part)["text"] for part in message["parts"] if part["type"] == "text"]
    return [text for text in found if text]


def adk_part(text_or_file: TextOrFile) -> types.Part:
    """Return the ADK part for a text or file of the user. For a file that ADK saved as an artifact, the part contains a
    line of text instead of the file."""
    match text_or_file:
        case InlineFile() as file:
            blob = types.Blob(mime_type=file.media_type, data=file.data, display_name=file.name)
            return types.Part(inline_data=blob)
        case LinkedFile() as file:
            link = types.FileData(mime_type=file.media_type, file_uri=file.url, display_name=file.name)
            return types.Part(file_data=link)
        case SavedFile() as file:
            return types.Part(text=file.line)
        case str() as text:
            return types.Part(text=text)


def steering_content(message: Mapping[str, Any]) -> types.Content:
    return types.Content(role="user", parts=[*map(adk_part, texts_and_files(cast("UIMessage", message)))])


def stored_parts(event: Event, turn: Sequence[Event]) -> list[types.Part | SavedFile]:
    """Return the parts of a stored user event in order. Files that ADK saved as artifacts become ``SavedFile``.
    ``turn``: this event and the events up to the next user message.

    The version of an artifact comes from the agent's first event, to which ``SaveFilesAsArtifactsPlugin`` writes the
    newest versions. Without that event, the version is 0. If several files have one name, the last file has the newest
    version. With ``save_input_blobs_as_artifacts``, the line of text contains the artifact's name.
    """
    versions: dict[str, int] = {}
    event = _whole_speech(event, turn)
    for later in turn:
        versions = {**later.actions.artifact_delta, **versions}
    later_files: Counter[str] = Counter()
    found: list[types.Part | SavedFile] = []
    for part, index, file in reversed(list(_parts_with_files(event))):
        if file is None or part.text is None:
            found.append(part)
            continue
        name, numbered = file.filename, f"artifact_{event.invocation_id}_{index}"
        artifact = numbered if name is None or numbered in part.text else name
        version = max(0, versions.get(artifact, 0) - later_files[artifact])
        later_files[artifact] += 1
        found.append(
            SavedFile(line=part.text, artifact=artifact, version=version, media_type=file.media_type, name=name)
        )
    return found[::-1]


def _whole_speech(event: Event, turn: Sequence[Event]) -> Event:
    """If ``event`` is not the first piece of the user's transcribed speech, return it unchanged. Otherwise, return the
    event of ``turn`` with the complete transcription. If ``turn`` has no such event, return a new event with all
    pieces.
    """
    if not event.partial:
        return event
    spoken = [later for later in turn or (event,) if is_user_message(later)]
    whole = next((later for later in spoken if not later.partial), None)
    if whole is None:
        text = "".join(part.text or "" for later in spoken for part in (later.content and later.content.parts) or ())
        content = types.Content(role="user", parts=[types.Part(text=text)])
        whole = event.model_copy(update={"content": content, "partial": None})
    return whole


def _parts_with_files(event: Event) -> Iterator[tuple[types.Part, int, SentFile | None]]:
    """For each part that the user sent, yield three values: the part, its index in the message, and the file that ADK
    saved (or ``None``).
    """
    parts = (event.content.parts if event.content is not None else None) or []
    sent = EventMetadata.of(event).files
    references = len(parts) - len(sent)
    index = 0
    file: SentFile | None = None
    for part in parts:
        if file is not None and references > 0 and part.file_data is not None and part.file_data.display_name:
            references -= 1
            file = None
            continue
        file = sent[index] if index < len(sent) and part.text is not None else None
        yield part, index, file
        index += 1


def stored_texts_and_files(
    parts: Iterable[types.Part | SavedFile], event_id: str | None = None
) -> Iterator[TextOrFile]:
    """Yield the texts and files of ``parts``. ``event_id``: the id of the stored event that contains these parts, or
    ``None``. The results use it to read the bytes of a file again.
    """
    for index, part in enumerate(parts):
        if isinstance(part, SavedFile):
            yield part
        elif part.text:
            yield part.text
        elif (blob := part.inline_data) is not None:
            yield InlineFile(
                media_type=blob.mime_type or "",
                data=blob.data or b"",
                name=blob.display_name,
                origin=FilePlace(index=index, event_id=event_id),
            )
        elif (link := part.file_data) is not None:
            yield LinkedFile(media_type=link.mime_type or "", url=link.file_uri or "", name=link.display_name)


def user_message(
    event: Event,
    turn: Sequence[Event] = (),
    artifact_url: ArtifactUrl | None = None,
    file_url: Callable[[DataUrl], Any] = str,
) -> UIMessage:
    """Return the UI message of a stored user event. The message has the id that the client sent, or the event's id.

    ``turn``: this event and the events up to the next user message. ``artifact_url``: takes an artifact's name and
    version, and returns its URL. Without a URL, an artifact appears as a line of text. ``file_url``: converts a file's
    data URL to the ``url`` in the message.
    """
    event = _whole_speech(event, turn)
    parts = [ui_part for part in stored_parts(event, turn) if (ui_part := _ui_part(part, artifact_url, file_url))]
    message_id = EventMetadata.of(event).message_id or event.id
    # The AI SDK's `validateUIMessages` refuses a message without parts.
    return cast("UIMessage", {"id": message_id, "role": "user", "parts": parts or [_ui_text("")]})


def _ui_part(
    part: types.Part | SavedFile, artifact_url: ArtifactUrl | None, file_url: Callable[[DataUrl], Any]
) -> dict[str, Any] | None:
    if isinstance(part, SavedFile):
        url = artifact_url(part.artifact, part.version) if artifact_url is not None else None
        return _ui_text(part.line) if url is None else file_part(part.media_type, url, part.name)
    if part.text is not None:
        return _ui_text(part.text)
    if (blob := part.inline_data) is not None:
        url = file_url(DataUrl(blob.mime_type, blob.data or b""))
        return file_part(blob.mime_type, url, blob.display_name)
    if (link := part.file_data) is not None:
        return file_part(link.mime_type, link.file_uri or "", link.display_name)
    return None


def _ui_text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def artifact_path(chat_id: str, name: str, version: int) -> str:
    """Return the path of an artifact's URL below the chat endpoint: ``/<chat>/artifacts/<name>?version=<n>``. A lone
    surrogate in ``name`` becomes U+FFFD."""
    name = to_well_formed(name)
    is_relative = {".", ".."} & {*name.split("/")}  # a browser would resolve relative segments
    return f"{_artifacts_folder(chat_id)}{quote(name, safe='' if is_relative else '/')}?version={version}"


def linked_artifact_path(chat_id: str, url: str) -> str:
    """Return the end of an artifact's URL, beginning with ``/<chat>/artifacts/``, in the form of ``artifact_path``.
    Return an empty text for other URLs.
    """
    _, folder, name = url.partition(_artifacts_folder(chat_id))
    return folder + name


def _artifacts_folder(chat_id: str) -> str:
    return f"/{quote(chat_id, safe='')}/artifacts/"


def record_content(texts_and_files: Iterable[TextOrFile]) -> list[dict[str, Any]]:
    """Return the texts and files of a message as JSON. For a file, the JSON has no bytes. It names the message part or
    the artifact that has the bytes.
    """
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
    """Return the texts and files of a message from the JSON that ``record_content`` has returned. Saved artifacts are
    returned without their bytes, which the caller must load.

    ``message``: the user message of the request, which contains the bytes of new files. ``events``: all events of the
    session, including events that a rewind removed. Raises ``ChatRequestError`` if a file does not exist any more.
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
