"""Bytes and file references -> files that a browser can load."""

from base64 import b64encode
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import orjson

from stream_protocol.adk import DATA_TAGS
from stream_protocol.wire import Sink

if TYPE_CHECKING:
    from google.adk.events import Event
    from google.genai.types import (
        Blob,
        FileData,
        FunctionResponseBlob,
        FunctionResponseFileData,
        FunctionResponsePart,
        Part,
    )

ArtifactUrl = Callable[[str, int], str | None]
"""Name and version of an artifact -> where the page can load it."""

UNKNOWN_MEDIA_TYPE = "application/octet-stream"

_DOCUMENT_TYPES = {
    "pdf": "application/pdf",
    "txt": "text/plain",
    "md": "text/markdown",
    "markdown": "text/markdown",
    "html": "text/html",
    "doc": "application/msword",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
}


def is_web_url(uri: str) -> bool:
    """Whether a browser can load it over the network."""
    return uri.lower().startswith(("http://", "https://"))


def is_media(part: "Part") -> bool:
    """Whether the part is a file."""
    return part.inline_data is not None or part.file_data is not None


def document_type(name: str) -> str:
    """The media type for a document's name, as the AI SDK's Google provider has it."""
    return _DOCUMENT_TYPES.get(name.lower().rpartition(".")[2], UNKNOWN_MEDIA_TYPE)


def write_media(
    sink: Sink[Any], part: "Part | FunctionResponsePart", event: "Event | None", artifact_url: ArtifactUrl | None
) -> None:
    """Writes the part's media, if it has any. A link that is not http(s), such as ``gs://``, becomes ``data-adk-file``,
    and a file that holds a data part of an agent behind A2A ``data-adk-data``.

    ``event``: the complete event that holds the part, so that the file can be a link to an artifact; ``None`` for a
    fragment.
    """
    blob, reference = part.inline_data, part.file_data
    if blob is not None and (relayed := _relayed_data(blob.data or b"")) is not None:
        sink.data("adk-data", relayed)
    elif blob is not None and blob.data is not None:
        name = _artifact(blob, event) if event is not None and artifact_url is not None else None
        url = artifact_url(name, event.actions.artifact_delta[name]) if event and artifact_url and name else None
        sink.file(url or _data_url(blob), blob.mime_type or UNKNOWN_MEDIA_TYPE)
    if reference is not None and reference.file_uri:
        _write_reference(sink, reference.file_uri, reference)


def _relayed_data(data: bytes) -> Any:
    """The value of the data part of an agent behind A2A, which ADK makes a text file; ``None`` for all other files."""
    begin, end = DATA_TAGS
    if not (data.startswith(begin) and data.endswith(end)):
        return None
    try:
        value = orjson.loads(data[len(begin) : -len(end)])
    except orjson.JSONDecodeError:
        return None
    match value:
        case {"kind": "data", "data": inner}:  # a2a-sdk 0.3 has the whole part there
            return inner
    return value


def _artifact(blob: "Blob | FunctionResponseBlob", event: "Event") -> str | None:
    """The name of the artifact that holds the same bytes, as far as the event shows.

    It has the blob's display name. ADK drops that name from what a tool returns. There it is the only artifact that the
    only tool saved, if its name is that of an image of the same type and nothing else was returned.
    """
    saved = event.actions.artifact_delta
    if blob.display_name in saved:
        return blob.display_name
    parts = (event.content.parts if event.content is not None else None) or []
    responses = [part.function_response for part in parts if part.function_response is not None]
    media = [part for part in parts if part.inline_data] + [part for each in responses for part in each.parts or ()]
    if len(saved) == len(media) == 1 and len(responses) <= 1:
        (name,) = saved
        extension = name.lower().rpartition(".")[2]
        if blob.mime_type == f"image/{'jpeg' if extension == 'jpg' else extension}":
            return name
    return None


def _data_url(blob: "Blob | FunctionResponseBlob") -> str:
    # From the bytes: ADK's own JSON has base64url, which no browser takes in a data URL.
    return f"data:{blob.mime_type or UNKNOWN_MEDIA_TYPE};base64,{b64encode(blob.data or b'').decode()}"


def _write_reference(sink: Sink[Any], uri: str, reference: "FileData | FunctionResponseFileData") -> None:
    if is_web_url(uri):
        sink.file(uri, reference.mime_type or UNKNOWN_MEDIA_TYPE)
    else:
        said = {"uri": uri, "mediaType": reference.mime_type, "filename": reference.display_name}
        sink.data("adk-file", {key: value for key, value in said.items() if value is not None})
