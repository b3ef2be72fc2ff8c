"""Checks of the profile ``chat``: several turns, edits, files, errors, and lost connections."""

import asyncio
import base64
import re
from typing import Final

from stream_protocol.backend_check._chat_response import ChatResponse, random_id
from stream_protocol.backend_check._results import BrokenError, Check, NotOfferedError
from stream_protocol.backend_check._steps import (
    CHAT,
    TRANSPORT,
    first_prompt,
    has_text,
    judge_alone,
    reload,
    require_stream_or_refusal,
    require_text,
    running,
)
from stream_protocol.backend_check._stock_client import Backend, Chat

VALIDATION: Final = "ai: ui/validate-ui-messages.ts, which strips unknown keys"
ERRORS: Final = "ai: docs/04-ai-sdk-ui/21-error-handling.mdx"
TRACEBACK: Final = re.compile(r"Traceback \(most recent call last\)|(?:\n|\\n)\s+at \S.*:\d+")
"""Pattern for a traceback of Python, JavaScript or Java, also in a JSON string."""
TRIES: Final = 2
"""The number of attempts for each prompt, because model providers sometimes fail."""


async def _several_turns(backend: Backend) -> None:
    chat = Chat(backend)
    for _ in range(3):
        require_text(await chat.send(first_prompt(backend)))
    if len(chat.messages) != 6:
        raise BrokenError(f"After three turns the chat has {len(chat.messages)} messages, not 6: ids are reused.")


async def _regenerate(backend: Backend) -> None:
    chat = Chat(backend)
    await chat.send(first_prompt(backend))
    chat.messages.pop()
    require_text(await chat.submit("regenerate-message"))


async def _edit(backend: Backend) -> None:
    chat = Chat(backend)
    await chat.send(first_prompt(backend))
    del chat.messages[1:]
    edited = chat.messages[0]["id"]
    response = await chat.submit(message_id=edited)
    if response.start_id == edited:
        raise BrokenError("The response has the id of the user message, and overwrites it.", chunk=response.chunks[0])
    require_text(response)


async def _file(backend: Backend) -> None:
    chat, word = Chat(backend), random_id()
    content = base64.b64encode(f"The word is {word}.".encode()).decode()
    file = {"mediaType": "text/plain", "filename": "note.txt", "url": f"data:text/plain;base64,{content}"}
    chat.add_user_message(first_prompt(backend, "file"), file)
    async with chat.open() as response:
        if not await require_stream_or_refusal(response):
            raise NotOfferedError(f"A message with a file gets HTTP {response.status}.")
    chat.judge(response)
    if word in response.text:
        return
    try:
        page = await reload(chat, until=lambda page: bool(page.messages))
    except NotOfferedError:
        raise NotOfferedError(f"The reply does not have the word {word} of the file: was the file dropped?") from None
    if not any(part["type"] == "file" for message in page.messages for part in message["parts"]):
        raise BrokenError("The file is dropped: the history does not have it.", chunk={"messages": page.messages})


async def _repeated_post(backend: Backend) -> None:
    chat = Chat(backend)
    chat.add_user_message(first_prompt(backend))
    again = chat.copy()
    await chat.submit()
    async with again.open() as response:
        await require_stream_or_refusal(response)


async def _cut_connection(backend: Backend) -> None:
    chat = Chat(backend)
    chat.add_user_message(first_prompt(backend, "long"))
    async with chat.open() as response:
        await response.require_stream()
        await response.read(until=has_text)
    response.require_readable()
    chat.keep(response)
    require_text(await chat.send(first_prompt(backend)))


async def _second_tab(backend: Backend) -> None:
    chat = Chat(backend)
    async with running(chat) as first:
        tab = chat.copy()
        tab.add_user_message(first_prompt(backend))
        async with tab.open() as second:
            _, accepted = await asyncio.gather(first.read(), require_stream_or_refusal(second))
    judge_alone(first, backend)
    if accepted:
        judge_alone(second, backend)
        require_text(second)


async def _extra_keys(backend: Backend) -> None:
    chat = Chat(backend)
    chat.add_user_message(first_prompt(backend))
    chat.messages[-1]["createdAt"] = "2026-01-01T00:00:00Z"  # type: ignore[typeddict-unknown-key]  # on purpose
    require_text(await chat.submit())


async def _unusual_text(backend: Backend) -> None:
    require_text(await Chat(backend).send("\N{WAVING HAND SIGN} \N{RIGHT-TO-LEFT OVERRIDE} </script>"))
    for character in ("\0", "\ud83d"):
        chat = Chat(backend)
        chat.add_user_message(character)
        async with chat.open() as response:
            await require_stream_or_refusal(response)


async def _error(backend: Backend) -> None:
    for prompt in backend.prompts("error"):
        for _ in range(TRIES):
            chat = Chat(backend)
            if (text := await _error_text(chat, prompt)) is None:
                continue
            if TRACEBACK.search(text):
                raise BrokenError("The user sees a traceback.")
            require_text(await chat.send(first_prompt(backend)))
            return
    raise NotOfferedError("No prompt of `error` leads to an error.", excused=True)


async def _error_text(chat: Chat, prompt: str) -> str | None:
    chat.add_user_message(prompt)
    async with chat.open() as response:
        await response.read()
    if response.status >= 400:
        return response.body.decode(errors="replace")
    chat.judge(response)
    chat.keep(response)
    return _chunk_text(response)


def _chunk_text(response: ChatResponse) -> str | None:
    return next((str(chunk.get("errorText")) for chunk in response.chunks if chunk["type"] == "error"), None)


CHAT_CHECKS: Final = (
    Check("several turns", "chat", "Each turn adds a new assistant message.", CHAT, ("text",), _several_turns),
    Check("regenerate", "chat", "`regenerate()` gets a new response.", CHAT, ("text",), _regenerate),
    Check("edit", "chat", "An edit does not overwrite the user message.", CHAT, ("text",), _edit),
    Check("file", "chat", "The history keeps a message's file, or the reply uses it.", CHAT, ("file",), _file),
    Check("error", "chat", "An error has no traceback, and the chat continues.", ERRORS, ("text", "error"), _error),
    Check("repeated POST", "chat", "A repeated POST gets a 4xx or a stream.", TRANSPORT, ("text",), _repeated_post),
    Check("cut connection", "chat", "The chat continues after a disconnect.", CHAT, ("text", "long"), _cut_connection),
    Check("second tab", "chat", "A POST of a second tab gets a 4xx or a stream.", CHAT, ("text", "long"), _second_tab),
    Check("extra keys", "chat", "Unknown keys in a message are ignored.", VALIDATION, ("text",), _extra_keys),
    Check("unusual text", "chat", "Rare characters get a 4xx or a stream.", TRANSPORT, ("text",), _unusual_text),
)
