"""Checks of the profile ``stream``: a single response, and invalid requests."""

import json
import time
from typing import Any, Final

from stream_protocol.backend_check._results import BrokenError, Check, NotOfferedError
from stream_protocol.backend_check._steps import (
    HTTP,
    TOO_SHORT,
    TRANSPORT,
    first_prompt,
    is_over,
    read_beginning,
    require_text,
)
from stream_protocol.backend_check._stock_client import MESSAGES, Backend, Chat, StreamRuleError

HEADERS: Final = "ai: docs/04-ai-sdk-ui/50-stream-protocol.mdx"
DEPTH: Final = 100_000
BUFFERED_SECONDS: Final = 1.0
"""Seconds after which a response that arrives in one piece counts as buffered."""


async def _text_answer(backend: Backend) -> None:
    try:
        require_text(await Chat(backend).send(first_prompt(backend)))
    except StreamRuleError as error:
        backend.reported |= error.rules
        raise


async def _headers(backend: Backend) -> None:
    response = await Chat(backend).send(first_prompt(backend))
    for name, value in (("content-type", "text/event-stream"), ("x-vercel-ai-ui-message-stream", "v1")):
        if not (found := response.headers.get(name, "")).startswith(value):
            raise BrokenError(f"The header {name} is {found!r} instead of {value!r}.")


async def _pieces(backend: Backend) -> None:
    chat = Chat(backend)
    chat.add_user_message(first_prompt(backend, "long"))
    began = time.monotonic()
    async with chat.open() as response:
        await read_beginning(response, chat)
    if not is_over(response):
        return
    if (seconds := time.monotonic() - began) > BUFFERED_SECONDS:
        raise BrokenError(f"The whole response comes in one piece after {seconds:.1f} s: a buffer holds it back.")
    raise NotOfferedError(TOO_SHORT)


async def _slow_reader(backend: Backend) -> None:
    chat = Chat(backend)
    chat.add_user_message(first_prompt(backend))
    require_text(await chat.submit(slow=True))


async def _bad_body(backend: Backend, body: bytes) -> None:
    status, text = await backend.post_raw(body)
    if not 400 <= status < 500:
        raise BrokenError(f"HTTP {status} instead of 4xx: {text}")


async def _not_json(backend: Backend) -> None:
    await _bad_body(backend, b"{")


async def _empty_body(backend: Backend) -> None:
    await _bad_body(backend, b"")


async def _wrong_types(backend: Backend) -> None:
    await _bad_body(backend, _body(backend, 1))


async def _no_messages(backend: Backend) -> None:
    async with Chat(backend).open() as response:
        await response.read()
    if 400 <= response.status < 500 or response.terminal == "error":
        return
    raise BrokenError(f"HTTP {response.status} without an error.", chunk=response.last_chunk)


async def _deep_nesting(backend: Backend) -> None:
    body = _body(backend, [{"id": "m1", "role": "user", "parts": [{"type": "data-deep", "data": 0}]}])
    status, text = await backend.post_raw(body.replace(b'"data": 0', b'"data": ' + b"[" * DEPTH + b"]" * DEPTH))
    if status >= 500:
        raise BrokenError(f"HTTP {status}: {text}")


def _body(backend: Backend, messages: Any) -> bytes:
    chat = Chat(backend)
    return json.dumps(
        {**backend.settings.body, "id": chat.id, "messages": messages, "trigger": "submit-message"}
    ).encode()


STREAM_CHECKS: Final = (
    Check("text answer", "stream", "A response is a valid stream with text.", TRANSPORT, ("text",), _text_answer),
    Check("headers", "stream", "The response has the headers of the protocol.", HEADERS, ("text",), _headers),
    Check("pieces", "stream", "A long response comes in several pieces.", TRANSPORT, ("long",), _pieces),
    Check("slow reader", "stream", "A slow reader gets the whole response.", TRANSPORT, ("text",), _slow_reader),
    Check("not JSON", "stream", "A body that is not JSON gets a 4xx.", HTTP, (), _not_json),
    Check("empty body", "stream", "An empty body gets a 4xx.", HTTP, (), _empty_body),
    Check("wrong types", "stream", "Messages of a wrong type get a 4xx.", HTTP, (), _wrong_types),
    Check("POST without messages", "stream", "A request without messages gets an error.", MESSAGES, (), _no_messages),
    Check("deep nesting", "stream", "JSON with 100,000 levels gets no 5xx.", HTTP, (), _deep_nesting),
)
