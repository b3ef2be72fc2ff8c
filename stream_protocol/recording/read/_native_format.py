"""Reads the recordings of this package. docs/recording.md describes the format.

The first line is a header. Each other line is the beginning of a turn, an event, a chunk, or the end of a turn.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from stream_protocol.adk import WarnOnce
from stream_protocol.recording.read._choose_session import choose_session
from stream_protocol.recording.read._lines import Lines
from stream_protocol.recording.read._parsing import parse_json_text, seconds
from stream_protocol.recording.read._records import (
    ChunkRecord,
    EndRecord,
    EventRecord,
    Record,
    RecordingError,
    TurnRecord,
)
from stream_protocol.stream import ConverterOptions, Settings, options_from_json
from stream_protocol.wire import StreamProtocolError, short_json

HEADER_KEY: Final = "adk_ui_stream_recording"
"""The key in the first line of a recording. Its value is the version of the format."""

VERSION: Final = 1
"""The version of the recording format that this release reads."""


def is_header(value: Any) -> bool:
    return isinstance(value, dict) and HEADER_KEY in value


def read_native(header: Mapping[str, Any], lines: Lines, session: str | None, warn: WarnOnce) -> Iterator[Record]:
    """Return the records that follow the header of a recording.

    Skips lines of unknown kinds and an incomplete last line, with a warning. Raises ``RecordingError`` for an
    unsupported version of the format, and for invalid lines.
    """
    version = header[HEADER_KEY]
    if version is True or version != VERSION:
        raise RecordingError(
            f"the recording has version {short_json(version)} of its format; this release reads {VERSION}"
        )
    if session is not None:
        choose_session([header["chat"]] if isinstance(header.get("chat"), str) else [], session)
    return _records(lines, warn)


def _records(lines: Lines, warn: WarnOnce) -> Iterator[Record]:
    for text in lines:
        number = lines.number
        try:
            line = parse_json_text(text, number)
        except RecordingError:
            if not lines.cut_off:
                raise
            warn("Skipped the last line of the recording, which is cut off.")
            return
        if not isinstance(line, dict) or is_header(line):
            raise RecordingError(f"line {number} has no place in a recording")
        record = _record(line, number)
        if record is None:
            warn(f"Skipped the line {number} of the recording, and others like it, which this release does not know.")
        else:
            yield record


def _record(line: dict[str, Any], number: int) -> Record | None:
    at = line.get("at")
    match line:
        case {"event": event}:
            return EventRecord(number, event, seconds(at))
        case {"chunk": {"type": str()} as chunk}:
            return ChunkRecord(chunk)
        case {"end": "finish" | "error" | "timeout" | "abort" as end}:
            return EndRecord(end)
        case {"turn": dict(turn)}:
            message_id, request = turn.get("message_id"), turn.get("request")
            return TurnRecord(
                message_id if isinstance(message_id, str) else "",
                request if isinstance(request, dict) else None,
                _options(turn.get("options"), number),
            )
    return None


def _options(value: Any, number: int) -> ConverterOptions:
    """Return the recorded options that this release supports. Raises ``RecordingError`` for a value that the converter
    refuses."""
    options = options_from_json(value if isinstance(value, dict) else {})
    try:
        Settings(**options)
    except StreamProtocolError as error:
        reason = str(error).removesuffix(".")
        raise RecordingError(f"line {number} has options that cannot be: {reason}") from None
    return options
