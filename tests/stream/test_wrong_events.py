"""Wrong values in place of a run's events: an error at the call or at the item, and never a chunk for the page."""

import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Any, Final

import pytest
from google.adk.events import Event

from stream_protocol import (
    ClientStreamError,
    StreamProtocolConverter,
    encode_sse,
    iter_chunks,
    iter_sse,
    parse_sse,
    reduce_chunks,
    stream_chunks,
    stream_sse,
)
from stream_protocol.adk import NotAnEventError
from stream_protocol.recording import record
from tests.stream.building import event, fragment, text

HELLO: Final = event(text("Hello."))


async def stream(*items: Any) -> AsyncIterator[Any]:
    for item in items:
        yield item


async def awaited() -> AsyncIterator[Any]:
    return stream(HELLO)


def generator() -> Iterator[Event]:
    yield HELLO


async def drained(items: AsyncIterator[Any]) -> list[Any]:
    return [item async for item in items]


def recorded(events: Any) -> Any:
    return record(events, "never.jsonl")


ASYNCHRONOUS: Final[Mapping[str, tuple[Callable[[Any], Any], str]]] = {
    "stream_sse": (stream_sse, "`iter_sse`"),
    "stream_chunks": (stream_chunks, "`iter_chunks`"),
    "record": (recorded, "async generator"),
}
NOT_ASYNCHRONOUS: Final[Mapping[str, tuple[Callable[[], Any], str]]] = {
    "a list": (lambda: [HELLO], "not list: .*OTHER"),
    "a tuple": (lambda: (HELLO,), "not tuple: .*OTHER"),
    "a generator": (generator, "not generator: .*OTHER"),
    "a coroutine": (awaited, "not the coroutine awaited: await it first"),
    "an async function": (lambda: stream, "not the function stream: call it"),
    "a function": (lambda: generator, "not the function generator: call it"),
    "a method": (lambda: [].append, "not the function append: call it"),
    "an event": (lambda: HELLO, "not Event$"),
    "a dictionary": (lambda: {"author": "root"}, "not dict$"),
    "a text": (lambda: "Hello.", 'not "Hello."$'),
    "bytes": (lambda: b"data: {}", "not bytes$"),
    "nothing": (lambda: None, "not None$"),
    "a class": (lambda: Event, "not the class Event$"),
}


@pytest.mark.parametrize("function", ASYNCHRONOUS)
@pytest.mark.parametrize("kind", NOT_ASYNCHRONOUS)
def test_an_asynchronous_function_says_at_the_call_what_it_takes(function: str, kind: str) -> None:
    make, told = NOT_ASYNCHRONOUS[kind]
    called, other = ASYNCHRONOUS[function]
    value = make()
    with pytest.raises(TypeError) as refused:
        called(value)
    sentence = str(refused.value)
    assert sentence.startswith(f"`{function}` takes an asynchronous iterator of events, ")
    assert re.search(told.replace("OTHER", other), sentence.removesuffix("."))


SYNCHRONOUS: Final[Mapping[str, tuple[Callable[[Any], Any], str]]] = {
    "iter_sse": (iter_sse, "for an asynchronous iterator there is `stream_sse`"),
    "iter_chunks": (iter_chunks, "for an asynchronous iterator there is `stream_chunks`"),
    "reduce_chunks": (reduce_chunks, "collect the chunks in a list first"),
    "parse_sse": (parse_sse, "collect the pieces in a list first"),
}


@pytest.mark.parametrize("function", SYNCHRONOUS)
def test_a_synchronous_function_says_at_the_call_what_to_do_with_an_asynchronous_iterator(function: str) -> None:
    called, told = SYNCHRONOUS[function]
    with pytest.raises(TypeError, match=rf"^`{function}` takes a list .*, not async_generator: {told}[.]$"):
        called(stream())


@pytest.mark.parametrize("called", [iter_sse, iter_chunks], ids=["iter_sse", "iter_chunks"])
@pytest.mark.parametrize(
    ("events", "told"),
    [
        (HELLO, "not Event"),
        ({"author": "root"}, "not dict"),
        ("Hello.", 'not "Hello."'),
        (b"data: {}", "not bytes"),
        (generator, "not the function generator: call it"),
        (stream, "not the function stream: call it"),
        (None, "not None"),
        (5, "not 5"),
    ],
    ids=["an event", "a dictionary", "a text", "bytes", "a function", "an async function", "nothing", "a number"],
)
def test_one_event_and_what_is_none_is_no_list_of_events(called: Any, events: Any, told: str) -> None:
    with pytest.raises(TypeError, match=f"synchronous iterable of events, {told}[.]$"):
        called(events)


@pytest.mark.parametrize("piece", ["data: {}", 5, None, [b"data: {}"]], ids=str)
def test_a_piece_of_a_body_that_is_not_bytes_is_told(piece: Any) -> None:
    chunks = parse_sse([b'data: {"type":"start"}\n\n', piece])
    assert next(chunks) == {"type": "start"}
    with pytest.raises(TypeError, match=r"^`parse_sse` takes an iterable of bytes, and .* in it is not bytes[.]$"):
        next(chunks)


