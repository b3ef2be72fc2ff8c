"""Recorders for a ``ChatService``: each chat in a file of its own, or all chats in one file."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from re import sub
from typing import TYPE_CHECKING, Any, Final

from stream_protocol._private_files import make_private_folder
from stream_protocol.recording.write._redaction import Redact, check_redact
from stream_protocol.recording.write._turn_writer import TurnWriter
from stream_protocol.wire import check_path

if TYPE_CHECKING:
    from stream_protocol.stream import ConverterOptions
    from stream_protocol.wire import ChatRequest

ID_LENGTH: Final = 40
"""Characters of a chat's id in the name of its file, for people. The digest after it makes the name unique."""


class _BaseRecorder:
    def __init__(self, redact: Redact | None) -> None:
        check_redact(redact)
        self._redact = redact
        self._failed_files: set[Path] = set()
        """Files that nothing more is written to. A ``TurnWriter`` adds its file when it fails."""

    def _write_turn(self, path: Path, request: ChatRequest, options: ConverterOptions) -> TurnWriter:
        return TurnWriter(
            path,
            chat=request.id,
            request=request_body(request),
            options=options,
            redact=self._redact,
            failed_files=self._failed_files,
        )


class ChatRecorder(_BaseRecorder):
    """Records the chats of a ``ChatService``, each in a file of its own in ``folder``. The folder is made if needed.

    ``redact``: function that removes further data from the written values: see ``Redact``.

    The files can be read by their owner only; ``file_name`` gives their names. Raises ``OSError`` if the folder cannot
    be made.
    """

    def __init__(self, folder: str | Path, *, redact: Redact | None = None) -> None:
        super().__init__(redact)
        check_path("folder", folder)
        self._folder = Path(folder)
        make_private_folder(self._folder)

    def turn(self, request: ChatRequest, *, app_name: str, user_id: str, options: ConverterOptions) -> TurnWriter:
        """The recorder of the run that answers this request."""
        path = self._folder / file_name(request.id, whose=(app_name, user_id))
        return self._write_turn(path, request, options)


class FileRecorder(_BaseRecorder):
    """Records all turns of a ``ChatService`` at the end of one file. For a service with one chat."""

    def __init__(self, path: str | Path, *, redact: Redact | None = None) -> None:
        super().__init__(redact)
        check_path("path", path)
        self._path = Path(path)

    def turn(self, request: ChatRequest, *, options: ConverterOptions, **_whose: str) -> TurnWriter:
        """The recorder of the run that answers this request."""
        return self._write_turn(self._path, request, options)


def request_body(request: ChatRequest) -> dict[str, Any]:
    """The body of the request as the client posted it."""
    target = {} if request.message_id is None else {"messageId": request.message_id}
    return {"id": request.id, "messages": list(request.messages), "trigger": request.trigger, **target, **request.body}


def file_name(chat_id: str, *, whose: tuple[str, str]) -> str:
    """The name of a chat's file, the same each time. ``whose``: the app's name and the user's id.

    It has the letters and digits of the chat's id, and a digest of all three: chats of two users may have one id.
    """
    readable = sub(r"[^A-Za-z0-9_]+", "-", chat_id)[:ID_LENGTH].strip("-") or "chat"
    digest = sha256(repr((*whose, chat_id)).encode()).hexdigest()[:16]
    return f"{readable}-{digest}.jsonl"
