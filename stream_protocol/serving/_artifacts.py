"""Artifacts of a chat, served to their owner in a way that cannot run in the page's origin.

An artifact is whatever a model or a tool has made: HTML with scripts, an SVG, a lie about its own type. So a browser is
told to believe the media type, to run nothing, and to show nothing but plain images, sound, film and text in place.
"""

from __future__ import annotations

import logging
import re
from functools import partial
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from starlette.responses import Response

from stream_protocol.session import MEDIA_TYPE_PATTERN, InlineFile, SavedFile, artifact_path
from stream_protocol.wire import ChatRequestError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from google.adk.runners import Runner
    from google.adk.sessions import Session
    from google.genai import types
    from starlette.requests import Request

    from stream_protocol.convert import ArtifactUrl
    from stream_protocol.session import TextOrFile

logger = logging.getLogger(__name__)

UNKNOWN: Final = "application/octet-stream"

MAX_FILES_BYTES: Final = 64 * 1024 * 1024
"""Of all files of a message that is said again: links are small, and files are not. Models take far less."""

SHOWN_IN_PLACE: Final = re.compile(r"image/(png|jpeg|gif|webp|avif|bmp)|(audio|video)/.+|text/plain")
"""Everything else is a download. An ``<img>`` shows an SVG all the same; opened by itself it could hold scripts."""

SAFE_HEADERS: Final = (
    ("x-content-type-options", "nosniff"),
    ("content-security-policy", "default-src 'none'; style-src 'unsafe-inline'; sandbox"),
    ("cache-control", "private, no-cache"),
)


async def load_artifact(runner: Runner, session: Session, name: str, version: int | None) -> types.Part:
    """An artifact of the session, or of its user (``user:``); the newest version if none is given.

    Raises ``ChatRequestError`` (404) if there is none, or none by a name that the artifact service takes.
    """
    part: types.Part | None = None
    if runner.artifact_service is not None:
        try:
            part = await runner.artifact_service.load_artifact(
                app_name=session.app_name,
                user_id=session.user_id,
                session_id=session.id,
                filename=name,
                version=version,
            )
        except ValueError:  # a name that no artifact can have, or that no file can
            part = None
    if part is None or _content(part) is None:
        raise ChatRequestError("There is no such artifact.", status=404)
    return part


async def with_their_bytes(runner: Runner, session: Session, said: Iterable[TextOrFile]) -> tuple[TextOrFile, ...]:
    """What was said, with the files that lie in the artifact service. One that is gone from there stays as it is.

    Raises ``ChatRequestError`` (413) for more than ``MAX_FILES_BYTES``.
    """
    whole: list[TextOrFile] = []
    size = 0
    for each in said:
        loaded = await _loaded(runner, session, each) if isinstance(each, SavedFile) else each
        size += len(loaded.data) if isinstance(loaded, InlineFile) else 0
        if size > MAX_FILES_BYTES:
            raise ChatRequestError("The files of this message are too large together.", status=413)
        whole.append(loaded)
    return tuple(whole)


async def _loaded(runner: Runner, session: Session, file: SavedFile) -> TextOrFile:
    try:
        part = await load_artifact(runner, session, file.artifact, file.version)
    except ChatRequestError:
        logger.warning("Artifact %s, version %d, is not there any more.", file.artifact, file.version)
        return file
    data, _ = _content(part) or (b"", UNKNOWN)
    return InlineFile(media_type=file.media_type, data=data, name=file.name)


def artifact_response(part: types.Part, name: str) -> Response:
    """The artifact's bytes, or its text, under its name."""
    content, media_type = _content(part) or (b"", UNKNOWN)
    disposition = "inline" if SHOWN_IN_PLACE.fullmatch(media_type) else "attachment"
    filename = quote(name.removeprefix("user:").rpartition("/")[2], safe="")
    return Response(
        content,
        media_type=media_type,
        headers={**dict(SAFE_HEADERS), "content-disposition": f"{disposition}; filename*=utf-8''{filename}"},
    )


def parse_version(text: str | None) -> int | None:
    """The ``version`` of a query. Raises ``ChatRequestError`` (404) for one that no artifact can have."""
    if text is None:
        return None
    if text.isascii() and text.isdigit() and len(text) < 10:
        return int(text)
    raise ChatRequestError("There is no such artifact.", status=404)


def artifact_base(request: Request, path: str) -> str | None:
    """The URL of the chat endpoint, at ``path``, for the page that sent this request.

    ``None`` if that page could not load what is linked below it: no browser sends an ``Authorization`` header for an
    image. A page of another origin needs the whole URL; for others the path is enough, whatever proxies stand between.
    """
    if "authorization" in request.headers:
        return None
    return str(request.url.replace(path=path, query="", fragment="")) if _is_elsewhere(request) else path


def _is_elsewhere(request: Request) -> bool:
    """Whether the page is of another origin: browsers say it, or else (plain HTTP) which origin it is of."""
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site is None and origin is not None:
        return origin.partition("://")[2] != request.headers.get("host")
    return site in ("same-site", "cross-site")


def artifact_urls(base: str | None, chat_id: str) -> ArtifactUrl:
    """Name and version -> URL, as the converter wants it; no artifact has one without a base."""
    return _no_url if base is None else partial(artifact_url, base, chat_id)


def artifact_url(base: str, chat_id: str, name: str, version: int) -> str:
    """Where the route serves this version; ``base`` is the chat endpoint's own URL, as the page knows it."""
    return base + artifact_path(chat_id, name, version)


def _no_url(_name: str, _version: int) -> None:
    return None


def _content(part: types.Part) -> tuple[bytes, str] | None:
    if part.inline_data is not None and part.inline_data.data is not None:
        media_type = (part.inline_data.mime_type or "").partition(";")[0].strip().lower()
        return part.inline_data.data, media_type if MEDIA_TYPE_PATTERN.fullmatch(media_type) else UNKNOWN
    return None if part.text is None else (part.text.encode(), "text/plain")