@pytest.mark.parametrize("past", [stream(), "e-1", HELLO, None], ids=["async", "a text", "an event", "nothing"])
def test_the_past_is_a_list_of_events(past: Any) -> None:
    synchronous: tuple[Any, ...] = (iter_sse, iter_chunks)
    for called in synchronous:
        with pytest.raises(TypeError, match=r"^`past` takes a list "):
            called([], past=past)
    asynchronous: tuple[Any, ...] = (stream_sse, stream_chunks)
    for called in asynchronous:
        with pytest.raises(TypeError, match=r"^`past` takes a list "):
            called(stream(), past=past)
    with pytest.raises(TypeError, match=r"^`past` takes a list "):
        StreamProtocolConverter(past=past)


NO_EVENTS: Final[Mapping[str, Any]] = {
    "a text": "Hello.",
    "bytes": b"data: {}",
    "a number": 5,
    "nothing": None,
    "an object": object(),
    "a list": [HELLO],
    "a chunk": {"type": "text-delta", "id": "1", "delta": "Hello."},
    "a class": Event,
}


@pytest.mark.parametrize("item", NO_EVENTS.values(), ids=NO_EVENTS)
@pytest.mark.parametrize("before", [(), (fragment(text("Hel")),)], ids=["first", "later"])
async def test_what_can_be_no_event_is_raised_and_not_sent(item: Any, before: tuple[Event, ...]) -> None:
    items = [*before, item, HELLO]
    synchronous: tuple[Any, ...] = (iter_sse, iter_chunks)
    for called in synchronous:
        with pytest.raises(NotAnEventError, match=r"^This is not an ADK event: "):
            called(items)
        with pytest.raises(NotAnEventError, match=r"^This is not an ADK event: "):
            list(called(iter(items)))
    asynchronous: tuple[Any, ...] = (stream_sse, stream_chunks)
    for called in asynchronous:
        with pytest.raises(TypeError, match=r"^This is not an ADK event: "):
            await drained(called(stream(*items)))
    converter = StreamProtocolConverter()
    for each in before:
        converter.convert(each)
    with pytest.raises(NotAnEventError):
        converter.convert(item)
    with pytest.raises(NotAnEventError):
        StreamProtocolConverter(past=items)


async def test_the_events_are_closed_when_one_is_none() -> None:
    closed = False

    async def events() -> AsyncIterator[Any]:
        nonlocal closed
        try:
            yield "Hello."
        finally:
            closed = True

    with pytest.raises(NotAnEventError):
        await drained(stream_sse(events()))
    assert closed


async def test_a_dictionary_that_a_server_sends_in_place_of_an_event_is_a_failure_of_the_run() -> None:
    """A remote agent that fails sends its error in JSON: the response ends like that of any failed run."""
    ended = {"type": "error", "errorText": "An error occurred."}
    items: list[Any] = [HELLO, {"error": "boom"}]
    assert list(iter_chunks(iter(items)))[-1] == ended
    assert (await drained(stream_chunks(stream(*items))))[-1] == ended


@pytest.mark.parametrize(
    "chunks",
    [
        lambda: b"".join(iter_sse([HELLO])),
        lambda: b"".join(iter_sse([HELLO])).decode(),
        lambda: bytearray(b"data: {}"),
        lambda: iter_sse([HELLO]),
        lambda: [piece.decode() for piece in iter_sse([HELLO])],
    ],
    ids=["bytes", "text", "a bytearray", "SSE events", "SSE events as text"],
)
def test_bytes_are_no_chunks_yet(chunks: Callable[[], Any]) -> None:
    with pytest.raises(TypeError, match=r"^`reduce_chunks` takes chunks, not .*: `parse_sse` makes chunks of"):
        reduce_chunks(chunks())


def test_events_are_no_chunks() -> None:
    events: Any = [HELLO]
    with pytest.raises(TypeError, match=r"^`reduce_chunks` takes chunks, not Event\.$"):
        reduce_chunks(events)


def test_what_a_stream_holds_in_place_of_a_chunk_is_refused_as_the_client_refuses_it() -> None:
    for body in (b"data: 5\n\n", b'data: "text"\n\n', b"data: null\n\n", b"data: []\n\n", b"data: true\n\n"):
        with pytest.raises(ClientStreamError, match="Type validation failed"):
            reduce_chunks(parse_sse(body))


def test_a_text_is_no_body_of_a_response() -> None:
    body: Any = "data: {}\n\n"
    with pytest.raises(TypeError, match=r"^`parse_sse` takes the bytes of a response, not text: encode it"):
        parse_sse(body)
    assert list(parse_sse(bytearray(b'data: {"type":"finish"}\n\n'))) == [{"type": "finish"}]


@pytest.mark.parametrize(
    "chunk", [b"data: {}", "data: {}", [{"type": "finish"}], HELLO, None, 5], ids=lambda chunk: type(chunk).__name__
)
def test_one_chunk_is_encoded_at_a_time(chunk: Any) -> None:
    with pytest.raises(TypeError, match=r"^`encode_sse` takes one chunk, a dictionary, not "):
        encode_sse(chunk)
