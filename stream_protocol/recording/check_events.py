"""The check of recorded ADK events: what the converter makes of them. Imports ADK."""

import io
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import IO, cast

from google.adk.events import Event

from stream_protocol.convert.delegations import delegated_tools
from stream_protocol.recording.judge import Judge
from stream_protocol.recording.lenient import LenientReader
from stream_protocol.recording.load import RecordingError, read_events
from stream_protocol.recording.rules import Finding
from stream_protocol.recording.splitting import replay_sse
from stream_protocol.recording.unreadable import MAX_LINE, UnreadableError, overlong
from stream_protocol.wire.chunks import AiSdkVersion
from stream_protocol.wire.sse import SSE_DONE


def check_events(stream: IO[bytes], head: bytes, versions: Sequence[AiSdkVersion]) -> Iterator[Finding]:
    """Yields what is wrong with the stream that each version would get of a recording, whose ``head`` has been read.

    A finding's line is the one up to which the recording has been read.
    """
    reader = LenientReader()
    with ExitStack() as opened:
        source = stream
        if not stream.seekable():
            source = opened.enter_context(tempfile.TemporaryFile())
            source.write(head)
            shutil.copyfileobj(stream, source)
        with _lines(source) as lines:
            hidden = delegated_tools(_events(lines, reader))
        for version in versions:
            with _lines(source) as lines:
                replayed = replay_sse(_events(lines, reader), ai_sdk=version, hidden_tools=hidden)
                yield from _findings(replayed, lines, Judge([version]))


def _findings(replayed: Iterator[bytes], lines: "_CountedLines", judge: Judge) -> Iterator[Finding]:
    for event in replayed:
        if event == SSE_DONE:
            yield from judge.end_response()
        else:
            yield from judge.take(event.decode().removeprefix("data: "), lines.number)


@contextmanager
def _lines(source: IO[bytes]) -> Iterator["_CountedLines"]:
    """The recording from its beginning."""
    source.seek(0)
    text = io.TextIOWrapper(source, encoding="utf-8-sig")
    try:
        yield _CountedLines(text)
    except RecordingError as error:
        raise UnreadableError(str(error)) from None
    finally:
        text.detach()


def _events(lines: "_CountedLines", reader: LenientReader) -> Iterator[Event]:
    return read_events(cast("IO[str]", lines), reader)


class _CountedLines:
    """Of a text file, what ``read_events`` asks for; the lines are counted, and not endless."""

    def __init__(self, text: IO[str]) -> None:
        self._text = text
        self.number = 0
        """Of the line read last, from 1."""

    def __iter__(self) -> Iterator[str]:
        while line := self._text.readline(MAX_LINE + 1):
            self.number += 1
            if len(line) > MAX_LINE:
                raise overlong(self.number)
            yield line

    def read(self) -> str:
        return self._text.read()
