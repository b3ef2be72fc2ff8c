"""Files that a browser can load: bytes, references and links -> chunks."""

from base64 import b64encode
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

from stream_protocol.adk import Blob, File, Reference, RelayedData
from stream_protocol.wire import Sink

if TYPE_CHECKING:
    from stream_protocol.stream._options import Settings

ArtifactUrl = Callable[[str, int], str | None]
"""Name and version of an artifact -> where the page can load it."""

UNKNOWN_MEDIA_TYPE = "application/octet-stream"

ENCODED_PIECE: Final = 48 * 1024
"""Bytes of a file that are encoded at once, a multiple of 3."""


class DataUrl:
    """A file as a data URL. ``str`` encodes the whole, ``pieces`` one piece after the other."""

    def __init__(self, media_type: str | None, data: bytes) -> None:
        self.head: Final = f"data:{media_type or UNKNOWN_MEDIA_TYPE};base64,"
        self._data = data

    def pieces(self) -> Iterator[bytes]:
        """Yields what comes after the head."""
        for begin in range(0, len(self._data), ENCODED_PIECE):
            yield b64encode(self._data[begin : begin + ENCODED_PIECE])

    def __str__(self) -> str:
        # From the bytes: ADK's own JSON has base64url, which no browser takes in a data URL.
        return self.head + b64encode(self._data).decode()


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
    """Return True if a browser can load the URL over the network."""
    return uri.lower().startswith(("http://", "https://"))


def document_type(name: str) -> str:
    """The media type for a document's name, as the AI SDK's Google provider has it."""
    return _DOCUMENT_TYPES.get(name.lower().rpartition(".")[2], UNKNOWN_MEDIA_TYPE)


def write_media(sink: Sink[Any], file: File, settings: "Settings") -> None:
    """Writes a file. A link that is not http(s), such as ``gs://``, becomes ``data-adk-file``, and a data part of an
    agent behind A2A ``data-adk-data``. A file that was saved can be a link to its artifact."""
    match file.content:
        case RelayedData(value):
            sink.data("adk-data", value)
        case Blob() as blob:
            artifact_url = settings.options["artifact_url"]
            url = artifact_url(*blob.artifact) if blob.artifact is not None and artifact_url is not None else None
            sink.file(url or settings.file_url(blob), blob.media_type or UNKNOWN_MEDIA_TYPE)
    if file.reference is not None:
        _write_reference(sink, file.reference)


def _write_reference(sink: Sink[Any], reference: Reference) -> None:
    if is_web_url(reference.uri):
        sink.file(reference.uri, reference.media_type or UNKNOWN_MEDIA_TYPE)
    else:
        said = {"uri": reference.uri, "mediaType": reference.media_type, "filename": reference.name}
        sink.data("adk-file", {key: value for key, value in said.items() if value is not None})
