"""Loads the artifacts of a chat, and creates links to artifacts."""

from __future__ import annotations

import logging
from errno import ENAMETOOLONG
from functools import partial
from typing import TYPE_CHECKING, Final

from stream_protocol.serving.errors import Quoting
from stream_protocol.session import MEDIA_TYPE_PATTERN, InlineFile, SavedFile, artifact_path
from stream_protocol.wire import ChatRequestError, to_well_formed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from google.adk.runners import Runner
    from google.adk.sessions import Session
    from google.genai import types

    from stream_protocol.session import TextOrFile
    from stream_protocol.stream import ArtifactUrl

logger = logging.getLogger(__name__)

UNKNOWN_TYPE: Final = "application/octet-stream"

MAX_FILES_BYTES: Final = 64 * 1024 * 1024
"""The maximum number of bytes of all files of a message that is sent again. Models accept far less."""


async def load_artifact(runner: Runner, session: Session, name: str, version: int | None) -> types.Part:
    """Loads an artifact of a chat. An artifact whose name begins with ``user:`` belongs to all chats of the user.
    ``version``: ``None`` for the newest version. Raises ``ChatRequestError`` (404) if the artifact does not exist.
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
        except ValueError:  # an invalid name
            part = None
        except OSError as error:
            if error.errno != ENAMETOOLONG:
                raise
    if part is None or artifact_content(part) is None:
        raise ChatRequestError("There is no such artifact.", status=404)
    return part


def artifact_content(part: types.Part) -> tuple[bytes, str] | None:
    """Return the bytes and the media type of an artifact; ``None`` if it has neither bytes nor text."""
    if part.inline_data is not None and part.inline_data.data is not None:
        media_type = (part.inline_data.mime_type or "").partition(";")[0].strip().lower()
        return part.inline_data.data, media_type if MEDIA_TYPE_PATTERN.fullmatch(media_type) else UNKNOWN_TYPE
    return None if part.text is None else (to_well_formed(part.text).encode(), "text/plain")


async def load_saved_files(runner: Runner, session: Session, message: Iterable[TextOrFile]) -> tuple[TextOrFile, ...]:
    """Return the texts and files of a message. Replaces each link to an artifact with the bytes of the artifact.

    A link to a missing artifact stays a link. Raises ``ChatRequestError`` (413) if all files together are larger than
    ``MAX_FILES_BYTES``.
    """
    loaded: list[TextOrFile] = []
    size = 0
    for item in message:
        whole = await _load_saved_file(runner, session, item) if isinstance(item, SavedFile) else item
        size += len(whole.data) if isinstance(whole, InlineFile) else 0
        if size > MAX_FILES_BYTES:
            raise ChatRequestError("The files of this message are too large together.", status=413)
        loaded.append(whole)
    return tuple(loaded)


async def _load_saved_file(runner: Runner, session: Session, file: SavedFile) -> TextOrFile:
    try:
        part = await load_artifact(runner, session, file.artifact, file.version)
    except ChatRequestError:
        logger.warning("Artifact %s, version %d, is not there any more.", Quoting(file.artifact), file.version)
        return file
    data, _ = artifact_content(part) or (b"", UNKNOWN_TYPE)
    return InlineFile(media_type=file.media_type, data=data, name=file.name, origin=file)


def artifact_urls(base: str | None, chat_id: str) -> ArtifactUrl:
    """Return a function for the converter's option ``artifact_url``. If ``base`` is ``None``, the function always
    returns ``None``.
    """
    return _no_url if base is None else partial(artifact_url, base, chat_id)


def artifact_url(base: str, chat_id: str, name: str, version: int) -> str:
    """Return the URL of one version of an artifact. ``base``: the public URL of the chat endpoint."""
    return base + artifact_path(chat_id, name, version)


def _no_url(_name: str, _version: int) -> None:
    return None
