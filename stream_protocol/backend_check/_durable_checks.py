"""The checks of the profile ``durable``: runs that continue without a reader, and that can be stopped."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final

from stream_protocol.backend_check._results import BrokenError, Check, NotOfferedError
from stream_protocol.backend_check._steps import (
    CHAT,
    MISSING,
    first_prompt,
    judge_alone,
    require_stream_or_refusal,
    require_text,
    running,
)
from stream_protocol.backend_check._stock_client import Answer, Backend, Chat

RESUME: Final = "ai: docs/04-ai-sdk-ui/03-chatbot-resume-streams.mdx"
TRANSPORT_204: Final = "ai: ui/http-chat-transport.ts, reconnectToStream"
PROMISE: Final = "docs/check-backend.md, the promise of the profile durable"
LOOKS: Final = 20
SECONDS_BETWEEN: Final = 0.2
"""A run may end a moment after its stream."""


@asynccontextmanager
async def _resumed(chat: Chat) -> AsyncIterator[Answer]:
    async with chat.resume() as answer:
        if answer.status in MISSING:
            raise NotOfferedError(f"Resume is HTTP {answer.status} during an answer.")
        if answer.status == 204:
            raise BrokenError("HTTP 204 during an answer: the client resumes nothing.")
        await answer.require_stream()
        yield answer


async def _resume(backend: Backend) -> None:
    chat = Chat(backend)
    async with running(chat) as first:
        seen = first.text
    async with _resumed(chat) as second:
        await second.read()
    judge_alone(second, backend)
    if not second.text.startswith(seen):
        raise BrokenError("The resumed answer lacks the text that the client had.", chunk=second.chunks[0])
    if first.start_id != second.start_id:
        raise BrokenError("The resumed answer has another message id.", chunk=second.chunks[0])


async def _second_reader(backend: Backend) -> None:
    chat = Chat(backend)
    async with running(chat) as first, _resumed(chat) as second:
        await asyncio.gather(first.read(), second.read())
    judge_alone(first, backend)
    judge_alone(second, backend)
    for ours, theirs in zip(first.message["parts"], second.message["parts"], strict=False):
        if ours != theirs:
            raise BrokenError("Two readers see different parts.", chunk={"first": ours, "second": theirs})
    if len(first.message["parts"]) != len(second.message["parts"]):
        raise BrokenError("A reader lacks parts of the answer.", chunk=second.last_chunk)


async def _nothing_to_resume(backend: Backend) -> None:
    chat = Chat(backend)
    await chat.send(first_prompt(backend))
    for kind, idle in (("after an answer", chat), ("of a new chat", Chat(backend))):
        status = await _status_when_idle(idle)
        if status in MISSING and not await _can_resume(backend):
            raise NotOfferedError(f"Resume is HTTP {status}.")
        if status != 204:
            raise BrokenError(f"Resume {kind} is HTTP {status} instead of 204: the page shows an error.")


async def _status_when_idle(chat: Chat) -> int:
    for _ in range(LOOKS):
        async with chat.resume() as answer:
            if answer.status == 204 or answer.status >= 400:
                return answer.status
        await asyncio.sleep(SECONDS_BETWEEN)
    return answer.status


async def _can_resume(backend: Backend) -> bool:
    chat = Chat(backend)
    async with running(chat), chat.resume() as answer:
        return answer.status not in MISSING


async def _end_run(chat: Chat) -> None:
    """Calls the stop route."""
    status = await chat.stop()
    if status in MISSING:
        raise NotOfferedError(f"Stop is HTTP {status} during an answer.")
    if not 200 <= status < 300:
        raise BrokenError(f"Stop is HTTP {status} during an answer.")


async def _stop(backend: Backend) -> None:
    chat = Chat(backend)
    async with running(chat) as answer:
        await _end_run(chat)
        await answer.read()
    judge_alone(answer, backend)
    if answer.terminal != "abort":
        raise BrokenError(f"The stopped stream ends with `{answer.terminal}`, not `abort`.", chunk=answer.last_chunk)


async def _stop_then_resume(backend: Backend) -> None:
    chat = Chat(backend)
    async with running(chat) as answer:
        await _end_run(chat)
    status = await _status_when_idle(chat)
    if status != 204 and status not in MISSING:
        raise BrokenError(f"After a stop, resume is HTTP {status}: the answer goes on.", chunk=answer.last_chunk)


async def _stop_then_send(backend: Backend) -> None:
    chat = Chat(backend)
    async with running(chat) as stopped:
        await _end_run(chat)
    chat.keep(stopped)
    answer = await chat.send(first_prompt(backend))
    require_text(answer)
    if answer.message["id"] == stopped.message["id"]:
        raise BrokenError("The new answer has the id of the stopped one, and overwrites it.", chunk=answer.chunks[0])


async def _stop_nothing(backend: Backend) -> None:
    chat = Chat(backend)
    await chat.send(first_prompt(backend))
    if (status := await chat.stop()) in MISSING:
        raise NotOfferedError(f"Stop is HTTP {status}.")
    if status >= 500:
        raise BrokenError(f"A stop without an answer is HTTP {status}.")


async def _repeated_run(backend: Backend) -> None:
    chat = Chat(backend)
    async with running(chat) as first:
        async with _resumed(chat):
            pass
        async with chat.copy().open() as second:
            _, accepted = await asyncio.gather(first.read(), require_stream_or_refusal(second))
    judge_alone(first, backend)
    if accepted and (first.start_id, first.text) != (second.start_id, second.text):
        raise BrokenError("The prompt runs twice: the second answer is another.", chunk=second.chunks[0])


Steps = Callable[[Backend], Awaitable[None]]


def _check(name: str, rule: str, source: str, needs: tuple[str, ...], steps: Steps) -> Check:
    return Check(name, "durable", rule, source, needs, steps)


DURABLE_CHECKS: Final = (
    _check("resume", "After a cut, the client reads the answer from its start.", RESUME, ("long",), _resume),
    _check("second reader", "Two readers of one answer see the same.", PROMISE, ("long",), _second_reader),
    _check(
        "nothing to resume", "Without an answer, resume is 204.", TRANSPORT_204, ("text", "long"), _nothing_to_resume
    ),
    _check("stop", "A stopped answer ends with `abort`.", RESUME, ("long",), _stop),
    _check("stop then resume", "A stopped answer cannot be resumed.", RESUME, ("long",), _stop_then_resume),
    _check("stop then send", "After a stop the chat goes on.", CHAT, ("text", "long"), _stop_then_send),
    _check("stop nothing", "A stop without an answer does no harm.", RESUME, ("text",), _stop_nothing),
    _check("repeated run", "During an answer, its POST does not run it again.", PROMISE, ("long",), _repeated_run),
)
