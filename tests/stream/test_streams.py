"""A whole run as a stream: the terminal, the boundary of exceptions, and the closing of generators."""

from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from typing import Any

import orjson
import pytest
from google.adk.events import Event

from stream_protocol import (
    SSE_DONE,
    AnyChunk,
    StreamProtocolError,
    iter_chunks,
    iter_sse,
    stream_chunks,
    stream_sse,
)
from tests.stream.building import call, event, fragment, text
from tests.stream.running import kinds, run

EVENTS = [fragment(text("Hel")), fragment(text("lo")), event(text("Hello"), call("f", {}, "A"))]


class Source:
    """Events as a Runner gives them; notes whether it was closed."""

    def __init__(self, events: list[Event], error: BaseException | None = None) -> None:
        self.closed = False
        self._events = events
        self._error = error

    async def run(self) -> AsyncIterator[Event]:
        try:
            for given in self._events:
                yield given
            if self._error is not None:
                raise self._error
        finally:
            self.closed = True


async def collected(chunks: AsyncIterator[Any]) -> list[Any]:
    return [chunk async for chunk in chunks]


async def test_the_asynchronous_streams_say_the_same_as_the_synchronous_ones() -> None:
    options: dict[str, Any] = {"message_id": "m", "tool_titles": {"f": "F"}}
    assert await collected(stream_chunks(Source(EVENTS).run(), **options)) == list(iter_chunks(EVENTS, **options))
    assert await collected(stream_sse(Source(EVENTS).run(), **options)) == list(iter_sse(EVENTS, **options))


def test_bytes_are_one_event_each_and_done_comes_last() -> None:
    *lines, done = iter_sse(EVENTS)
    assert done == SSE_DONE
    assert [orjson.loads(line.removeprefix(b"data: ")) for line in lines] == list(iter_chunks(EVENTS))
    assert all(line.endswith(b"}\n\n") and line.count(b"\n") == 2 for line in lines)


async def test_an_exception_becomes_the_one_masked_error() -> None:
    chunks = await collected(stream_chunks(Source(EVENTS[:1], RuntimeError("secret")).run()))
    assert kinds(chunks)[-3:] == ["text-end", "finish-step", "error"]
    assert chunks[-1] == {"type": "error", "errorText": "An error occurred."}
    lines = await collected(stream_sse(Source(EVENTS[:1], RuntimeError("secret")).run()))
    assert lines[-1] == SSE_DONE


async def test_chunks_go_out_while_the_run_goes_on() -> None:
    taken = 0

    async def events() -> AsyncIterator[Event]:
        nonlocal taken
        for given in EVENTS:
            taken += 1
            yield given

    seen = [(chunk["type"], taken) async for chunk in stream_chunks(events())]
    assert seen[:4] == [("start", 1), ("start-step", 1), ("text-start", 1), ("text-delta", 1)]


async def test_a_consumer_that_stops_early_closes_the_run() -> None:
    source = Source(EVENTS)
    stream = stream_chunks(source.run())
    assert (await anext(stream))["type"] == "start"
    assert isinstance(stream, AsyncGenerator)
    await stream.aclose()
    assert source.closed


async def test_the_run_is_closed_when_the_converter_fails() -> None:
    def transform(chunk: AnyChunk) -> AnyChunk:
        raise ValueError("no")

    source = Source(EVENTS)
    chunks = await collected(stream_chunks(source.run(), transform=transform))
    assert kinds(chunks) == ["error"]
    assert source.closed


async def test_an_iterable_without_aclose_is_read_just_as_well() -> None:
    class Events:
        def __init__(self) -> None:
            self._left = iter(EVENTS)

        def __aiter__(self) -> "Events":
            return self

        async def __anext__(self) -> Event:
            try:
                return next(self._left)
            except StopIteration:
                raise StopAsyncIteration from None

    assert await collected(stream_chunks(Events())) == list(iter_chunks(EVENTS))


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_what_ends_the_program_is_no_failure_of_the_run(interrupt: type[BaseException]) -> None:
    def events() -> Iterator[Event]:
        yield EVENTS[0]
        raise interrupt

    with pytest.raises(interrupt):
        list(iter_chunks(events()))


@pytest.mark.parametrize("terminal", ["finish", "error"])
def test_a_transform_that_raises_at_the_end_cannot_take_the_terminal_away(terminal: str) -> None:
    def transform(chunk: AnyChunk) -> AnyChunk:
        if chunk["type"] == terminal:
            raise ValueError("no")
        return chunk

    error = RuntimeError() if terminal == "error" else None
    assert run(EVENTS, error=error, transform=transform)[-1]["type"] == "error"


@pytest.mark.parametrize("function", [iter_chunks, iter_sse, stream_chunks, stream_sse])
def test_contradictory_options_are_refused_at_once(function: Any) -> None:
    with pytest.raises(StreamProtocolError):
        function([], ai_sdk=8)


async def test_an_agent_that_cannot_be_closed_is_a_failure_like_any_other() -> None:
    async def events() -> AsyncIterator[Event]:
        try:
            yield event(text("x"))
            yield event(text("y"))
        finally:
            raise RuntimeError("not closed")

    def transform(chunk: AnyChunk) -> AnyChunk:
        if chunk["type"] == "text-end":
            raise ValueError("no transform")
        return chunk

    chunks = [chunk async for chunk in stream_chunks(events(), transform=transform)]
    assert chunks[-1] == {"type": "error", "errorText": "An error occurred."}
