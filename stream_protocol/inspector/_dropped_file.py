"""Converts a file that a user drops on the Inspector's page: a recording in any format, or a captured stream.

This module limits only the size of the result (``Budget``). The caller limits the size of the file, and the time and
memory of the conversion.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Final, cast

import orjson

from stream_protocol.check import check_file
from stream_protocol.inspector._chat_view import finding_json
from stream_protocol.inspector._entries import Entry, as_recording, chunk_entry, event_entry, json_array
from stream_protocol.inspector._pytest_text import named_test
from stream_protocol.recording import (
    Recording,
    RecordingError,
    ReplayStep,
    TimedEvent,
    load_recording,
    replay_messages,
    replay_steps,
)
from stream_protocol.recording.read import (
    PIECE,
    EndRecord,
    Form,
    TurnRecord,
    UnreadableError,
    detect_form,
    event_lines,
    text_lines,
)
from stream_protocol.recording.write import (
    end_line,
    event_json,
    header_line,
    redact_chunk,
    redact_event,
    redact_request,
    turn_line,
    value_line,
)
from stream_protocol.session import fold_response
from stream_protocol.stream import Settings
from stream_protocol.wire import AnyChunk, UIMessage, client_version, json_value, parse_json, to_well_formed
from stream_protocol.wire.client import sse_events

MAX_SHOWN_BYTES: Final = 64 * 2**20

MAX_FINDINGS: Final = 500
"""Maximum number of findings in a result, because an invalid stream may have a finding for each chunk."""

_DONE: Final = "[DONE]"
_ENDS: Final = {"finish": "finish", "error": "error", "abort": "abort"}
"""Type of a chunk that ends a response -> how the response ended."""


@dataclass
class Budget:
    """The number of bytes that may still be added to the result for a file."""

    bytes_left: int = field(default_factory=lambda: MAX_SHOWN_BYTES)

    def spend(self, size: int) -> None:
        """Subtract ``size`` bytes. Raises ``UnreadableError`` if too few are left."""
        self.bytes_left -= size
        if self.bytes_left < 0:
            raise UnreadableError(f"its result is larger than {MAX_SHOWN_BYTES // 2**20} MiB, too much for a page")


def shown_file(path: Path, session: str | None) -> bytes:
    """Return the content of a file for the Inspector, as ``{"entries", "messages", "findings", "recordable"}``.

    ``entries``: see ``_entries``. ``messages``: the client's messages after all turns of the file. ``findings``: the
    findings of ``adk-ui-stream check``. A finding has the ``number`` of its chunk (from 1), if the chunk is shown.
    ``recordable``: true if the file has ADK events. Nothing is redacted, because the result goes to the sender of the
    file. Raises ``UnreadableError``.
    """
    budget = Budget()
    recording = _recording(path, session)
    if recording is not None:
        entries = list(_event_entries(recording, budget, redacted=False))
        messages = replay_messages(recording.stream_turns(), delegated=recording.delegated)
        versions = _versions(recording)
    else:
        entries, messages = _read_capture(path, budget)
        versions = set()
    return b'{"entries":%b,"messages":%b,"findings":%b,"recordable":%b}' % (
        json_array([*_numbered(entries)]),
        _json(messages),
        _json(_findings(path, session, versions)),
        b"true" if recording is not None else b"false",
    )


def numbered_entries(path: Path, session: str | None) -> list[bytes]:
    """Return the entries of a recording, each as JSON. Raises ``RecordingError``."""
    return [*_numbered([*_event_entries(load_recording(path, session=session), Budget(), redacted=False)])]


def recorded_findings(path: Path, session: str | None) -> list[dict[str, Any]]:
    """Return the findings of ``adk-ui-stream check`` for a recording. Chunks have the same numbers as in
    ``numbered_entries``.
    """
    return _findings(path, session, _versions(load_recording(path, session=session)))


def _findings(path: Path, session: str | None, versions: set[int]) -> list[dict[str, Any]]:
    """Return the findings of ``adk-ui-stream check`` for a file. ``versions``: the AI SDK versions of the streams on
    the page. A finding gets the ``number`` of its chunk only if it applies to all these versions.
    """
    findings: list[dict[str, Any]] = []
    for finding in islice(check_file(path, session=session), MAX_FINDINGS):
        findings.append({**finding_json(finding), "line": finding.line})
        # For a recording, `check` creates a stream for each client version. The page shows one of these streams.
        if finding.chunk > 0 and versions <= set(finding.versions):
            findings[-1]["number"] = finding.chunk
    return findings


def _versions(recording: Recording) -> set[int]:
    return {client_version(head.options.get("ai_sdk", 6)).major for head, _ in recording.stream_turns()}


def recording_of_file(path: Path, session: str | None) -> tuple[str, bytes]:
    """Return a name for the file, and the file's content as a recording without secrets.

    Raises ``UnreadableError`` if the file cannot be read or has no ADK events.
    """
    recording = _without_secrets(path, session)
    name, _ = _named_test(recording)
    return name, recording


def test_of_file(path: Path, session: str | None) -> str:
    """Return a Python test for the recording in a file. Raises ``UnreadableError`` if the file cannot be read or has no
    ADK events.
    """
    _, text = _named_test(_without_secrets(path, session))
    return text


def _named_test(recording: bytes) -> tuple[str, str]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "recording"
        path.write_bytes(recording)
        return named_test(path)


def _without_secrets(path: Path, session: str | None) -> bytes:
    recording = load_recording(path, session=session)
    first = next(iter(recording.stream_turns()))[0]
    header = header_line(chat=None, options=first.options)
    return as_recording(header, _event_entries(recording, Budget(), redacted=True))


def _numbered(entries: Sequence[Entry]) -> Iterator[bytes]:
    """Yield the entries as JSON for the page. Chunks get the same numbers as in ``adk-ui-stream check``. Captured data
    that is not a chunk also gets a number.
    """
    chunk = 0
    for entry in entries:
        if entry.line.startswith((b'{"chunk"', b'{"text"')):
            chunk += 1
            yield b'{"number":%d,' % chunk + entry.shown[1:]
        else:
            yield entry.shown


def _recording(path: Path, session: str | None) -> Recording | None:
    try:
        return load_recording(path, session=session)
    except RecordingError:
        return None


def _event_entries(recording: Recording, budget: Budget, *, redacted: bool) -> Iterator[Entry]:
    for head, steps in replay_steps(recording):
        begun = False
        at: float | None = None
        end: EndRecord | None = None
        for step in steps:
            if not begun:
                request = step.item.request if isinstance(step.item, TurnRecord) else None
                if redacted and request is not None:
                    request = redact_request(request)
                request, message_id = json_value(request, lossy=True), to_well_formed(head.message_id)
                yield _spent(Entry(turn_line(request=request, message_id=message_id, options=head.options)), budget)
                begun = True
            at = step.at if step.at is not None else at
            if isinstance(step.item, EndRecord):
                end = step.item
            for entry in _step_entries(step, at, redacted=redacted):
                yield _spent(entry, budget)
            if step.item is None and step.outcome is not None:
                yield Entry(end_line(step.outcome, at), recorded=end is not None)


def _step_entries(step: ReplayStep[bytes], at: float | None, *, redacted: bool) -> Iterator[Entry]:
    if isinstance(step.item, TimedEvent):
        event = event_json(step.item.event)
        event = redact_event(event) if redacted else event
        yield event_entry(value_line("event", event, at), len(orjson.dumps(event)))
    for sse in step.sent:
        chunk = orjson.loads(sse.removeprefix(b"data: "))
        chunk = redact_chunk(chunk) if redacted else chunk
        yield chunk_entry(value_line("chunk", chunk, at), len(sse), closing=step.item is None)


def _spent(entry: Entry, budget: Budget) -> Entry:
    budget.spend(len(entry.line))
    return entry


def _read_capture(path: Path, budget: Budget) -> tuple[list[Entry], list[UIMessage]]:
    """Return the entries of a captured stream, and the client's messages after the stream."""
    capture = _Capture(budget)
    with path.open("rb") as stream:
        head = stream.read(PIECE)
        stream.seek(0)
        pieces = iter(lambda: stream.read(PIECE), b"")
        if detect_form(head) is Form.CAPTURE:
            for event in sse_events(event_lines(pieces)):
                capture.add(event.data)
        else:
            for line in text_lines(pieces):
                if data := line.text.strip():
                    capture.add(data)
    capture.end_response()
    return capture.entries, list(capture.messages.values())


