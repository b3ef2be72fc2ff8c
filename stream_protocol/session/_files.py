"""Reads the files attached to a user message, and checks them against the app's limits.

A client sends a file as a data URL, or as the HTTP URL of an uploaded file. The server never fetches a URL.
"""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final, TypeAlias
from urllib.parse import urlsplit

from stream_protocol.wire import (
    ChatRequestError,
    check_choice,
    check_count,
    check_flag,
    check_pattern,
    check_text,
    check_texts,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from stream_protocol.wire import FilePart

MAX_FILE_BYTES: Final = 20 * 1024 * 1024
"""The maximum number of decoded bytes of an attached file. Most providers refuse inline requests above 20 MB."""

MAX_LINK_LENGTH: Final = 16 * 1024
"""The maximum number of characters in the URL of a linked file: twice the default limit of web servers."""

DECODED_PIECE: Final = 1024 * 1024
"""The number of bytes of a data URL that are decoded in one step, a multiple of 4. Other threads can run between two
steps."""

_NO_ESCAPE: Final = re.compile(rb"%(?![0-9A-Fa-f]{2})")
"""Pattern for a percent sign that does not begin a valid escape."""

MAX_MEDIA_TYPE_LENGTH: Final = 255
"""The maximum number of characters of a media type without parameters, according to RFC 6838."""

MEDIA_TYPE_PATTERN: Final = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]*/[a-z0-9][a-z0-9!#$&^_.+-]*")
"""Pattern for a media type without parameters, according to RFC 6838. If the client sends ``image`` or ``image/*``, the
media type of the data URL is used."""

_MEDIA_TYPE_GLOB: Final = re.compile(r"\S*/\S*|\*")
"""Pattern for the media types that an app can accept, such as ``image/*``."""

FROM_BASE64URL: Final = bytes.maketrans(b"-_", b"+/")
"""Translation table from base64url to base64."""

SCHEMES: Final = frozenset({"data", "http", "https"})
"""The URL schemes of attached files that an app can accept."""


@dataclass(frozen=True, kw_only=True)
class SavedFile:
    """A file that ADK saved as an artifact. The stored user event has the text ``line`` instead of the file."""

    line: str
    artifact: str
    version: int
    """The version of the artifact, from 0."""
    media_type: str
    name: str | None
    """The name of the user's file; ``None`` if unknown."""


@dataclass(frozen=True, kw_only=True)
class FilePlace:
    """Reference to the message part that contains the bytes of a file."""

    index: int
    event_id: str | None = None
    """The id of the stored user event with the part; ``None`` for the message in the request."""


@dataclass(frozen=True, kw_only=True)
class InlineFile:
    media_type: str
    data: bytes
    name: str | None
    origin: SavedFile | FilePlace | None = field(default=None, compare=False, repr=False)
    """The place from which the bytes can be read again."""


@dataclass(frozen=True, kw_only=True)
class LinkedFile:
    """A link in the user's message. The model's provider fetches the file, never the server."""

    media_type: str
    url: str
    name: str | None


TextOrFile: TypeAlias = str | InlineFile | LinkedFile | SavedFile


@dataclass(frozen=True, kw_only=True)
class FilePolicy:
    """Limits for the files that users attach. Also decides if clients get artifacts as links or as bytes.

    This library never fetches a link. But some model adapters do, on your server's machine. For example, LiteLlm
    fetches a link if the model's provider accepts no links. With such an adapter, set ``schemes={"data"}`` if your
    server can reach an internal network.

    Raises ``StreamProtocolError`` for an invalid scheme or size.
    """

    schemes: frozenset[str] = SCHEMES
    """Accepted forms of a file: ``data`` (bytes in the message), ``http`` and ``https`` (links)."""
    media_types: tuple[str, ...] = ("*/*",)
    """Accepted media types, such as ``image/*``. The server does not verify the type that the client states."""
    max_bytes: int = MAX_FILE_BYTES
    """Size limit of a file in a message, in decoded bytes. You cannot set more than 20 MiB."""
    artifact_links: bool = True
    """Send artifacts as links. If False, send their bytes.

    A request with an ``Authorization`` header always gets bytes, because browsers do not send this header for a link.
    With ``history="client"`` or ``"text"`` there are no links."""
    artifact_base: str | None = None
    """URL of the chat endpoint in the browser, such as ``/chat``. Set this option behind a proxy that rewrites paths.

    The value may be a full URL with scheme and host.
    """

    def __post_init__(self) -> None:
        for scheme in check_texts("schemes", self.schemes):
            check_choice("schemes", scheme, sorted(SCHEMES))
        for media_type in check_texts("media_types", self.media_types, expected="a list of media types"):
            check_pattern("media_types", media_type, _MEDIA_TYPE_GLOB, 'media types such as "image/*" or "*/*"')
        check_count("max_bytes", self.max_bytes, minimum=0, maximum=MAX_FILE_BYTES)
        check_flag("artifact_links", self.artifact_links)
        check_text("artifact_base", self.artifact_base, or_none=True)

    def check(self, texts_and_files: Iterable[TextOrFile]) -> None:
        """Raise ``ChatRequestError`` for the first refused file: 413 for its size, 415 for its media type, 422 for its
        URL scheme."""
        for file in texts_and_files:
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


def read_file(part: FilePart) -> InlineFile | LinkedFile:
    """Return the file in a ``file`` part of a message.

    Raises ``ChatRequestError``: 413 if the file is too large, 415 for its media type, 422 for other errors.
    """
    match part["url"].partition(":")[0].lower():
        case "data":
            return _inline(part)
        case "http" | "https":
            return _linked(part)
    raise ChatRequestError("Attached files must be data URLs or http(s) URLs.", status=422)


def _linked(part: FilePart) -> LinkedFile:
    try:
        host = urlsplit(part["url"]).hostname if len(part["url"]) <= MAX_LINK_LENGTH else None
    except ValueError:
        host = None
    if not host:
        raise ChatRequestError("The URL of an attached file is not valid.", status=422)
    return LinkedFile(media_type=_media_type(part["mediaType"]), url=part["url"], name=part.get("filename"))


def _inline(part: FilePart) -> InlineFile:
    header, comma, body = part["url"].partition(":")[2].partition(",")
    if not comma:
        raise ChatRequestError("The data URL of an attached file is not valid.", status=422)
    is_base64 = ";" in header and header.rpartition(";")[2].strip().lower() == "base64"
    decoded_length = len(body) - 2 * body.count("%")
    if is_base64:
        decoded_length = decoded_length * 3 // 4 - 2  # up to two padding characters
    if decoded_length > MAX_FILE_BYTES:
        raise _too_large()
    data = body.encode()
    if b"%" in data:
        data = _unquote(data)
    if is_base64:
        data = _decode_base64(data)
    if len(data) > MAX_FILE_BYTES:
        raise _too_large()
    media_type = _media_type(part["mediaType"], header.partition(";")[0])
    return InlineFile(media_type=media_type, data=data, name=part.get("filename"))


def _too_large() -> ChatRequestError:
    return ChatRequestError(f"An attached file is larger than {MAX_FILE_BYTES // 2**20} MiB.", status=413)


def _unquote(text: bytes) -> bytes:
    """Decode the percent escapes of a data URL.

    Uses Python's decoder for quoted-printable text. The standard function ``unquote_to_bytes`` needs a gigabyte of
    memory for 30 MiB of escapes.
    """
    decoded: list[bytes] = []
    start = 0
    while start < len(text):
        end = start + DECODED_PIECE
        cut = text.rfind(b"%", end - 2, end) if end < len(text) else -1
        end = end if cut < 0 else cut
        piece = _NO_ESCAPE.sub(b"%25", text[start:end]).replace(b"=", b"=3D").replace(b"%", b"=")
        decoded.append(binascii.a2b_qp(piece))
        start = end
    return b"".join(decoded)


def _decode_base64(text: bytes) -> bytes:
    try:
        pieces = [_decode_base64_piece(text, start) for start in range(0, len(text), DECODED_PIECE)]
    except binascii.Error:
        raise ChatRequestError("The data URL of an attached file is not valid base64.", status=422) from None
    return b"".join(pieces)


def _decode_base64_piece(text: bytes, start: int) -> bytes:
    piece = text[start : start + DECODED_PIECE].translate(FROM_BASE64URL)
    if start + DECODED_PIECE >= len(text):
        piece += b"=" * (-len(piece) % 4)
    elif b"=" in piece:
        raise binascii.Error("padding before the end")
    return base64.b64decode(piece, validate=True)


def _media_type(*candidates: str) -> str:
    for candidate in candidates:
        text = candidate.partition(";")[0].strip().lower()
        if len(text) <= MAX_MEDIA_TYPE_LENGTH and MEDIA_TYPE_PATTERN.fullmatch(text):
            return text
    raise ChatRequestError("An attached file has no usable media type.", status=415)
