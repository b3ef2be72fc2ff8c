"""Write the chunks of files. A file is sent as a data URL, or as a link that a browser can load."""

from base64 import b64encode
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

from stream_protocol.adk import Blob, File, Reference, RelayedData
from stream_protocol.wire import Sink

if TYPE_CHECKING:
    from stream_protocol.stream._options import Settings

ArtifactUrl = Callable[[str, int], str | None]
"""Function that takes the name and the version of an artifact, and returns its URL for the browser, or ``None``."""

UNKNOWN_MEDIA_TYPE = "application/octet-stream"

ENCODED_PIECE: Final = 48 * 1024
"""The number of bytes of a file that are encoded in one step, a multiple of 3 for Base64."""


class DataUrl:
    """A file as a data URL. ``str()`` returns the whole URL."""

    def __init__(self, media_type: str | None, data: bytes) -> None:
        self.head: Final = f"data:{media_type or UNKNOWN_MEDIA_TYPE};base64,"
        self._data = data

    def pieces(self) -> Iterator[bytes]:
        """Yield the Base64 text of the URL in pieces, without the prefix ``data:…;base64,``."""
        for begin in range(0, len(self._data), ENCODED_PIECE):
            yield b64encode(self._data[begin : begin + ENCODED_PIECE])

    def __str__(self) -> str:
        # ADK's JSON has base64url, which browsers do not accept in a data URL.
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
    return uri.lower().startswith(("http://", "https://"))


def document_type(name: str) -> str:
    """Return the media type of a document, from the suffix of its file name. The AI SDK's Google provider uses the same
    types.
    """
    return _DOCUMENT_TYPES.get(name.lower().rpartition(".")[2], UNKNOWN_MEDIA_TYPE)


def file_part(media_type: str | None, url: Any, name: str | None) -> dict[str, Any]:
    """Return a file as a part of a user's UI message."""
    file = {"type": "file", "mediaType": media_type or UNKNOWN_MEDIA_TYPE, "url": url}
    return {**file, "filename": name} if name else file


def write_media(sink: Sink[Any], file: File, settings: "Settings") -> None:
    """Write a file as a chunk.

    - A file with bytes becomes a ``file`` chunk with a data URL. If the file is an artifact, the option
      ``artifact_url`` can return a link to use instead.
    - An HTTP link becomes a ``file`` chunk. Any other link, such as ``gs://``, becomes a ``data-adk-file`` chunk.
    - A data part of an agent behind A2A becomes a ``data-adk-data`` chunk.
    """
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
        value = {"uri": reference.uri, "mediaType": reference.media_type, "filename": reference.name}
        sink.data("adk-file", {key: item for key, item in value.items() if item is not None})
