"""Our own recordings: a header, then on each line a turn, an event, a chunk or an end, each with its time."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from stream_protocol.convert import ConverterOptions, Settings, WarnOnce, options_from_json
from stream_protocol.recording.read._choose_session import choose
from stream_protocol.recording.read._lines import Lines, parsed
from stream_protocol.recording.read._records import ChunkRecord, EndRecord, EventRecord, Record, TurnRecord
from stream_protocol.recording.read._unreadable import RecordingError
from stream_protocol.wire import StreamProtocolError, short_json

HEADER_KEY: Final = "adk_ui_stream_recording"
"""Says in the first line that this is such a recording, and of which version."""

VERSION: Final = 1
"""Of the format that is written, and the only one that is read."""


def is_header(value: Any) -> bool:
    """Whether the value on a file's first line says that the file is one of our recordings."""
    return isinstance(value, dict) and HEADER_KEY in value


def read_own(header: Mapping[str, Any], lines: Lines, session: str | None, warn: WarnOnce) -> Iterator[Record]:
    """The records behind a header.

    What a crash left of the last line is skipped with a warning, as are lines that only a later version knows.
    Raises ``RecordingError``.
    """
    version = header[HEADER_KEY]
    if version is True or version != VERSION:
        raise RecordingError(
            f"the recording has version {short_json(version)} of its format; this release reads {VERSION}"
        )
    if session is not None:
        choose([header["chat"]] if isinstance(header.get("chat"), str) else [], session)
    return _records(lines, warn)


def _records(lines: Lines, warn: WarnOnce) -> Iterator[Record]:
    for text in lines:
        number = lines.number
        try:
            line = parsed(text, number)
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
            return EventRecord(number, event, float(at) if isinstance(at, int | float) else None)
        case {"chunk": {"type": str()} as chunk}:
            return ChunkRecord(chunk)
        case {"end": "finish" | "error" | "abort" as end}:
            failure = line.get("error")
            return EndRecord(end, failure if isinstance(failure, str) else "")
        case {"turn": dict(turn)}:
            message_id, request = turn.get("message_id"), turn.get("request")
            return TurnRecord(
                message_id if isinstance(message_id, str) else "",
                request if isinstance(request, dict) else None,
                _options(turn.get("options"), number),
            )
    return None


def _options(value: Any, number: int) -> ConverterOptions:
    """The options that this release knows."""
    options = options_from_json(value if isinstance(value, dict) else {})
    try:
        Settings(**options)
    except StreamProtocolError as error:
        raise RecordingError(f"line {number} has options that cannot be: {error}") from None
    return options
