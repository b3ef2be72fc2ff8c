"""Artifacts over HTTP, sent so that they cannot run in the page's origin.

An artifact may be anything that a model or a tool has made: HTML with scripts, an SVG, a file of another type than it
says. So the headers tell the browser to trust the media type, to run nothing, and to download everything but plain
images, audio, video and text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from stream_protocol.serving.chats import UNKNOWN_TYPE, artifact_content
from stream_protocol.serving.http._sliced_response import whole_response
from stream_protocol.serving.http._trusted_origins import page_site

if TYPE_CHECKING:
    from google.genai import types
    from starlette.requests import Request
    from starlette.responses import Response

    from stream_protocol.serving.base import ByteShare

INLINE_TYPES: Final = re.compile(r"image/(png|jpeg|gif|webp|avif|bmp)|(audio|video)/.+|text/plain")
"""Media types that a browser may show; all others are downloads. SVG is not among them: an SVG that is opened as a page
of its own can run scripts. An ``<img>`` shows it anyway."""

SAFE_HEADERS: Final = (
    ("x-content-type-options", "nosniff"),
    ("content-security-policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox"),
    ("cache-control", "private, no-cache"),
)


def artifact_response(part: types.Part, name: str, memory: ByteShare) -> Response:
    """A response with the artifact's bytes or text, under its file name.

    ``memory``: counts the content. Raises ``ChatRequestError`` (429, 503) if there is no room for it.
    """
    content, media_type = artifact_content(part) or (b"", UNKNOWN_TYPE)
    disposition = "inline" if INLINE_TYPES.fullmatch(media_type) else "attachment"
    filename = quote(name.removeprefix("user:").rpartition("/")[2], safe="")
    headers = {
        **dict(SAFE_HEADERS),
        "content-type": f"{media_type}; charset=utf-8" if media_type.startswith("text/") else media_type,
        "content-disposition": f"{disposition}; filename*=utf-8''{filename}",
    }
    return whole_response(content, memory, headers)


def artifact_base(request: Request, path: str | None) -> str | None:
    """The URL of the chat endpoint, at ``path``, as the page that sent this request must use it.

    ``None`` without a path, and if the page signs in with an ``Authorization`` header: a browser does not send it for
    an image. A page of another origin gets the whole URL. Other pages get the path, which is right also if there is a
    proxy.
    """
    if path is None or "authorization" in request.headers:
        return None
    return path if page_site(request) == "same-origin" else str(request.url.replace(path=path, query="", fragment=""))
