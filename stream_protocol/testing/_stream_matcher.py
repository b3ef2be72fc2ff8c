"""A recording's stream against what was written down of it."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Unpack
from urllib.parse import quote

from stream_protocol.convert import ConverterOptions, iter_chunks
from stream_protocol.recording import Recording
from stream_protocol.testing._find_recording import EXPECTED
from stream_protocol.testing._normalising import Json, Normaliser, essence
from stream_protocol.testing._stream_difference import difference
from stream_protocol.wire import AnyChunk
from stream_protocol.wire.client import parse_sse

DONE: Final = "[DONE]"
"""The line behind each turn of an expectation, as at the end of a response."""

Turns = list[list[Json]]


@dataclass(frozen=True)
class StreamMatcher:
    """``matcher(recording)`` raises ``AssertionError`` unless the recording becomes the stream that is expected.

    The expectation lies beside the recording: for ``booking.jsonl`` it is ``booking.expected.jsonl``, a chunk a line,
    ``[DONE]`` behind each turn, with counted names in place of ids and ``<time>`` in place of times.
    """

    update: bool
    """Write the expectation instead."""
    wrote: Callable[[Path], object]
    """Is told which files were written."""

    def __call__(
        self,
        recording: Recording,
        *,
        chunks: Iterable[AnyChunk] | bytes | None = None,
        variant: str | None = None,
        **options: Unpack[ConverterOptions],
    ) -> None:
        """Compares the stream of the recording, converted now, with the expectation.

        ``chunks`` is compared in its place: what an agent says now, one response for each turn, as chunks or as the
        bodies of the responses. How a model cut its text, its name, usage and signatures do not count then. With
        ``options`` of its own a test keeps an expectation of its own, ``booking.VARIANT.expected.jsonl``.
        """
        __tracebackhide__ = True
        path = expectation_path(recording, variant)
        if self.update:
            self._write(path, normalised(convert(recording, **options)))
        expected = read_expectation(path)
        if chunks is None:
            told = difference(expected, normalised(convert(recording, **options)))
            hint = f"If it is right as it is now, {_UPDATE}."
        else:
            came = normalised(responses(parse_sse(chunks) if isinstance(chunks, bytes) else chunks))
            told = difference(_essences(expected), _essences(came))
            hint = f"If it is right as it is now, record the conversation anew, {_UPDATE}."
        if told:
            raise AssertionError(f"The stream is not that of {path.name}: {told}\n{hint}")

    def _write(self, path: Path, turns: Turns) -> None:
        text = "".join(f"{line}\n" for turn in turns for line in [*map(_line, turn), DONE])
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8", newline="\n")
            self.wrote(path)


_UPDATE: Final = "run `pytest --update-recordings` and read the difference before you commit it"


def expectation_path(recording: Recording, variant: str | None) -> Path:
    """Where the expectation lies: beside the recording, one for each session in it and each variant of the test."""
    names = [recording.path.stem, *(quote(name, safe=" ") for name in (recording.session, variant) if name)]
    return recording.path.with_name(f"{'.'.join(names)}{EXPECTED}.jsonl")


def convert(recording: Recording, **options: Unpack[ConverterOptions]) -> Iterator[Iterable[AnyChunk]]:
    """The chunks of each turn."""
    for turn in recording.turns():
        yield iter_chunks(turn.events, past=turn.past, message_id=turn.message_id, **options)


def responses(chunks: Iterable[AnyChunk]) -> Iterator[list[AnyChunk]]:
    """The chunks of each response: ``start`` begins one."""
    response: list[AnyChunk] = []
    for chunk in chunks:
        if chunk["type"] == "start" and response:
            yield response
            response = []
        response.append(chunk)
    if response:
        yield response


def normalised(turns: Iterable[Iterable[Mapping[str, Any]]]) -> Turns:
    """The turns as they would be in any run."""
    normaliser = Normaliser()
    return [[normaliser.chunk(chunk) for chunk in turn] for turn in turns]


def read_expectation(path: Path) -> Turns:
    """The turns of an expectation. Raises ``AssertionError`` for what is none."""
    __tracebackhide__ = True
    if not path.exists():
        raise AssertionError(f"There is no {path}, so nothing is expected yet: {_UPDATE}.")
    turns: Turns = [[]]
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
        if line == DONE:
            turns.append([])
        elif line:
            turns[-1].append(_parsed(path, number, line))
    return turns[:-1] if not turns[-1] else turns


def _parsed(path: Path, number: int, line: str) -> Json:
    try:
        chunk: Json = json.loads(line)
    except json.JSONDecodeError:
        raise AssertionError(f"Line {number} of {path} is no chunk: {_UPDATE}.") from None
    return chunk


def _essences(turns: Sequence[Sequence[Json]]) -> Turns:
    return [[*essence(turn)] for turn in turns]


def _line(chunk: Mapping[str, Any]) -> str:
    return json.dumps(chunk, ensure_ascii=False, separators=(",", ":"))
