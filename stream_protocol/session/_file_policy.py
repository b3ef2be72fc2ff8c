"""Which of the files that a browser can send an app takes."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

from stream_protocol.session._files import MAX_FILE_BYTES, InlineFile, LinkedFile, TextOrFile
from stream_protocol.wire import ChatRequestError, StreamProtocolError

if TYPE_CHECKING:
    from collections.abc import Iterable

SCHEMES: Final = frozenset({"data", "http", "https"})
"""What a page can send at all; any other scheme is refused whatever an app says."""


@dataclass(frozen=True, kw_only=True)
class FilePolicy:
    """Which files may be attached to a message, and how the agent's own go out. The server itself never fetches a link.

    Some model adapters do, from this machine (LiteLlm for providers that take no links): with one of these, and a
    network that browsers must not see into, take ``schemes={"data"}``.

    Raises ``StreamProtocolError`` for a scheme or a size that is refused before any policy is asked.
    """

    schemes: frozenset[str] = SCHEMES
    """Of ``data`` (the file's bytes come with the message), ``http`` and ``https`` (the message only names it)."""
    media_types: tuple[str, ...] = ("*/*",)
    """Patterns such as ``image/*``; a file's media type must match one. It is what the client says, not what it is."""
    max_bytes: int = MAX_FILE_BYTES
    """Of one file that comes with the message, decoded; 20 MiB at most."""
    artifact_links: bool = True
    """Whether files of the agent's that lie in the artifact service may go out as links, not as bytes. They do where
    their base is known: ``chat_routes`` knows it of each request, unless that has an ``Authorization`` header, which no
    browser sends along for a link. Never where the client has the history: the server has no chat to find them in."""
    artifact_base: str | None = None
    """The chat endpoint's URL as the page knows it (``/chat``, or with its origin), where that is not what the server
    sees: behind a proxy that rewrites paths."""

    def __post_init__(self) -> None:
        if unknown := sorted(self.schemes - SCHEMES):
            raise StreamProtocolError(f"Files can come by data, http and https URLs, not {', '.join(unknown)}.")
        if self.max_bytes > MAX_FILE_BYTES:
            raise StreamProtocolError(f"`max_bytes` is {MAX_FILE_BYTES} at most.")

    def check(self, said: Iterable[TextOrFile]) -> None:
        """Raises ``ChatRequestError`` for the first file that is not taken (413 size, 415 media type, 422 scheme)."""
        for file in said:
            if isinstance(file, InlineFile | LinkedFile):
                self._check_file(file)

    def _check_file(self, file: InlineFile | LinkedFile) -> None:
        scheme = "data" if isinstance(file, InlineFile) else file.url.partition(":")[0].lower()
        if scheme not in self.schemes:
            raise ChatRequestError(f"Files cannot be attached by {scheme} URLs here.", status=422)
        if not any(fnmatchcase(file.media_type, pattern) for pattern in self.media_types):
            raise ChatRequestError("Files of this type cannot be attached here.", status=415)
        if isinstance(file, InlineFile) and len(file.data) > self.max_bytes:
            raise ChatRequestError(f"An attached file is larger than {self.max_bytes} bytes.", status=413)
