"""The checks of the profile ``chat``: several turns, edits, files, errors, and connections that break."""

import asyncio
from typing import Final

from stream_protocol.backend_check._results import BrokenError, Check, NotOfferedError
from stream_protocol.backend_check._steps import (
    CHAT,
    TRANSPORT,
    first_prompt,
    has_text,
    judge_alone,
    require_stream_or_refusal,
    require_text,
    running,
)
from stream_protocol.backend_check._stock_client import Answer, Backend, Chat

VALIDATION: Final = "ai: ui/validate-ui-messages.ts, which strips unknown keys"
ERRORS: Final = "ai: docs/04-ai-sdk-ui/21-error-handling.mdx"
FILE: Final = {"mediaType": "text/plain", "filename": "note.txt", "url": "data:text/plain;base64,SGVsbG8="}
TRIES: Final = 2
"""A provider that fails is often fine at the next try, and the other way round."""


async def _several_turns(backend: Backend) -> None:
    chat = Chat(backend)
    for _ in range(3):
        require_text(await chat.send(first_prompt(backend)))
    if len(chat.messages) != 6:
        raise BrokenError(f"Three turns are {len(chat.messages)} messages, not 6: ids are used again.")


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
    answer = await chat.submit(message_id=edited)
    if answer.start_id == edited:
        raise BrokenError("The answer has the id of the user message, and overwrites it.", chunk=answer.chunks[0])
    require_text(answer)


async def _file(backend: Backend) -> None:
    chat = Chat(backend)
    chat.add_user_message(first_prompt(backend, "file"), FILE)
    async with chat.open() as answer:
        if not await require_stream_or_refusal(answer):
            raise NotOfferedError(f"The server answers a message with a file with HTTP {answer.status}.")
    chat.judge(answer)


async def _repeated_post(backend: Backend) -> None:
    chat = Chat(backend)
    chat.add_user_message(first_prompt(backend))
    again = chat.copy()
    await chat.submit()
    async with again.open() as answer:
        await require_stream_or_refusal(answer)


async def _cut_connection(backend: Backend) -> None:
    chat = Chat(backend)
    chat.add_user_message(first_prompt(backend, "long"))
    async with chat.open() as answer:
        await answer.require_stream()
        await answer.read(until=has_text)
    answer.require_readable()
    chat.keep(answer)
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
    for rare in ("\0", "\ud83d"):
        chat = Chat(backend)
        chat.add_user_message(rare)
        async with chat.open() as answer:
            await require_stream_or_refusal(answer)


async def _error(backend: Backend) -> None:
    for prompt in backend.candidates("error"):
        for _ in range(TRIES):
            chat = Chat(backend)
            if (text := await _error_text(chat, prompt)) is None:
                continue
            if "Traceback (most recent call last)" in text:
                raise BrokenError("The user sees a traceback.")
            require_text(await chat.send(first_prompt(backend)))
            return
    raise NotOfferedError("No prompt of `error` leads to an error.")


async def _error_text(chat: Chat, prompt: str) -> str | None:
    """The text of the error that the user sees, if the answer is one."""
    chat.add_user_message(prompt)
    async with chat.open() as answer:
        await answer.read()
    if answer.status >= 400:
        return answer.body.decode(errors="replace")
    chat.judge(answer)
    chat.keep(answer)
    return _chunk_text(answer)


def _chunk_text(answer: Answer) -> str | None:
    return next((str(chunk.get("errorText")) for chunk in answer.chunks if chunk["type"] == "error"), None)


CHAT_CHECKS: Final = (
    Check("several turns", "chat", "Each answer is a message of its own.", CHAT, ("text",), _several_turns),
    Check("regenerate", "chat", "`regenerate()` gets a new answer.", CHAT, ("text",), _regenerate),
    Check("edit", "chat", "An edit does not overwrite the user message.", CHAT, ("text",), _edit),
    Check("file", "chat", "A message may have a file.", CHAT, ("file",), _file),
    Check("error", "chat", "An error is one for the user, and the chat goes on.", ERRORS, ("text", "error"), _error),
    Check("repeated POST", "chat", "A repeated POST is a 4xx or a stream.", TRANSPORT, ("text",), _repeated_post),
    Check("cut connection", "chat", "After a cut the chat goes on.", CHAT, ("text", "long"), _cut_connection),
    Check("second tab", "chat", "A second tab is answered or refused.", CHAT, ("text", "long"), _second_tab),
    Check("extra keys", "chat", "Keys that the server does not know do no harm.", VALIDATION, ("text",), _extra_keys),
    Check("unusual text", "chat", "Rare characters are answered or refused.", TRANSPORT, ("text",), _unusual_text),
)
