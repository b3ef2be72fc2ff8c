"""Turns on their way to a file.

Whatever fails there, the disk or an app's own redaction, is logged once, and the chat is recorded no further by this
recorder: a recording with a hole in it would not replay as what happened. The run itself never notices.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from copy import deepcopy
from hashlib import sha256
from pathlib import Path
from re import sub
from typing import TYPE_CHECKING, Any, Final, Literal

import orjson

from stream_protocol.recording.write._chat_file import ChatFile, open_chat_file
from stream_protocol.recording.write._event_json import event_json
from stream_protocol.recording.write._format import end_line, header_line, turn_line, value_line
from stream_protocol.recording.write._redaction import Redact, redacted_chunk, redacted_event, redacted_request

if TYPE_CHECKING:
    from google.adk.events import Event

    from stream_protocol.convert import ConverterOptions, Ending
    from stream_protocol.wire import ChatRequest

logger = logging.getLogger(__name__)

Clock = Callable[[], float]
"""Seconds that never go back, from whatever beginning."""

SHOWN_ID: Final = 40
"""Characters of a chat's id in its file's name, for people. What tells chats apart is the digest behind them."""


class _Recorder:
    def __init__(self, redact: Redact | None, clock: Clock) -> None:
        self._redact = redact
        self._clock = clock
        self._given_up: set[Path] = set()

    def _turn(self, path: Path, request: ChatRequest, options: ConverterOptions) -> TurnWriter:
        return TurnWriter(
            path,
            chat=request.id,
            request=request_body(request),
            options=options,
            redact=self._redact,
            clock=self._clock,
            given_up=self._given_up,
        )


class ChatRecorder(_Recorder):
    """Records the chats of a ``ChatService``, each in a file of its own in ``folder``, which is made if need be.

    ``redact``: the app's own redaction of what is written: see ``Redact``. Files are readable by their owner alone; for
    their names see ``file_name``. Raises ``OSError`` if the folder cannot be made.
    """

    def __init__(self, folder: str | Path, *, redact: Redact | None = None, clock: Clock = time.monotonic) -> None:
        super().__init__(redact, clock)
        self._folder = Path(folder)
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def turn(self, request: ChatRequest, *, app_name: str, user_id: str, options: ConverterOptions) -> TurnWriter:
        """The recorder of the run that answers this request."""
        path = self._folder / file_name(request.id, whose=(app_name, user_id))
        return self._turn(path, request, options)


class FileRecorder(_Recorder):
    """Records all that a ``ChatService`` runs in one file, which turns are added to: for a service with one chat."""

    def __init__(self, path: str | Path, *, redact: Redact | None = None, clock: Clock = time.monotonic) -> None:
        super().__init__(redact, clock)
        self._path = Path(path)

    def turn(self, request: ChatRequest, *, options: ConverterOptions, **_whose: str) -> TurnWriter:
        """The recorder of the run that answers this request."""
        return self._turn(self._path, request, options)


class TurnWriter:
    """One turn. Its methods never raise; once one has failed, all do nothing."""

    def __init__(
        self,
        path: Path,
        *,
        chat: str | None,
        request: Mapping[str, Any] | None,
        options: ConverterOptions,
        redact: Redact | None,
        clock: Clock,
        given_up: set[Path],
    ) -> None:
        self._path = path
        self._chat = chat
        self._request = request
        self._options = options
        self._redact = redact
        self._clock = clock
        self._given_up = given_up
        """Files that are recorded into no further; this one's, once something has failed."""
        self._file: ChatFile | None = None
        """Open from ``begin`` to ``end``."""
        self._begun_at = 0.0

    @property
    def active(self) -> bool:
        """Whether the turn has begun, and something of it can still be written."""
        return self._file is not None

    def begin(self, message_id: str | None) -> None:
        """Opens the file and writes what is known of the turn."""
        if self._path in self._given_up:
            return
        with self.giving_up():
            line = turn_line(request=self._cleaned_request(), message_id=message_id, options=self._options)
            self._file = open_chat_file(self._path, header_line(chat=self._chat, options=self._options))
            self._file.append(line)
            self._begun_at = self._clock()

    def event(self, event: Event) -> None:
        """Writes an event as it is now."""
        if self._file is not None:
            with self.giving_up():
                self._write("event", redacted_event(event_json(event)))

    def written(self, sse: Iterable[bytes]) -> None:
        """Writes what went out: SSE events, one chunk each."""
        if self._file is not None:
            with self.giving_up():
                for item in sse:
                    self._write("chunk", redacted_chunk(orjson.loads(item.removeprefix(b"data: "))))

    def end(self, outcome: Ending | None) -> None:
        """Writes how the response ended, and closes the file."""
        if self._file is not None:
            with self.giving_up():
                if outcome is not None:
                    self._file.append(end_line(outcome, self._clock() - self._begun_at))
                self._file.close()
            self._file = None

    @contextmanager
    def giving_up(self) -> Iterator[None]:
        """The boundary where any failure ends the recording, and nothing else."""
        try:
            yield
        except Exception:
            logger.exception("This chat is not recorded any further: %s", self._path)
            self._given_up.add(self._path)
            if self._file is not None:
                with suppress(OSError):
                    self._file.close()
                self._file = None

    def _cleaned_request(self) -> dict[str, Any] | None:
        if self._request is None:
            return None
        request = redacted_request(self._request)
        return request if self._redact is None else self._redact("request", deepcopy(request))

    def _write(self, kind: Literal["event", "chunk"], value: dict[str, Any]) -> None:
        kept = value if self._redact is None else self._redact(kind, value)
        if self._file is not None and kept is not None:
            self._file.append(value_line(kind, kept, self._clock() - self._begun_at))


def request_body(request: ChatRequest) -> dict[str, Any]:
    """The request as its client posted it."""
    own = {} if request.message_id is None else {"messageId": request.message_id}
    return {"id": request.id, "messages": list(request.messages), "trigger": request.trigger, **own, **request.body}


def file_name(chat_id: str, *, whose: tuple[str, str]) -> str:
    """The name of a chat's file, the same each time. ``whose``: the app's name and the user's id.

    Two users may have chats of one id, and an id may hold anything: what is not plain in it becomes ``-``.
    """
    shown = sub(r"[^A-Za-z0-9_]+", "-", chat_id)[:SHOWN_ID].strip("-") or "chat"
    digest = sha256(repr((*whose, chat_id)).encode()).hexdigest()[:16]
    return f"{shown}-{digest}.jsonl"
