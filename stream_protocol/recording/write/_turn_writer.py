"""Writes a turn to the recording file of its chat. Only one turn at a time writes to a file.

Each line is written with one ``write`` call of the operating system. A killed process leaves at most one incomplete
line, which the next turn removes. A power failure can lose the last lines, because ``fsync`` is not called.

If writing or the app's redaction fails, the error is logged once, and nothing more is written to the file. So the
recording has no gap. The run itself continues.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from copy import deepcopy
from io import FileIO
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, Literal

import orjson

from stream_protocol._private_files import lock_file, make_private_folder, open_private
from stream_protocol.recording.write._recording_lines import (
    FIRST_BYTES,
    end_line,
    event_json,
    header_line,
    turn_line,
    value_line,
)
from stream_protocol.recording.write._redaction import Redact, redact_chunk, redact_event, redact_request

if TYPE_CHECKING:
    from google.adk.events import Event

    from stream_protocol.stream import ConverterOptions, Ending

logger = logging.getLogger(__name__)

MAX_FILES: Final = 16
"""Maximum number of files of one chat. Each process that writes the chat at the same time has its own file."""

_BLOCK: Final = 2**16


class TurnWriter:
    """Writes one turn to a recording file. The methods never raise. After a failure, all methods do nothing."""

    def __init__(
        self,
        path: Path,
        *,
        chat: str | None,
        request: Mapping[str, Any] | None,
        options: ConverterOptions,
        redact: Redact | None,
        failed_files: set[Path],
    ) -> None:
        self._path = path
        self._chat = chat
        self._request = request
        self._options = options
        self._redact = redact
        self._failed_files = failed_files
        """Files that are not written any more after a failure, shared by all turns of a recorder."""
        self._file: ChatFile | None = None
        self._begun_at = 0.0

    @property
    def active(self) -> bool:
        return self._file is not None

    def begin(self, message_id: str | None) -> None:
        """Open the file, and write the first line of the turn."""
        if self._path in self._failed_files:
            return
        with self.stop_on_failure():
            line = turn_line(request=self._request_without_secrets(), message_id=message_id, options=self._options)
            self._file = open_chat_file(self._path, header_line(chat=self._chat, options=self._options))
            self._file.append(line)
            self._begun_at = monotonic()

    def event(self, event: Event) -> None:
        if self._file is not None:
            with self.stop_on_failure():
                self._write("event", redact_event(event_json(event)))

    def written(self, sse: Iterable[bytes]) -> None:
        """Write the chunks that were sent to the client. ``sse``: the chunks as SSE events."""
        if self._file is not None:
            with self.stop_on_failure():
                for item in sse:
                    self._write("chunk", redact_chunk(orjson.loads(item.removeprefix(b"data: "))))

    def end(self, outcome: Ending | None) -> None:
        """Write the response's ending, unless ``outcome`` is ``None``, and close the file."""
        if self._file is not None:
            with self.stop_on_failure():
                if outcome is not None:
                    self._file.append(end_line(outcome, monotonic() - self._begun_at))
                self._file.close()
            self._file = None

    @contextmanager
    def stop_on_failure(self) -> Iterator[None]:
        """Context manager that logs an exception and ends the recording. The exception is not raised, so that the run
        continues."""
        try:
            yield
        except Exception:
            logger.exception("This chat is not recorded any further: %s", self._path)
            self._failed_files.add(self._path)
            if self._file is not None:
                with suppress(OSError):
                    self._file.close()
                self._file = None

    def _request_without_secrets(self) -> dict[str, Any] | None:
        if self._request is None:
            return None
        request = redact_request(self._request)
        return request if self._redact is None else self._redact("request", deepcopy(request))

    def _write(self, kind: Literal["event", "chunk"], value: dict[str, Any]) -> None:
        redacted = value if self._redact is None else self._redact(kind, value)
        if self._file is not None and redacted is not None:
            self._file.append(value_line(kind, redacted, monotonic() - self._begun_at))


class ChatFileError(OSError):
    """Raised if a recording file cannot be written. ``str(error)`` is one line with the reason."""


class ChatFile:
    """A recording file that is open for writing, and locked for this process until ``close``."""

    def __init__(self, stream: FileIO) -> None:
        self._stream = stream

    def append(self, line: bytes) -> None:
        """Write a line. Raises ``OSError`` if writing fails. The file may then contain a part of the line."""
        if self._stream.write(line) != len(line):
            raise ChatFileError("the disk took only a part of a line")

    def close(self) -> None:
        self._stream.close()


def open_chat_file(path: Path, header: bytes) -> ChatFile:
    """Open the recording file at ``path`` to append a turn. If this file is locked, open a file with a similar name.

    Writes ``header`` to a new file. Removes an incomplete last line. Raises ``OSError`` if the file cannot be opened.
    """
    make_private_folder(path.parent)
    for candidate in _candidates(path):
        stream = FileIO(candidate, "a+", opener=open_private)
        try:
            if lock_file(stream):
                _prepare(stream, header)
                return ChatFile(stream)
        except BaseException:
            stream.close()
            raise
        stream.close()
    raise ChatFileError(f"{MAX_FILES} processes write {path}")


def _candidates(path: Path) -> Iterator[Path]:
    yield path
    for number in range(2, MAX_FILES + 1):
        yield path.with_name(f"{path.stem}.{number}{path.suffix}")


def _prepare(stream: FileIO, header: bytes) -> None:
    stream.seek(0)
    if not FIRST_BYTES.startswith(stream.read(len(FIRST_BYTES))):
        raise ChatFileError("the file is there, and no recording of this version")
    end = _end_of_lines(stream)
    stream.truncate(end)
    if not end:
        ChatFile(stream).append(header)


def _end_of_lines(stream: FileIO) -> int:
    """Return the position after the last complete line in the file."""
    end = stream.seek(0, os.SEEK_END)
    while end:
        start = max(0, end - _BLOCK)
        stream.seek(start)
        newline = stream.read(end - start).rfind(b"\n")
        if newline >= 0:
            return start + newline + 1
        end = start
    return 0
