"""Check if the AI SDK's clients accept the stream in a file: an SSE capture, lines of JSON chunks, or recorded ADK
events.

The file is checked while it is read. ADK is imported only for ADK events.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import nullcontext
from itertools import chain
from pathlib import Path
from typing import IO, Final

from stream_protocol.check._captured_response import (
    NOT_A_STREAM,
    later_error,
    non_stream_reason,
    python_hint,
    unknown_text_reason,
)
from stream_protocol.check._rules import Finding, Problem, Rule
from stream_protocol.check._stream_checker import StreamChecker
from stream_protocol.recording.read import (
    PIECE,
    Form,
    NotARecordingError,
    UnreadableError,
    copy_of_stream,
    detect_form,
    event_lines,
    text_lines,
    text_of,
)
from stream_protocol.wire import (
    AI_SDK_VERSIONS,
    AiSdkVersion,
    argument_error,
    check_choice,
    check_path,
    check_text,
    parse_json,
)
from stream_protocol.wire.client import Line, sse_events

ALL_VERSIONS: Final[tuple[AiSdkVersion, ...]] = AI_SDK_VERSIONS
"""The supported major versions of the AI SDK."""

_DONE: Final = "[DONE]"
_V4_LINE: Final = re.compile(r"[0-9a-z]:")
_EVENT_KEY: Final = re.compile(
    r'"(?:author|events|app_?name|invocation_?id|recordings|eval_?(?:cases|id)|eval_?case_?(?:id|results)'
    r'|eval_?set_?(?:result_?)?id|agent_?data|query|error_details|adk_ui_stream_recording)\\?"\s*:',
    re.IGNORECASE,
)


def check_file(
    path: str | Path, *, session: str | None = None, versions: Sequence[AiSdkVersion] = ALL_VERSIONS
) -> Iterator[Finding]:
    """Return the problems of the stream in a file, in the order of the file.

    ``session``: the session to check, if the file is a store or an evalset of ADK. Raises ``UnreadableError`` if the
    file contains neither a capture nor chunks nor ADK events. If a later line cannot be read, the iterator raises this
    error at that line.
    """
    check_path("path", path)
    check_text("session", session, or_none=True)
    _check_versions(versions)
    return _check_file(path, session, versions)


def _check_versions(versions: object) -> None:
    if not isinstance(versions, Collection) or isinstance(versions, str):
        raise argument_error("versions", "a list of versions", versions)
    for version in versions:
        check_choice("versions", version, ALL_VERSIONS)


def _check_file(path: str | Path, session: str | None, versions: Sequence[AiSdkVersion]) -> Iterator[Finding]:
    try:
        with Path(path).open("rb") as stream:
            yield from _check(stream, Path(path) if stream.seekable() else None, session, versions)
    except OSError as error:
        raise UnreadableError(error.strerror or "cannot be read") from None
    except ValueError as error:  # the path has a null character
        raise error if isinstance(error, UnreadableError) else UnreadableError("not a valid path") from None


def check_stream(stream: IO[bytes], *, versions: Sequence[AiSdkVersion] = ALL_VERSIONS) -> Iterator[Finding]:
    """Return the problems of the stream in an open binary file or pipe. Raises ``UnreadableError`` like
    ``check_file``.
    """
    if not callable(getattr(stream, "read", None)):
        raise argument_error("stream", 'an open binary file, such as open(path, "rb")', stream)
    _check_versions(versions)
    return _check(stream, None, None, versions)


def _check(
    stream: IO[bytes], path: Path | None, session: str | None, versions: Sequence[AiSdkVersion]
) -> Iterator[Finding]:
    """Yield the problems of the stream. ``path``: the path of the file; ``None`` for a file that cannot be opened
    again.
    """
    head = stream.read(PIECE)
    text = text_of(head)
    pieces = chain([head], iter(lambda: stream.read(PIECE), b""))
    form = detect_form(head)
    if not text:
        raise UnreadableError("the file is empty")
    if (reason := non_stream_reason(text)) is not None:
        raise UnreadableError(reason)
    if form is Form.CAPTURE and not _begins_with_event(text):
        yield from _check_sse(event_lines(pieces), StreamChecker(versions))
    elif _begins_with_chunk(text):
        yield from _check_jsonl(text_lines(pieces), StreamChecker(versions, start_begins_response=True))
    elif form in (Form.STORE, Form.YAML, Form.CAPTURE) or (form is Form.JSON and _EVENT_KEY.search(text)):
        from stream_protocol.check._check_events import check_events

        with nullcontext(path) if path is not None else copy_of_stream(head, stream) as file:
            try:
                yield from check_events(file, session, versions)
            except NotARecordingError:
                raise UnreadableError(NOT_A_STREAM) from None
    elif "\0" not in text and _V4_LINE.match(text):
        raise UnreadableError("this is a data stream of AI SDK 4, which clients of 6 and 7 cannot read")
    else:
        raise UnreadableError(unknown_text_reason(text))


def _begins_with_event(text: str) -> bool:
    """Return True if the first SSE event is an ADK event, or ADK's error for a failed run."""
    data = re.search(r"^data: ?(.*)", text, re.MULTILINE)
    return data is not None and not _begins_with_chunk(data[1]) and _EVENT_KEY.search(data[1]) is not None


