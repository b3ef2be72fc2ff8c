"""Bytes and file references -> files that a browser can load."""

from base64 import b64encode
from typing import TYPE_CHECKING, Any

from stream_protocol.wire.sinks import Sink

if TYPE_CHECKING:
    from google.genai.types import (
        Blob,
        FileData,
        FunctionResponseBlob,
        FunctionResponseFileData,
        FunctionResponsePart,
        Part,
    )

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


def document_type(name: str) -> str:
    """The media type that a document's name tells, as the AI SDK's Google provider has it."""
    return _DOCUMENT_TYPES.get(name.lower().rpartition(".")[2], UNKNOWN_MEDIA_TYPE)


def write_media(sink: Sink[Any], part: "Part | FunctionResponsePart") -> None:
    """Writes the part's media, if it has any. Any other reference than http(s), such as ``gs://``, goes as data."""
    blob, reference = part.inline_data, part.file_data
    if blob is not None and blob.data is not None:
        sink.file(_data_url(blob), blob.mime_type or UNKNOWN_MEDIA_TYPE)
    if reference is not None and reference.file_uri:
        _write_reference(sink, reference.file_uri, reference)


def _data_url(blob: "Blob | FunctionResponseBlob") -> str:
    # From the bytes: ADK's own JSON has base64url, which no browser takes in a data URL.
    return f"data:{blob.mime_type or UNKNOWN_MEDIA_TYPE};base64,{b64encode(blob.data or b'').decode()}"


def _write_reference(sink: Sink[Any], uri: str, reference: "FileData | FunctionResponseFileData") -> None:
    if is_web_url(uri):
        sink.file(uri, reference.mime_type or UNKNOWN_MEDIA_TYPE)
    else:
        said = {"uri": uri, "mediaType": reference.mime_type, "filename": reference.display_name}
        sink.data("adk-file", {key: value for key, value in said.items() if value is not None})
