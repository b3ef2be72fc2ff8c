"""Checks of the profile ``durable``: a run continues without a connected client, and can be resumed and stopped."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from stream_protocol.backend_check._chat_response import ChatResponse
from stream_protocol.backend_check._results import MISSING, BrokenError, Check, NotOfferedError
from stream_protocol.backend_check._steps import (
    CHAT,
    POLLS,
    PROMISE,
    SECONDS_BETWEEN,
    first_prompt,
    judge_alone,
    require_stream_or_refusal,
    require_text,
    running,
)
from stream_protocol.backend_check._stock_client import Backend, Chat

RESUME: Final = "ai: docs/04-ai-sdk-ui/03-chatbot-resume-streams.mdx"
TRANSPORT_204: Final = "ai: ui/http-chat-transport.ts, reconnectToStream"


@asynccontextmanager
async def _resumed(chat: Chat) -> AsyncIterator[ChatResponse]:
    async with chat.resume() as response:
        if response.status in MISSING:
            raise NotOfferedError(f"During a run, resume gets HTTP {response.status}.")
        if response.status == 204:
            raise BrokenError("During a run, resume gets HTTP 204: the client resumes nothing.")
        await response.require_stream()
        yield response


async def _resume(backend: Backend) -> None:
    chat = Chat(backend)
    async with running(chat) as first:
        seen = first.text
    async with _resumed(chat) as second:
        await second.read()
    judge_alone(second, backend)
    if not second.text.startswith(seen):
        raise BrokenError("The resumed response lacks text that was sent before.", chunk=second.chunks[0])
    if first.start_id != second.start_id:
        raise BrokenError("The resumed response has a different message id.", chunk=second.chunks[0])


async def _second_reader(backend: Backend) -> None:
    chat = Chat(backend)
    async with running(chat) as first, _resumed(chat) as second:
        await asyncio.gather(first.read(), second.read())
    judge_alone(first, backend)
    judge_alone(second, backend)
    for ours, theirs in zip(first.message["parts"], second.message["parts"], strict=False):
        if ours != theirs:
            raise BrokenError("Two readers get different parts.", chunk={"first": ours, "second": theirs})
    if len(first.message["parts"]) != len(second.message["parts"]):
        raise BrokenError("Two readers get different numbers of parts.", chunk=second.last_chunk)


async def _nothing_to_resume(backend: Backend) -> None:
    chat = Chat(backend)
    await chat.send(first_prompt(backend))
    for kind, idle in (("after a run", chat), ("of a new chat", Chat(backend))):
        status = await _status_when_idle(idle)
        if status in MISSING and not await _can_resume(backend):
            raise NotOfferedError(f"Resume gets HTTP {status}.")
        if status != 204:
            effect = "the page shows an error" if status >= 400 else "the page shows the reply again"
            raise BrokenError(f"Resume {kind} gets HTTP {status} instead of 204: {effect}.")


async def _status_when_idle(chat: Chat) -> int:
    for _ in range(POLLS):
        async with chat.resume() as response:
            if response.status == 204 or response.status >= 400:
                return response.status
        await asyncio.sleep(SECONDS_BETWEEN)
    return response.status


async def _can_resume(backend: Backend) -> bool:
    chat = Chat(backend)
    async with running(chat), chat.resume() as response:
        return response.status not in MISSING


async def _stop_run(chat: Chat) -> None:
    status = await chat.stop()
    if status in MISSING:
        raise NotOfferedError(f"During a run, stop gets HTTP {status}.")
    if not 200 <= status < 300:
        raise BrokenError(f"During a run, stop gets HTTP {status}.")


async def _stop(backend: Backend) -> None:
    chat = Chat(backend)
    async with running(chat) as response:
        await _stop_run(chat)
        await response.read()
    judge_alone(response, backend)
    if response.terminal != "abort":
        raise BrokenError(
            f"The stopped stream ends with `{response.terminal}`, not `abort`.", chunk=response.last_chunk
        )


async def _stop_then_resume(backend: Backend) -> None:
    chat = Chat(backend)
    async with running(chat) as response:
        await _stop_run(chat)
    async with chat.resume() as resumed:
        if resumed.status == 200:
            await resumed.read()
            if resumed.terminal != "abort":
                text = f"After a stop, the run continues: the resumed response ends with `{resumed.terminal}`."
                raise BrokenError(text, chunk=resumed.last_chunk)
    status = await _status_when_idle(chat)
    if status != 204 and status not in MISSING:
        raise BrokenError(f"After a stop, resume gets HTTP {status}: the run continues.", chunk=response.last_chunk)


async def _stop_then_send(backend: Backend) -> None:
    chat = Chat(backend)
    async with running(chat) as stopped:
        await _stop_run(chat)
    chat.keep(stopped)
    response = await chat.send(first_prompt(backend))
    require_text(response)
    if response.message["id"] == stopped.message["id"]:
        raise BrokenError(
            "The new message has the id of the stopped message, and overwrites it.", chunk=response.chunks[0]
        )


async def _stop_nothing(backend: Backend) -> None:
    chat = Chat(backend)
    await chat.send(first_prompt(backend))
    if (status := await chat.stop()) in MISSING:
        raise NotOfferedError(f"Stop gets HTTP {status}.")
    if status >= 500:
        raise BrokenError(f"Without a run, stop gets HTTP {status}.")


async def _repeated_run(backend: Backend) -> None:
    chat = Chat(backend)
    async with running(chat) as first:
        async with _resumed(chat):
            pass
        async with chat.copy().open() as second:
            _, accepted = await asyncio.gather(first.read(), require_stream_or_refusal(second))
    judge_alone(first, backend)
    if accepted and (first.start_id, first.text) != (second.start_id, second.text):
        raise BrokenError("The prompt runs twice: the second response differs.", chunk=second.chunks[0])


DURABLE_CHECKS: Final = (
    Check("resume", "durable", "Resume sends the response from its start.", RESUME, ("long",), _resume),
    Check("second reader", "durable", "Two readers of a run get the same parts.", PROMISE, ("long",), _second_reader),
    Check(
        "resume without run",
        "durable",
        "Without a run, resume gets 204.",
        TRANSPORT_204,
        ("text", "long"),
        _nothing_to_resume,
    ),
    Check("stop", "durable", "A stopped response ends with `abort`.", RESUME, ("long",), _stop),
    Check("stop then resume", "durable", "A stopped run cannot be resumed.", RESUME, ("long",), _stop_then_resume),
    Check("stop then send", "durable", "The chat continues after a stop.", CHAT, ("text", "long"), _stop_then_send),
    Check("stop without run", "durable", "Without a run, stop gets no 5xx.", RESUME, ("text",), _stop_nothing),
    Check(
        "repeated POST runs once", "durable", "A repeated POST does not run twice.", PROMISE, ("long",), _repeated_run
    ),
)
