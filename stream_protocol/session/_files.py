"""A ``file`` part of a user message -> bytes or a link that ADK may see. Nothing is ever fetched here.

What a browser sends is a data URL; what an app that uploads first sends is an https URL. Any other scheme is refused:
``file:`` would name the server's own disk, ``javascript:`` and ``blob:`` mean nothing outside the page.
"""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias
from urllib.parse import unquote_to_bytes, urlsplit

from stream_protocol.wire import ChatRequestError

if TYPE_CHECKING:
    from stream_protocol.wire import FilePart

MAX_FILE_BYTES: Final = 20 * 1024 * 1024
"""Decoded bytes of one attached file: Gemini refuses inline requests above 20 MB, and so do most others."""

MEDIA_TYPE_PATTERN: Final = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]*/[a-z0-9][a-z0-9!#$&^_.+-]*")
"""A full media type by RFC 6838, without parameters. v7 clients may say ``image`` or ``image/*``: see the data URL."""

URL_SAFE: Final = bytes.maketrans(b"-_", b"+/")
"""ADK and Python clients write base64url, browsers the plain alphabet: both are read."""


@dataclass(frozen=True, kw_only=True)
class InlineFile:
    """A file whose bytes came with the message."""

    media_type: str
    data: bytes
    name: str | None


@dataclass(frozen=True, kw_only=True)
class LinkedFile:
    """A file that the message only names; the model provider fetches it, this server does not."""

    media_type: str
    url: str
    name: str | None


@dataclass(frozen=True, kw_only=True)
class SavedFile:
    """A file of an earlier message that lies in the artifact service: ADK put a line of text in its place."""

    line: str
    artifact: str
    """The artifact's name,"""
    version: int
    media_type: str
    name: str | None
    """and the file's own."""


TextOrFile: TypeAlias = str | InlineFile | LinkedFile | SavedFile
"""A piece of what a user says."""


def read_file(part: FilePart) -> InlineFile | LinkedFile:
    """The file that a ``file`` part holds. Raises ``ChatRequestError`` (413 too big, 415 media type, 422 the rest)."""
    match part["url"].partition(":")[0].lower():
        case "data":
            return _inline(part)
        case "http" | "https":
            return _linked(part)
    raise ChatRequestError("Attached files must be data URLs or http(s) URLs.", status=422)


def _linked(part: FilePart) -> LinkedFile:
    try:
        host = urlsplit(part["url"]).hostname
    except ValueError:
        host = None
    if not host:
        raise ChatRequestError("The URL of an attached file is not valid.", status=422)
    return LinkedFile(media_type=_media_type(part["mediaType"]), url=part["url"], name=part.get("filename"))


def _inline(part: FilePart) -> InlineFile:
    header, comma, body = part["url"].partition(":")[2].partition(",")
    if not comma:
        raise ChatRequestError("The data URL of an attached file is not valid.", status=422)
    media_type, *parameters = header.split(";")
    data = unquote_to_bytes(body)
    if parameters and parameters[-1].strip().lower() == "base64":
        data = _decode_base64(data)
    if len(data) > MAX_FILE_BYTES:
        raise ChatRequestError(f"An attached file is larger than {MAX_FILE_BYTES // 2**20} MiB.", status=413)
    return InlineFile(media_type=_media_type(part["mediaType"], media_type), data=data, name=part.get("filename"))


def _decode_base64(text: bytes) -> bytes:
    padded = text + b"=" * (-len(text) % 4)
    try:
        return base64.b64decode(padded.translate(URL_SAFE), validate=True)
    except binascii.Error:
        raise ChatRequestError("The data URL of an attached file is not valid base64.", status=422) from None


def _media_type(*candidates: str) -> str:
    for candidate in candidates:
        text = candidate.partition(";")[0].strip().lower()
        if MEDIA_TYPE_PATTERN.fullmatch(text):
            return text
    raise ChatRequestError("An attached file has no usable media type.", status=415)
