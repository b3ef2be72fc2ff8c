"""Sends artifacts over HTTP, with headers that keep an artifact from running scripts in the page's origin.

A model or a tool may create HTML with scripts, an SVG, or a file with a wrong media type. So the headers forbid the
browser to run scripts in an artifact, and to guess another media type. The browser shows images, audio, video and plain
text. It downloads all other files, and also SVG.
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
"""Pattern of the media types that a browser may show. SVG is a download, because an SVG that is opened as a page can
run scripts. An ``<img>`` can still show it."""

SAFE_HEADERS: Final = (
    ("x-content-type-options", "nosniff"),
    ("content-security-policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox"),
    ("cache-control", "private, no-cache"),
)


def artifact_response(part: types.Part, name: str, memory: ByteShare) -> Response:
    """Return a response with the artifact's content and file name.

    The content counts toward the memory limit of ``memory``. Raises ``ChatRequestError`` (429, 503) above the limit.
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
    """Return the text with which the URLs of artifacts begin. ``path``: the path of the chat endpoint.

    For a page of the same origin, the result is only ``path``, which also works behind a proxy. For a page of another
    origin, the result is a complete URL. Returns ``None`` if ``path`` is ``None``. Also returns ``None`` for a request
    with an ``Authorization`` header. A browser does not send this header when it loads an image.
    """
    if path is None or "authorization" in request.headers:
        return None
    return (
        path
        if page_site(request.headers) == "same-origin"
        else str(request.url.replace(path=path, query="", fragment=""))
    )
