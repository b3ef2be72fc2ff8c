"""Steps that several checks share, and the names of the documents that contain the rules."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

from stream_protocol.backend_check._chat_response import ChatResponse
from stream_protocol.backend_check._results import BrokenError, NotOfferedError
from stream_protocol.backend_check._stock_client import Backend, Chat

TRANSPORT: Final = "ai: ui/http-chat-transport.ts"
CHAT: Final = "ai: ui/chat.ts"
TOOLS: Final = "ai: docs/04-ai-sdk-ui/03-chatbot-tool-usage.mdx"
HTTP: Final = "RFC 9110, section 15.5"
PROMISE: Final = "'Check a backend' in the docs, the promise of the profile durable"
POLLS: Final = 20
SECONDS_BETWEEN: Final = 0.2
TOO_SHORT: Final = "The response to the `long` prompt is too short: set a prompt with a longer response."


def first_prompt(backend: Backend, feature: str = "text") -> str:
    """Return the first prompt for a feature that every server has, such as ``text``."""
    return backend.prompts(feature)[0]


def has_text(response: ChatResponse) -> bool:
    return bool(response.text)


def require_text(response: ChatResponse) -> None:
    if not has_text(response):
        raise BrokenError("The response has no text.", chunk=response.last_chunk)


async def ask_for(backend: Backend, feature: str, shows: Callable[[ChatResponse], object], missing: str) -> Chat:
    """Send the prompts for a feature, one after the other, until a response uses the feature. Return the chat with this
    response.

    ``shows``: function that returns True for a response that uses the feature. ``missing``: a noun for the error text.
    Raises ``NotOfferedError`` if no response uses the feature. If a response is broken, the first check of this feature
    raises ``BrokenError``, and later checks raise ``NotOfferedError``.
    """
    prompts = backend.prompts(feature)
    for prompt in prompts:
        chat = Chat(backend)
        try:
            response = await chat.send(prompt)
        except BrokenError:
            if feature in backend.broken_features:
                raise NotOfferedError(f'Not checked: the response to "{prompt}" is broken.') from None
            backend.broken_features.add(feature)
            raise
        if shows(response):
            backend.working_prompts[feature] = prompt
            return chat
    tried = " or ".join(f'"{prompt}"' for prompt in prompts)
    raise NotOfferedError(f"No {missing} after {tried}.")


async def require_stream_or_refusal(response: ChatResponse) -> bool:
    """Read the whole response. Return True for a valid stream, and False for a status 4xx. Otherwise raise
    ``BrokenError``.
    """
    if 400 <= response.status < 500:
        await response.read()
        return False
    await response.require_stream()
    await response.read()
    response.require_readable()
    return True


@asynccontextmanager
async def running(chat: Chat) -> AsyncIterator[ChatResponse]:
    """Context manager that sends the prompt for the feature ``long`` (a long reply). Yields the response as soon as it
    contains text.
    """
    chat.add_user_message(first_prompt(chat.backend, "long"))
    async with chat.open() as response:
        await read_beginning(response, chat)
        if is_over(response):
            raise NotOfferedError(TOO_SHORT)
        yield response


async def read_beginning(response: ChatResponse, chat: Chat) -> None:
    """Read the response to the prompt for the feature ``long`` (a long reply), until it contains text. Raise
    ``BrokenError`` for an invalid response.
    """
    await response.require_stream()
    await response.read(until=has_text)
    response.require_readable()
    if not response.chunks:
        chat.judge(response)


def is_over(response: ChatResponse) -> bool:
    return response.terminal is not None or response.ended


def judge_alone(response: ChatResponse, backend: Backend) -> None:
    """Check the stream of a response, and ignore earlier responses of its chat. Raise ``BrokenError`` for an invalid
    stream.
    """
    Chat(backend).judge(response)
    response.require_readable()


async def reload(chat: Chat, *, until: Callable[[Chat], bool]) -> Chat:
    """Return the chat with the messages from the server's history, which a page gets after a reload.

    A server may store a reply some time after the response has ended. So the history is read again, for a few seconds,
    until ``until`` returns True.
    """
    for _ in range(POLLS):
        page = await chat.reload()
        if until(page):
            return page
        await asyncio.sleep(SECONDS_BETWEEN)
    return page