class _Capture:
    """Collects the entries and messages of a captured stream. A stream may contain several responses."""

    def __init__(self, budget: Budget) -> None:
        self.entries: list[Entry] = []
        self.messages: dict[str, UIMessage] = {}
        """Message id -> message, oldest first."""
        self._budget = budget
        self._chunks: list[AnyChunk] = []
        """The chunks of the newest response."""
        self._outcome: str | None = None
        self._in_response = False

    def add(self, data: str) -> None:
        """Add the data of one SSE event or line."""
        if data == _DONE:
            self.end_response()
            return
        try:
            chunk = parse_json(data)
        except ValueError:
            chunk = None
        kind = chunk.get("type") if isinstance(chunk, dict) else None
        if kind == "start" and self._outcome is not None:
            self.end_response()
        if not self._in_response:
            message_id = chunk.get("messageId") if isinstance(chunk, dict) and kind == "start" else None
            self._keep(Entry(turn_line(request=None, message_id=json_value(message_id, lossy=True), options={})))
            self._in_response = True
        size = len(data.encode("utf-8", "surrogatepass"))
        if isinstance(kind, str):
            self._chunks.append(cast("AnyChunk", chunk))
            self._outcome = _ENDS.get(kind, self._outcome)
            self._keep(chunk_entry(_line("chunk", chunk), size + len("data: \n\n")))
        else:
            self._keep(chunk_entry(_line("text", data), size + len("data: \n\n")))

    def end_response(self) -> None:
        if not self._in_response:
            return
        if self._outcome is not None:
            self._keep(Entry(_line("end", self._outcome)))
        message_id = next((str(chunk.get("messageId", "")) for chunk in self._chunks if chunk["type"] == "start"), "")
        message = fold_response(self._chunks, self.messages.get(message_id), Settings(ai_sdk=7))
        self.messages[message["id"]] = message
        self._chunks, self._outcome, self._in_response = [], None, False

    def _keep(self, entry: Entry) -> None:
        self.entries.append(_spent(entry, self._budget))


def _line(kind: str, value: Mapping[str, Any] | str) -> bytes:
    return _json({kind: value}) + b"\n"


def _json(value: Any) -> bytes:
    """Return the value as JSON text. The value may contain lone surrogates, and numbers of any size."""
    return orjson.dumps(json_value(value, lossy=True))