def _begins_with_chunk(text: str) -> bool:
    line = text.partition("\n")[0]
    try:
        value = parse_json(line)
    except ValueError:  # the line may have NaN, or be longer than the first piece
        return re.match(r'\{\s*"type"\s*:', line) is not None
    return isinstance(value, dict) and isinstance(value.get("type"), str)


def _check_sse(lines: Iterable[Line], checker: StreamChecker) -> Iterator[Finding]:
    bare_cr: list[int] = []
    ended = done = False
    for event in sse_events(_note_bare_cr(_refuse_errors(lines), bare_cr)):
        done = event.complete and event.data == _DONE
        if done and checker.in_response:
            yield from checker.end_response()
            ended = True
        elif not event.complete and event.data != _DONE:
            yield from checker.check_unterminated(event.data, event.line)
        elif event.data != _DONE:
            yield from checker.check_data(event.data, event.line)
    if checker.in_response or not ended:
        yield from checker.end_response()
    if not done:
        yield from checker.report(Problem(Rule.DONE_MISSING, "The stream does not end in [DONE]."))
    if bare_cr:
        problem = Problem(Rule.BARE_CR, "The line ends in a CR alone, not in LF or CRLF.")
        yield from checker.report(problem, line=bare_cr[0])


def _refuse_errors(lines: Iterable[Line]) -> Iterator[Line]:
    """Yield the lines unchanged. Raises ``UnreadableError`` at the status line of an HTTP error response."""
    for line in lines:
        if (reason := later_error(line.text)) is not None:
            raise UnreadableError(f"line {line.number}: {reason}")
        yield line


def _note_bare_cr(lines: Iterable[Line], bare_cr: list[int]) -> Iterator[Line]:
    """Yield the lines unchanged. If a line ends in CR without LF, appends the number of the first such line to the list
    ``bare_cr``.
    """
    for line in lines:
        if not bare_cr and (line.end == "\r" or line.text.endswith("\r")):
            bare_cr.append(line.number)
        yield line


def _check_jsonl(lines: Iterable[Line], checker: StreamChecker) -> Iterator[Finding]:
    for line in lines:
        text = line.text.strip()
        if text == _DONE and checker.in_response:
            yield from checker.end_response()
        elif text and text != _DONE:
            for finding in checker.check_data(text, line.number):
                if finding.rule is Rule.INVALID_JSON:
                    hint = python_hint(text)
                    raise UnreadableError(f"line {line.number} is not JSON" + (f": {hint}" if hint else ""))
                if finding.rule is Rule.NOT_A_CHUNK and _EVENT_KEY.search(text):
                    raise UnreadableError(f"line {line.number} is an ADK event among chunks")
                yield finding
    if checker.in_response:
        yield from checker.end_response()
