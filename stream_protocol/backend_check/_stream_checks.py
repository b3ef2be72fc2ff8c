"""The checks of the profile ``stream``: one answer, and requests that no client sends on purpose."""

import json
import time
from typing import Any, Final

from stream_protocol.backend_check._results import BrokenError, Check, NotOfferedError
from stream_protocol.backend_check._steps import HTTP, TRANSPORT, first_prompt, has_text, require_text
from stream_protocol.backend_check._stock_client import Backend, Chat, StreamRuleError

HEADERS: Final = "ai: docs/04-ai-sdk-ui/50-stream-protocol.mdx"
MESSAGES: Final = "ai: ui/validate-ui-messages.ts"
DEPTH: Final = 100_000
BUFFERED_SECONDS: Final = 1.0
"""An answer that takes longer, and comes in one piece, is held back by a buffer."""


async def _text_answer(backend: Backend) -> None:
    try:
        require_text(await Chat(backend).send(first_prompt(backend)))
    except StreamRuleError as error:
        backend.reported |= error.rules
        raise


async def _headers(backend: Backend) -> None:
    answer = await Chat(backend).send(first_prompt(backend))
    for name, value in (("content-type", "text/event-stream"), ("x-vercel-ai-ui-message-stream", "v1")):
        if not (found := answer.headers.get(name, "")).startswith(value):
            raise BrokenError(f"The header {name} is {found!r} instead of {value!r}.")


async def _pieces(backend: Backend) -> None:
    chat = Chat(backend)
    chat.add_user_message(first_prompt(backend, "long"))
    began = time.monotonic()
    async with chat.open() as answer:
        await answer.require_stream()
        await answer.read(until=has_text)
        answer.require_readable()
    if answer.terminal is None and not answer.ended:
        return
    if (seconds := time.monotonic() - began) > BUFFERED_SECONDS:
        raise BrokenError(f"The whole answer comes at once after {seconds:.1f} s: a buffer holds it back.")
    raise NotOfferedError("The answer to the `long` prompt ends at once. Name a prompt with a longer answer.")


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
    async with Chat(backend).open() as answer:
        await answer.read()
    if 400 <= answer.status < 500 or answer.terminal == "error":
        return
    raise BrokenError(f"HTTP {answer.status} without an error.", chunk=answer.last_chunk)


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
    Check("text answer", "stream", "An answer is a legal stream with text.", TRANSPORT, ("text",), _text_answer),
    Check("headers", "stream", "The response has the headers of the protocol.", HEADERS, ("text",), _headers),
    Check("pieces", "stream", "A long answer comes in pieces.", TRANSPORT, ("long",), _pieces),
    Check("slow reader", "stream", "A slow reader gets the whole answer.", TRANSPORT, ("text",), _slow_reader),
    Check("not JSON", "stream", "A body that is not JSON is a 4xx.", HTTP, (), _not_json),
    Check("empty body", "stream", "An empty body is a 4xx.", HTTP, (), _empty_body),
    Check("wrong types", "stream", "Messages of a wrong type are a 4xx.", HTTP, (), _wrong_types),
    Check("no messages", "stream", "A request without messages is an error.", MESSAGES, (), _no_messages),
    Check("deep nesting", "stream", "JSON with 100,000 levels does no harm.", HTTP, (), _deep_nesting),
)
