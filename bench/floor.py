"""Two floors for the converter: the minimal work to turn its events into the same number of chunks.

The first floor reads, by attribute, the fields that decide the chunks of an event: ``partial``, ``author``, ``branch``,
``node_info.path``, ``error_code``, ``finish_reason`` and ``content.parts``. Of each part it reads ``text``,
``thought``, ``thought_signature``, ``function_call`` (``id``, ``name``, ``partial_args``, ``args``) and
``function_response`` (``id``, ``response``). For each new part, except the text of an aggregate, it builds one
dictionary, encodes it with orjson, and adds the SSE frame.

It ignores most of these values. It has no state, opens and closes no parts, does not compare aggregates with streamed
text, and does not count usage. It gets the number of chunks of each event, and fills up with ``finish-step``. So it
emits exactly as many chunks as the converter, but no client could use its stream.

The second floor, ``text_floor``, reads only texts. It makes a ``text-delta`` from each text in the same way.
"""

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Sequence

import orjson
from google.adk.events.event import Event
from google.genai.types import Part


async def floor_async(events: AsyncIterable[Event], counts: Sequence[int]) -> AsyncIterator[bytes]:
    """Floor for ``stream_sse``. ``counts``: number of chunks of each event, and of the end."""
    count = iter(counts)
    async for event in events:
        for line in _lines(event, next(count)):
            yield line
    for line in _filled([], next(count)):
        yield line


def floor_sync(events: Iterable[Event], counts: Sequence[int]) -> Iterator[bytes]:
    """Floor for ``iter_sse``."""
    count = iter(counts)
    for event in events:
        yield from _lines(event, next(count))
    yield from _filled([], next(count))


def text_floor(events: Iterable[Event]) -> Iterator[bytes]:
    """Floor for ``iter_sse`` and ``iter_chunks`` for events that have only text."""
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
    """Encode exactly ``count`` chunks."""
    chunks = chunks[:count]
    while len(chunks) < count:
        chunks.append({"type": "finish-step"})
    return [b"data: " + orjson.dumps(chunk) + b"\n\n" for chunk in chunks]
