"""Reads a file of recorded ADK events, whatever its form."""

from collections.abc import Iterator
from pathlib import Path
from typing import IO

from stream_protocol.adk import WarnOnce
from stream_protocol.recording.read._detect_form import PIECE, Form, detect_form, why_unknown
from stream_protocol.recording.read._documents import read_json, read_yaml
from stream_protocol.recording.read._lines import Lines
from stream_protocol.recording.read._open_file import open_recording
from stream_protocol.recording.read._records import Record, RecordingError
from stream_protocol.recording.read._sqlite import read_store
from stream_protocol.recording.read._sse_captures import read_capture


def read_records(path: Path, session: str | None, warn: WarnOnce) -> Iterator[Record]:
    """Yields the records in order. Forms that have events on lines are read line by line.

    Raises ``RecordingError`` if the file is no recording.
    """
    empty = True
    with open_recording(path) as stream:
        for record in _read_form(stream, path, session, warn):
            empty = False
            yield record
    if empty:
        raise RecordingError("no events in it")


def _read_form(stream: IO[bytes], path: Path, session: str | None, warn: WarnOnce) -> Iterator[Record]:
    head = stream.read(PIECE)
    stream.seek(0)
    match detect_form(head):
        case Form.STORE:
            return read_store(path, session, warn)
        case Form.CAPTURE:
            return read_capture(stream, session)
        case Form.YAML:
            return read_yaml(Lines(stream), session)
        case Form.JSON:
            return read_json(Lines(stream), session, warn)
        case None:
            raise RecordingError(why_unknown(head))
