"""Recorders for a ``ChatService``."""

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
"""Maximum number of characters of the chat's id in a file name. A digest follows the id."""


class _BaseRecorder:
    def __init__(self, redact: Redact | None) -> None:
        check_redact(redact)
        self._redact = redact
        self._failed_files: set[Path] = set()
        """Files that are not written any more after a failure."""

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
    """Recorder that writes each chat of a ``ChatService`` to a separate file in ``folder``. Creates the folder if
    needed.

    ``redact``: a function of your app that removes further secrets; see ``Redact``. Only the process's system user can
    read the files. Raises ``OSError`` if the folder cannot be created.
    """

    def __init__(self, folder: str | Path, *, redact: Redact | None = None) -> None:
        super().__init__(redact)
        check_path("folder", folder)
        self._folder = Path(folder)
        make_private_folder(self._folder)

    def turn(self, request: ChatRequest, *, app_name: str, user_id: str, options: ConverterOptions) -> TurnWriter:
        """Return a writer for one turn, which writes to the file of the request's chat."""
        path = self._folder / file_name(request.id, whose=(app_name, user_id))
        return self._write_turn(path, request, options)


class FileRecorder(_BaseRecorder):
    """Recorder that appends all turns of a ``ChatService`` to one file. Use it for a service that has only one chat."""

    def __init__(self, path: str | Path, *, redact: Redact | None = None) -> None:
        super().__init__(redact)
        check_path("path", path)
        self._path = Path(path)

    def turn(self, request: ChatRequest, *, options: ConverterOptions, **_whose: str) -> TurnWriter:
        """Return a writer for one turn, which writes to the recorder's file."""
        return self._write_turn(self._path, request, options)


def request_body(request: ChatRequest) -> dict[str, Any]:
    """Return the body of a request as the client sent it."""
    target = {} if request.message_id is None else {"messageId": request.message_id}
    return {"id": request.id, "messages": list(request.messages), "trigger": request.trigger, **target, **request.body}


def file_name(chat_id: str, *, whose: tuple[str, str]) -> str:
    """Return the name of the recording file for a chat. ``whose``: the app's name and the user's id.

    The chats of two users may have equal ids. So the name contains a hash of the app's name, the user's id and the
    chat's id.
    """
    readable = sub(r"[^A-Za-z0-9_]+", "-", chat_id)[:ID_LENGTH].strip("-") or "chat"
    digest = sha256(repr((*whose, chat_id)).encode()).hexdigest()[:16]
    return f"{readable}-{digest}.jsonl"
