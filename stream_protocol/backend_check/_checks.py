"""The checks of the profiles ``stream`` and ``chat``, each a rule and the steps that try it."""

import json
from typing import Final

from stream_protocol.backend_check._results import BrokenError, Check, NotOfferedError
from stream_protocol.backend_check._stock_client import Answer, Backend, Chat, StreamRuleError

TRANSPORT: Final = "ai: ui/http-chat-transport.ts"
CHAT: Final = "ai: ui/chat.ts"
VALIDATION: Final = "ai: ui/validate-ui-messages.ts, which strips unknown keys"
FILE: Final = {"mediaType": "text/plain", "filename": "note.txt", "url": "data:text/plain;base64,SGVsbG8="}


def _prompt(backend: Backend, feature: str = "text") -> str:
    return backend.candidates(feature)[0]


def _has_text(answer: Answer) -> bool:
    return any(part["type"] == "text" and part.get("text") for part in answer.message["parts"])


def _require_text(answer: Answer) -> None:
    if not _has_text(answer):
        raise BrokenError("The answer has no text.", chunk=answer.last_chunk)


async def _text_answer(backend: Backend) -> None:
    try:
        _require_text(await Chat(backend).send(_prompt(backend)))
    except StreamRuleError as error:
        backend.reported.add(error.rule)
        raise


async def _several_turns(backend: Backend) -> None:
    chat = Chat(backend)
    for _ in range(3):
        _require_text(await chat.send(_prompt(backend)))
    if len(chat.messages) != 6:
        raise BrokenError(f"Three turns are {len(chat.messages)} messages, not 6: ids are used again.")


async def _regenerate(backend: Backend) -> None:
    chat = Chat(backend)
    await chat.send(_prompt(backend))
    chat.messages.pop()
    _require_text(await chat.submit("regenerate-message"))


async def _edit(backend: Backend) -> None:
    chat = Chat(backend)
    await chat.send(_prompt(backend))
    del chat.messages[1:]
    edited = chat.messages[0]["id"]
    answer = await chat.submit(message_id=edited)
    if answer.start_id == edited:
        raise BrokenError("The answer has the id of the user message, and overwrites it.", chunk=answer.chunks[0])
    _require_text(answer)


async def _file(backend: Backend) -> None:
    chat = Chat(backend)
    chat.add_user_message(_prompt(backend, "file"), FILE)
    async with chat.open() as answer:
        if 400 <= answer.status < 500:
            raise NotOfferedError(f"The server answers a message with a file with HTTP {answer.status}.")
        await answer.require_stream()
        await answer.read()
    chat.judge(answer)
    answer.require_readable()


async def _repeated_post(backend: Backend) -> None:
    chat = Chat(backend)
    chat.add_user_message(_prompt(backend))
    sent = [*chat.messages]
    await chat.submit()
    chat.messages[:] = sent
    async with chat.open() as answer:
        if not 400 <= answer.status < 500:
            await answer.require_stream()
            await answer.read()
            answer.require_readable()


async def _cut_connection(backend: Backend) -> None:
    chat = Chat(backend)
    chat.add_user_message(_prompt(backend, "long"))
    async with chat.open() as answer:
        await answer.require_stream()
        await answer.read(until=_has_text)
    answer.require_readable()
    chat.keep(answer)
    _require_text(await chat.send(_prompt(backend)))


async def _slow_reader(backend: Backend) -> None:
    chat = Chat(backend)
    chat.add_user_message(_prompt(backend))
    _require_text(await chat.submit(pause=0.05))


async def _extra_keys(backend: Backend) -> None:
    chat = Chat(backend)
    chat.add_user_message(_prompt(backend))
    chat.messages[-1]["createdAt"] = "2026-01-01T00:00:00Z"  # type: ignore[typeddict-unknown-key]
    _require_text(await chat.submit())


async def _bad_body(backend: Backend, body: bytes) -> None:
    status, text = await backend.post_raw(body)
    if not 400 <= status < 500:
        raise BrokenError(f"HTTP {status} instead of 4xx: {text}")


async def _not_json(backend: Backend) -> None:
    await _bad_body(backend, b"{")


async def _empty_body(backend: Backend) -> None:
    await _bad_body(backend, b"")


async def _wrong_types(backend: Backend) -> None:
    await _bad_body(backend, json.dumps({"id": "c1", "messages": 1, "trigger": "submit-message"}).encode())


CHECKS: Final = (
    Check("text answer", "stream", "An answer is a legal stream with text.", TRANSPORT, ("text",), _text_answer),
    Check("slow reader", "stream", "A slow reader gets the whole answer.", TRANSPORT, ("text",), _slow_reader),
    Check("not JSON", "stream", "A body that is not JSON is a 4xx.", TRANSPORT, (), _not_json),
    Check("empty body", "stream", "An empty body is a 4xx.", TRANSPORT, (), _empty_body),
    Check("wrong types", "stream", "Messages of a wrong type are a 4xx.", TRANSPORT, (), _wrong_types),
    Check("several turns", "chat", "Each answer is a message of its own.", CHAT, ("text",), _several_turns),
    Check("regenerate", "chat", "`regenerate()` gets a new answer.", CHAT, ("text",), _regenerate),
    Check("edit", "chat", "An edit does not overwrite the user message.", CHAT, ("text",), _edit),
    Check("file", "chat", "A message may have a file.", CHAT, ("file",), _file),
    Check("repeated POST", "chat", "A repeated POST is a 4xx or a stream.", TRANSPORT, ("text",), _repeated_post),
    Check("cut connection", "chat", "After a cut the chat goes on.", CHAT, ("text", "long"), _cut_connection),
    Check("extra keys", "chat", "Keys that the server does not know do no harm.", VALIDATION, ("text",), _extra_keys),
)
