"""Steps that several checks share, and the sources of their rules."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

from stream_protocol.backend_check._results import BrokenError, NotOfferedError
from stream_protocol.backend_check._stock_client import Answer, Backend, Chat

TRANSPORT: Final = "ai: ui/http-chat-transport.ts"
CHAT: Final = "ai: ui/chat.ts"
TOOLS: Final = "ai: docs/04-ai-sdk-ui/03-chatbot-tool-usage.mdx"
HTTP: Final = "RFC 9110, section 15.5"

MISSING: Final = (404, 405, 501)
"""The statuses of a route that the server does not have."""


def first_prompt(backend: Backend, feature: str = "text") -> str:
    """The prompt for a feature that each answer shows."""
    return backend.candidates(feature)[0]


def has_text(answer: Answer) -> bool:
    """True once a text has begun."""
    return bool(answer.text)


def require_text(answer: Answer) -> None:
    """Raises ``BrokenError`` for an answer without text."""
    if not has_text(answer):
        raise BrokenError("The answer has no text.", chunk=answer.last_chunk)


async def ask_for(backend: Backend, feature: str, shows: Callable[[Answer], object], missing: str) -> Chat:
    """The chat whose answer shows the feature. Raises ``NotOfferedError`` if no prompt of the feature leads to one.

    Of the checks that begin with it, only the first reports that the answer is broken.
    """
    prompts = backend.candidates(feature)
    for prompt in prompts:
        chat = Chat(backend)
        try:
            answer = await chat.send(prompt)
        except BrokenError:
            if feature in backend.broken:
                raise NotOfferedError(f'Not tried: the answer to "{prompt}" is broken.') from None
            backend.broken.add(feature)
            raise
        if shows(answer):
            backend.fitting[feature] = prompt
            return chat
    asked = " or ".join(f'"{prompt}"' for prompt in prompts)
    raise NotOfferedError(f"No {missing} after {asked}.")


async def require_stream_or_refusal(answer: Answer) -> bool:
    """Reads the whole answer. Returns False for a 4xx, and raises ``BrokenError`` for anything but a stream."""
    if 400 <= answer.status < 500:
        await answer.read()
        return False
    await answer.require_stream()
    await answer.read()
    answer.require_readable()
    return True


@asynccontextmanager
async def running(chat: Chat) -> AsyncIterator[Answer]:
    """The answer to a long prompt, whose first words have come."""
    chat.add_user_message(first_prompt(chat.backend, "long"))
    async with chat.open() as answer:
        await answer.require_stream()
        await answer.read(until=has_text)
        answer.require_readable()
        if answer.terminal is not None or answer.ended:
            raise NotOfferedError("The answer to the `long` prompt ends at once. Name a prompt with a longer answer.")
        yield answer


def judge_alone(answer: Answer, backend: Backend) -> None:
    """Judges an answer that no other one comes before."""
    Chat(backend).judge(answer)
    answer.require_readable()
