"""Compare the stream of a recording with the expected stream, which is in a file next to the recording."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Unpack, cast
from urllib.parse import quote

from stream_protocol.recording import Recording, replay_steps
from stream_protocol.recording.read import EXPECTED
from stream_protocol.stream import ConverterOptions
from stream_protocol.testing._normalising import Json, Normaliser, without_model_details
from stream_protocol.testing._stream_difference import describe_difference
from stream_protocol.wire import (
    SSE_DONE,
    AnyChunk,
    argument_error,
    check_callable,
    check_flag,
    check_instance,
    check_iterable,
    check_text,
)
from stream_protocol.wire.client import parse_sse

TURN_END: Final = "[DONE]"
"""The line after each turn of an expected stream."""

TurnChunks = list[list[Json]]
"""The chunks of each turn."""


@dataclass(frozen=True)
class StreamMatcher:
    """Compares replayed streams with expected streams. ``matcher(recording)`` raises ``AssertionError`` if the streams
    differ.

    The expected stream of ``booking.jsonl`` is ``booking.expected.jsonl`` in the same folder. This file has a chunk on
    each line, and ``[DONE]`` after each turn. Numbered names replace ids, and ``<time>`` replaces times.
    """

    update: bool
    """True to write the file with the expected stream before the comparison."""
    on_write: Callable[[Path], object]
    """Function that is called with the path of each written file."""

    def __post_init__(self) -> None:
        check_flag("update", self.update)
        check_callable("on_write", self.on_write, ("path",), plain=True)

    def __call__(
        self,
        recording: Recording,
        *,
        chunks: Iterable[AnyChunk] | bytes | None = None,
        variant: str | None = None,
        **options: Unpack[ConverterOptions],
    ) -> None:
        """Replay the recording, and compare its stream with the expected stream.

        ``chunks``: a stream to compare instead of the replay, as chunks or as bytes. For example, pass the concatenated
        chunks of new responses, one response for each turn. With ``chunks``, the comparison ignores streamed arguments,
        the model's name, usage, signatures, and how texts are split.

        ``variant``: the name of a second expected stream, ``booking.VARIANT.expected.jsonl``, for a test with different
        ``options``.
        """
        __tracebackhide__ = True
        check_instance("recording", recording, Recording, "a Recording", hint='adk_recording("NAME") gives one')
        check_text("variant", variant, or_none=True)
        if chunks is not None and not isinstance(chunks, bytes):
            check_iterable("chunks", chunks, "chunks", otherwise="collect the chunks in a list first")
        path = _expectation_path(recording, variant)
        if self.update:
            self._write(path, _normalise(_convert(recording, **options)))
        expected = _read_expectation(path)
        if chunks is None:
            found = describe_difference(expected, _normalise(_convert(recording, **options)))
            hint = f"If the present stream is right, {_UPDATE_HINT}."
        else:
            received = _normalise(_split_responses(parse_sse(chunks) if isinstance(chunks, bytes) else chunks))
            found = describe_difference(_without_model_details(expected), _without_model_details(received))
            hint = f"If the present stream is right, record the conversation anew, {_UPDATE_HINT}."
        if found:
            raise AssertionError(f"The stream is not that of {path.name}: {found}\n{hint}")

    def _write(self, path: Path, turns: TurnChunks) -> None:
        written = "".join(f"{line}\n" for turn in turns for line in [*map(_line, turn), TURN_END]).encode()
        if not path.exists() or path.read_bytes().replace(b"\r\n", b"\n") != written:
            path.write_bytes(written)
            self.on_write(path)


_WRITE_HINT: Final = "run `pytest --update-recordings` and read the file before you commit it"
_UPDATE_HINT: Final = "run `pytest --update-recordings` and read the difference before you commit it"


def _expectation_path(recording: Recording, variant: str | None) -> Path:
    """Return the path of the file with the expected stream. Each session and each variant has a separate file."""
    names = [recording.path.stem, *(quote(name, safe=" ") for name in (recording.session, variant) if name)]
    return recording.path.with_name(f"{'.'.join(names)}{EXPECTED}.jsonl")


def _convert(recording: Recording, **options: Unpack[ConverterOptions]) -> Iterator[Iterable[AnyChunk]]:
    for _, steps in replay_steps(recording, **options):
        yield parse_sse(b"".join(sse for step in steps for sse in step.sent) + SSE_DONE)


def _split_responses(chunks: Iterable[AnyChunk]) -> Iterator[list[AnyChunk]]:
    """Yield the chunks of each response. Each ``start`` chunk begins a response."""
    response: list[AnyChunk] = []
    for number, chunk in enumerate(chunks, 1):
        if not _is_chunk(chunk):
            raise argument_error("chunks", f"chunks (item {number})", chunk)
        if chunk["type"] == "start" and response:
            yield response
            response = []
        response.append(chunk)
    if response:
        yield response


def _normalise(turns: Iterable[Iterable[Mapping[str, Any]]]) -> TurnChunks:
    normaliser = Normaliser()
    return [[normaliser.chunk(chunk) for chunk in turn] for turn in turns]


def _read_expectation(path: Path) -> TurnChunks:
    """Return the expected stream in the file. Raises ``AssertionError`` if the file is missing or invalid."""
    __tracebackhide__ = True
    if not path.exists():
        raise AssertionError(f"There is no {path}, so nothing is expected yet: {_WRITE_HINT}.")
    turns: TurnChunks = [[]]
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise AssertionError(f"{path} is not UTF-8: {_UPDATE_HINT}.") from None
    for number, line in enumerate(text.split("\n"), 1):
        if line == TURN_END:
            turns.append([])
        elif line:
            turns[-1].append(_parse_chunk(path, number, line))
    return turns[:-1] if not turns[-1] else turns


def _parse_chunk(path: Path, number: int, line: str) -> Json:
    __tracebackhide__ = True
    chunk: Any = None
    with suppress(json.JSONDecodeError, RecursionError):
        chunk = json.loads(line)
    if not _is_chunk(chunk):
        raise AssertionError(f"Line {number} of {path} is not a chunk: {_UPDATE_HINT}.")
    return cast("Json", chunk)


def _is_chunk(value: object) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get("type"), str)


def _without_model_details(turns: Sequence[Sequence[Json]]) -> TurnChunks:
    return [[*without_model_details(turn)] for turn in turns]


def _line(chunk: Mapping[str, Any]) -> str:
    return json.dumps(chunk, ensure_ascii=False, separators=(",", ":"))
