"""Says whether a stream is legal for the clients of the AI SDK: an SSE capture, chunks or recorded ADK events.

What a file is, its first line tells, never its name. ADK is imported only for a file that holds ADK events: those are
converted first. A file is read as it is judged, and no more is kept of it than a response's calls.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import IO, Final

from stream_protocol.recording.judge import Judge
from stream_protocol.recording.rules import Finding, Problem, Rule
from stream_protocol.recording.unreadable import MAX_LINE, UnreadableError, overlong
from stream_protocol.wire.chunks import AiSdkVersion
from stream_protocol.wire.sse_reader import Line, OverlongLineError, split_lines, sse_events
from stream_protocol.wire.strict_json import parse_json

BOTH: Final[tuple[AiSdkVersion, ...]] = (6, 7)

PIECE: Final = 64 * 2**10
"""Bytes that are read at once, as much as a pipe holds; what a file is, must show in the first of them."""

_DONE: Final = "[DONE]"
_SSE_LINE: Final = re.compile(r"(?:data|event|id|retry)(?::|\r?\n|\Z)|:|HTTP/\d")
"""How an event stream begins; ``curl --include`` writes the response's head above it."""
_V4_LINE: Final = re.compile(r"[0-9a-z]:")
_EVENT_KEY: Final = re.compile(r'"(?:author|events|app_?[nN]ame|invocation_?[iI]d)"\s*:')


def check_file(path: str | Path, *, versions: Sequence[AiSdkVersion] = BOTH) -> Iterator[Finding]:
    """Yields what is wrong with the stream in a file, from its beginning to its end.

    Raises ``UnreadableError`` for what is no such file; perhaps after findings, if it stops being one.
    """
    try:
        with Path(path).open("rb") as stream:
            yield from check_stream(stream, versions=versions)
    except OSError as error:
        raise UnreadableError(error.strerror or "cannot be read") from None
    except ValueError as error:  # a path with a null character
        raise error if isinstance(error, UnreadableError) else UnreadableError("no path of a file") from None


def check_stream(stream: IO[bytes], *, versions: Sequence[AiSdkVersion] = BOTH) -> Iterator[Finding]:
    """``check_file`` for a file that is open, also if it is a pipe."""
    head = stream.read(PIECE)
    text = head.decode("utf-8-sig", "replace").lstrip()
    lines = _lines(chain([head], iter(lambda: stream.read(PIECE), b"")))
    if not text:
        raise UnreadableError("the file is empty")
    if "\0" not in text and _SSE_LINE.match(text):
        yield from _check_sse(lines, Judge(versions))
    elif _begins_with_chunk(text):
        yield from _check_jsonl(lines, Judge(versions, start_begins=True))
    elif text[0] in "{[" and _EVENT_KEY.search(text):
        from stream_protocol.recording.check_events import check_events

        yield from check_events(stream, head, versions)
    elif "\0" not in text and _V4_LINE.match(text):
        raise UnreadableError("this is the data stream of AI SDK 4, which later clients do not read")
    else:
        raise UnreadableError("neither an event stream, nor chunks, nor ADK events")


def _begins_with_chunk(text: str) -> bool:
    line = text.partition("\n")[0]
    try:
        value = parse_json(line)
    except ValueError:  # perhaps NaN, or longer than what has been read
        return re.match(r'\{\s*"type"\s*:', line) is not None
    return isinstance(value, dict) and isinstance(value.get("type"), str)


def _lines(pieces: Iterable[bytes]) -> Iterator[Line]:
    try:
        yield from split_lines(pieces, max_length=MAX_LINE)
    except OverlongLineError as error:
        raise overlong(error.number) from None


def _check_sse(lines: Iterable[Line], judge: Judge) -> Iterator[Finding]:
    bare_cr: list[int] = []
    ended = done = False
    for event in sse_events(_watched(lines, bare_cr)):
        done = event.complete and event.data == _DONE
        if done and judge.in_response:
            yield from judge.end_response()
            ended = True
        elif not event.complete and event.data != _DONE:
            yield from judge.take_unterminated(event.data, event.line)
        elif event.data != _DONE:
            yield from judge.take(event.data, event.line)
    if judge.in_response or not ended:
        yield from judge.end_response()
    if not done:
        yield from judge.note(Problem(Rule.DONE_MISSING, "The stream does not end in [DONE]."))
    if bare_cr:
        problem = Problem(Rule.BARE_CR, "The line ends in a CR alone, not in LF or CRLF.")
        yield from judge.note(problem, line=bare_cr[0])


def _watched(lines: Iterable[Line], bare_cr: list[int]) -> Iterator[Line]:
    """The lines of an event stream; ``bare_cr`` gets the number of the first that ends in a CR alone."""
    length = 0
    for line in lines:
        length = length + len(line.text) if line.text else 0
        if length > MAX_LINE:
            raise overlong(line.number, "event")
        if line.text.startswith("{"):
            raise UnreadableError(f"line {line.number} is JSON without `data:`, in an event stream")
        if not bare_cr and (line.end == "\r" or line.text.endswith("\r")):
            bare_cr.append(line.number)
        yield line


def _check_jsonl(lines: Iterable[Line], judge: Judge) -> Iterator[Finding]:
    for line in lines:
        text = line.text.strip()
        if text == _DONE and judge.in_response:
            yield from judge.end_response()
        elif text and text != _DONE:
            for finding in judge.take(text, line.number):
                if finding.rule is Rule.INVALID_JSON:
                    raise UnreadableError(f"line {line.number} is not JSON")
                if finding.rule is Rule.NOT_A_CHUNK and _EVENT_KEY.search(text):
                    raise UnreadableError(f"line {line.number} is an ADK event among chunks")
                yield finding
    if judge.in_response:
        yield from judge.end_response()
