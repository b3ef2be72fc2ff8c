"""Says whether a stream is legal for the clients of the AI SDK: an SSE capture, chunks or recorded ADK events.

The first line tells what a file is, never its name. ADK is imported only for a file that holds ADK
events: those are converted first. A file is read as it is judged, and no more is kept of it than a response's calls.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from itertools import chain
from pathlib import Path
from typing import IO, Final

from stream_protocol.check._judge import Judge
from stream_protocol.check._rules import Finding, Problem, Rule
from stream_protocol.recording.read import (
    PIECE,
    Form,
    UnreadableError,
    copied,
    event_lines,
    form_of,
    text_lines,
    text_of,
)
from stream_protocol.wire import AiSdkVersion, parse_json
from stream_protocol.wire.client import Line, sse_events

BOTH: Final[tuple[AiSdkVersion, ...]] = (6, 7)

_DONE: Final = "[DONE]"
_V4_LINE: Final = re.compile(r"[0-9a-z]:")
_EVENT_KEY: Final = re.compile(
    r'"(?:author|events|app_?[nN]ame|invocation_?[iI]d|eval_?(?:cases|id|Id)|error_details|adk_ui_stream_recording)"\s*:'
)


def check_file(
    path: str | Path, *, session: str | None = None, versions: Sequence[AiSdkVersion] = BOTH
) -> Iterator[Finding]:
    """Yields what is wrong with the stream in a file, from its beginning to its end.

    ``session`` chooses one of several in a store or evalset of ADK. Raises ``UnreadableError`` for what is no such
    file; perhaps after findings, if it stops being one.
    """
    try:
        with Path(path).open("rb") as stream:
            yield from _check(stream, Path(path) if stream.seekable() else None, session, versions)
    except OSError as error:
        raise UnreadableError(error.strerror or "cannot be read") from None
    except ValueError as error:  # a path with a null character
        raise error if isinstance(error, UnreadableError) else UnreadableError("no path of a file") from None


def check_stream(stream: IO[bytes], *, versions: Sequence[AiSdkVersion] = BOTH) -> Iterator[Finding]:
    """``check_file`` for a file that is open, also if it is a pipe."""
    return _check(stream, None, None, versions)


def _check(
    stream: IO[bytes], path: Path | None, session: str | None, versions: Sequence[AiSdkVersion]
) -> Iterator[Finding]:
    head = stream.read(PIECE)
    text = text_of(head)
    pieces = chain([head], iter(lambda: stream.read(PIECE), b""))
    form = form_of(head)
    if not text:
        raise UnreadableError("the file is empty")
    if form is Form.CAPTURE and not _begins_with_event(text):
        yield from _check_sse(event_lines(pieces), Judge(versions))
    elif _begins_with_chunk(text):
        yield from _check_jsonl(text_lines(pieces), Judge(versions, start_begins=True))
    elif form in (Form.STORE, Form.YAML, Form.CAPTURE) or (form is Form.JSON and _EVENT_KEY.search(text)):
        from stream_protocol.check._check_events import check_events

        with nullcontext(path) if path is not None else copied(head, stream) as file:
            yield from check_events(file, session, versions)
    elif "\0" not in text and _V4_LINE.match(text):
        raise UnreadableError("this is the data stream of AI SDK 4, which later clients do not read")
    else:
        raise UnreadableError("neither an event stream, nor chunks, nor ADK events")


def _begins_with_event(text: str) -> bool:
    """Whether the first event of a stream is one of ADK's, or its word of a failure."""
    data = re.search(r"^data: ?(.*)", text, re.MULTILINE)
    return data is not None and not _begins_with_chunk(data[1]) and _EVENT_KEY.search(data[1]) is not None


def _begins_with_chunk(text: str) -> bool:
    line = text.partition("\n")[0]
    try:
        value = parse_json(line)
    except ValueError:  # perhaps NaN, or longer than what has been read
        return re.match(r'\{\s*"type"\s*:', line) is not None
    return isinstance(value, dict) and isinstance(value.get("type"), str)


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
    for line in lines:
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
