"""Two floors: the least work of any bridge.

The first is the least work with which any bridge turns these events into that many chunks.

It reads, by attribute, the fields that decide which chunks an event becomes. Of each event: ``partial``, ``author``,
``branch``, ``node_info.path``, ``error_code``, ``finish_reason`` and ``content.parts``. Of each part: ``text``,
``thought``, ``thought_signature``, ``function_call`` (``id``, ``name``, ``partial_args``, ``args``) and
``function_response`` (``id``, ``response``). For each new part (not the text of an aggregate) it builds one dictionary
and encodes it with orjson. The frame is ``data: …`` and a blank line.

It does nothing with most of what it reads. It has no state, and opens and closes no parts. It does not compare
aggregates with streamed text, and does not count usage. It knows the number of chunks of each event beforehand, and
fills up with ``finish-step``. So it emits exactly as many chunks as the converter does, and no client could use its
stream.

The floor of text reads nothing but texts, and makes each a ``text-delta`` in the same way. It ignores the rest of an
event, its author and its errors.
"""

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Sequence

import orjson
from google.adk.events.event import Event
from google.genai.types import Part


async def floor_async(events: AsyncIterable[Event], counts: Sequence[int]) -> AsyncIterator[bytes]:
    """The yardstick of ``stream_sse``. ``counts`` has one number per event, and one for the end."""
    count = iter(counts)
    async for event in events:
        for line in _lines(event, next(count)):
            yield line
    for line in _filled([], next(count)):
        yield line


def floor_sync(events: Iterable[Event], counts: Sequence[int]) -> Iterator[bytes]:
    """The yardstick of ``iter_sse``."""
    count = iter(counts)
    for event in events:
        yield from _lines(event, next(count))
    yield from _filled([], next(count))


def text_floor(events: Iterable[Event]) -> Iterator[bytes]:
    """The yardstick of ``iter_sse`` and ``iter_chunks`` for events with nothing but text."""
    for event in events:
        content = event.content
        if content is not None:
            for part in content.parts or ():
                if text := part.text:
                    yield b"data: " + orjson.dumps({"type": "text-delta", "id": "0", "delta": text}) + b"\n\n"


def _lines(event: Event, count: int) -> list[bytes]:
    chunks: list[dict[str, object]] = []
    content, author, partial = event.content, event.author, event.partial
    _speaker = (author, event.branch, event.node_info.path)
    _ending = (event.error_code, event.finish_reason)
    if content is not None and author != "user":
        for part in content.parts or ():
            chunk = _chunk(part, partial=partial)
            if chunk is not None:
                chunks.append(chunk)
    return _filled(chunks, count)


def _chunk(part: Part, *, partial: bool | None) -> dict[str, object] | None:
    text = part.text
    _signature = part.thought_signature
    if text is not None:
        if not partial:
            return None
        return {"type": "reasoning-delta" if part.thought else "text-delta", "id": "0", "delta": text}
    call = part.function_call
    if call is not None:
        fragments = call.partial_args
        if fragments:
            return {"type": "tool-input-delta", "toolCallId": call.id, "inputTextDelta": fragments[0].string_value}
        return {"type": "tool-input-available", "toolCallId": call.id, "toolName": call.name, "input": call.args}
    response = part.function_response
    if response is not None:
        return {"type": "tool-output-available", "toolCallId": response.id, "output": response.response}
    return None


def _filled(chunks: list[dict[str, object]], count: int) -> list[bytes]:
    """Encodes exactly ``count`` chunks."""
    chunks = chunks[:count]
    while len(chunks) < count:
        chunks.append({"type": "finish-step"})
    return [b"data: " + orjson.dumps(chunk) + b"\n\n" for chunk in chunks]
