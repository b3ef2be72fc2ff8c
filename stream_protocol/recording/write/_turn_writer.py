"""Writes one turn to the file of its chat.

If something fails (the disk, or an app's own redaction), the failure is logged once and nothing more is written to that
file: a recording with a gap would replay something that did not happen. The run itself goes on.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from copy import deepcopy
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal

import orjson

from stream_protocol.recording.write._chat_file import ChatFile, open_chat_file
from stream_protocol.recording.write._event_json import event_json
from stream_protocol.recording.write._recording_lines import end_line, header_line, turn_line, value_line
from stream_protocol.recording.write._redaction import Redact, redact_chunk, redact_event, redact_request

if TYPE_CHECKING:
    from google.adk.events import Event

    from stream_protocol.stream import ConverterOptions, Ending

logger = logging.getLogger(__name__)


class TurnWriter:
    """Writes one turn. Its methods never raise. After a failure they do nothing."""

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
        """Shared by the turns of a recorder: files that nothing more is written to."""
        self._file: ChatFile | None = None
        """Open from ``begin`` to ``end``."""
        self._begun_at = 0.0

    @property
    def active(self) -> bool:
        """Whether the turn has begun and can still be written."""
        return self._file is not None

    def begin(self, message_id: str | None) -> None:
        """Opens the file and writes the turn's first line."""
        if self._path in self._failed_files:
            return
        with self.stop_on_failure():
            line = turn_line(request=self._request_without_secrets(), message_id=message_id, options=self._options)
            self._file = open_chat_file(self._path, header_line(chat=self._chat, options=self._options))
            self._file.append(line)
            self._begun_at = monotonic()

    def event(self, event: Event) -> None:
        """Writes an event as it is now."""
        if self._file is not None:
            with self.stop_on_failure():
                self._write("event", redact_event(event_json(event)))

    def written(self, sse: Iterable[bytes]) -> None:
        """Writes what was sent: SSE events, one chunk each."""
        if self._file is not None:
            with self.stop_on_failure():
                for item in sse:
                    self._write("chunk", redact_chunk(orjson.loads(item.removeprefix(b"data: "))))

    def end(self, outcome: Ending | None) -> None:
        """Writes how the response ended, unless that is ``None``, and closes the file."""
        if self._file is not None:
            with self.stop_on_failure():
                if outcome is not None:
                    self._file.append(end_line(outcome, monotonic() - self._begun_at))
                self._file.close()
            self._file = None

    @contextmanager
    def stop_on_failure(self) -> Iterator[None]:
        """Logs any exception in this context. It ends the recording, not the run."""
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
