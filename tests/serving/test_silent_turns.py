"""Responses that end before any output: they leave no message, and the chat continues."""

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.genai import types

from stream_protocol.serving import Outcome, ServiceLimits, create_app
from stream_protocol.session import session_to_messages
from stream_protocol.testing import Call, ScriptedLlm, Wait
from tests.comparable_messages import comparable
from tests.serving.chat_client import Page
from tests.serving.instrumented import InstrumentedService
from tests.serving.support import begin, said
from tests.serving.test_answer_endings import SaidLlm

pytestmark = pytest.mark.usefixtures("patient_clock")


def where() -> None:
    """Only the page knows."""


class Chat:
    """A chat whose first response shows nothing."""

    def __init__(self, *turns: Any, model: BaseLlm | None = None, **options: Any) -> None:
        tools = [LongRunningFunctionTool(where)]
        agent = LlmAgent(name="root", model=model or ScriptedLlm(turns=turns), tools=[*tools])
        self.service = InstrumentedService(agent, **options)
        self.page = Page(create_app(self.service))

    async def stop(self) -> None:
        """Stops the run when its response has begun."""
        self.page.messages.append(said("Hi", "first"))
        async with begin(self.page.app, self.page.body()) as exchange:
            await exchange.status()
            start = await exchange.chunk()
            await self.service.stop("c1", user_id="local")
            self.page.take([start, await exchange.until("abort")])

    async def assert_nothing_is_left(self) -> None:
        """Not for a page that reloads, and not for another reader of the store."""
        stored = await self.page.stored()
        assert [message["role"] for message in stored] == ["user"]
        session = await self.service.runner.session_service.get_session(
            app_name="root", user_id="local", session_id="c1"
        )
        assert session is not None
        assert session_to_messages(session) == stored
        assert comparable(self.page.messages) == comparable(stored)

    async def assert_goes_on(self) -> None:
        """The next turn is answered, under an id of its own."""
        await self.page.send("Again")
        shown = [message for message in self.page.messages if message["parts"]]
        assert [message["role"] for message in shown] == ["user", "user", "assistant"]
        assert shown[-1]["parts"][-1]["text"] == "Better."
        assert len(set(self.page.ids())) == len(self.page.messages)
        assert comparable(await self.page.stored()) == comparable(self.page.messages)


each_page = pytest.mark.parametrize("reloads", [False, True], ids=["the same page", "a page that reloads"])

SHOWS_NOTHING: dict[str, Any] = {
    "an error": [RuntimeError("x")],
    "an error after an empty text": ["", RuntimeError("x")],
    "a filter": [types.FinishReason.SAFETY],
    "a limit": [types.FinishReason.MAX_TOKENS],
    "no text": [],
}


@each_page
@pytest.mark.parametrize("turn", SHOWS_NOTHING.values(), ids=SHOWS_NOTHING)
async def test_a_response_that_showed_nothing_leaves_no_message(turn: Any, *, reloads: bool) -> None:
    chat = Chat(turn, "Better.")
    await chat.page.send("Hi")
    await chat.assert_nothing_is_left()
    if reloads:
        chat.page.messages = await chat.page.stored()
    await chat.assert_goes_on()


@each_page
async def test_a_stop_before_the_first_text_leaves_no_message(*, reloads: bool) -> None:
    chat = Chat([Wait(asyncio.Event())], "Better.")
    await chat.stop()
    await chat.assert_nothing_is_left()
    if reloads:
        chat.page.messages = await chat.page.stored()
    await chat.assert_goes_on()


@each_page
async def test_a_message_of_which_nothing_is_left_can_be_answered_anew(*, reloads: bool) -> None:
    chat = Chat([Wait(asyncio.Event())], "Better.")
    await chat.stop()
    if reloads:
        chat.page.messages = await chat.page.stored()
    await chat.page.regenerate()
    assert [message["parts"][-1]["text"] for message in chat.page.messages] == ["Hi", "Better."]
    assert comparable(await chat.page.stored()) == comparable(chat.page.messages)


async def test_a_timeout_before_the_first_text_leaves_no_message() -> None:
    chat = Chat([Wait(asyncio.Event())], limits=ServiceLimits(run_timeout=0.05))
    await chat.page.send("Hi")
    await chat.assert_nothing_is_left()


async def test_a_worker_that_dies_before_the_first_text_leaves_no_message() -> None:
    dead = Chat([Wait(asyncio.Event())])
    dead.page.messages.append(said("Hi", "first"))
    async with begin(dead.page.app, dead.page.body()) as exchange:
        await exchange.status()
        start = await exchange.chunk()
        sessions = dead.service.runner.session_service
        session = await sessions.get_session(app_name="root", user_id="local", session_id="c1")
        assert session is not None
        other = Chat("Better.", session_service=sessions)
        assert session_to_messages(session) == await other.page.stored()
        assert [message["role"] for message in session_to_messages(session)] == ["user"]
        assert start["type"] == "start"
        await dead.service.stop("c1", user_id="local")


async def test_a_message_that_is_being_written_is_not_there_before_its_first_part() -> None:
    first, rest = asyncio.Event(), asyncio.Event()
    chat = Chat([Wait(first), "Now. ", Wait(rest), "Done."])
    chat.page.messages.append(said("Hi", "first"))
    async with begin(chat.page.app, chat.page.body()) as exchange:
        await exchange.status()
        begun = await exchange.chunk()
        assert [message["role"] for message in await chat.page.stored()] == ["user"]
        first.set()
        await exchange.until("text-delta")
        rest.set()
        await exchange.until("finish")
    stored = await chat.page.stored()
    assert [message["id"] for message in stored] == ["first", begun["messageId"]]


async def test_a_message_with_a_call_alone_stays() -> None:
    chat = Chat(Call("unknown"), RuntimeError("x"))
    await chat.page.send("Hi")
    assert comparable(await chat.page.stored()) == comparable(chat.page.messages)
    assert [part["type"] for part in chat.page.messages[-1]["parts"]] == ["step-start", "tool-unknown"]


async def test_the_app_gets_no_message_without_parts() -> None:
    told: list[tuple[list[str], list[Any], str]] = []

    def on_finish(messages: Sequence[Any], message: Any, outcome: Outcome) -> None:
        told.append(([one["role"] for one in messages], message["parts"], outcome.kind))

    chat = Chat([RuntimeError("x")], "Better.", on_finish=on_finish)
    await chat.page.send("Hi")
    await chat.page.stored()
    assert told == [(["user"], [], "error")]
    await chat.page.send("Again")
    await chat.page.stored()
    assert told[1][0] == ["user", "user", "assistant"]


# The log


def lines(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    return [record for record in caplog.records if "ended without an answer" in record.getMessage()]


EMPTY: dict[str, Sequence[LlmResponse]] = {
    "nothing": (),
    "a stop without content": (LlmResponse(finish_reason=types.FinishReason.STOP),),
    "no parts": (LlmResponse(content=types.Content(role="model", parts=[])),),
    "an empty text": (LlmResponse(content=types.Content(role="model", parts=[types.Part(text="")])),),
    "an empty text, streamed": (
        LlmResponse(content=types.Content(role="model", parts=[types.Part(text="")]), partial=True),
    ),
}


@pytest.mark.parametrize("responses", EMPTY.values(), ids=EMPTY)
async def test_an_answer_with_neither_content_nor_error_leaves_a_line_in_the_log(
    responses: Sequence[LlmResponse], caplog: pytest.LogCaptureFixture
) -> None:
    chat = Chat(model=SaidLlm(responses=responses))
    await chat.page.send("Hi")
    await chat.page.stored()
    (record,) = lines(caplog)
    assert record.levelno == logging.WARNING
    run_id = next(iter(record.args or ()))
    assert record.getMessage() == (
        f"The run {run_id} of the chat c1 ended without an answer: it showed nothing and reported no error."
    )
    assert record.name.startswith("stream_protocol.serving")


NOT_EMPTY: dict[str, Any] = {
    "text": ["Hi."],
    "an error": [RuntimeError("x")],
    "no content, as ADK reports it": [" "],
    "a call of the page": [Call("where")],
}


@pytest.mark.parametrize("turn", NOT_EMPTY.values(), ids=NOT_EMPTY)
async def test_an_answer_or_an_error_leaves_no_such_line(turn: Any, caplog: pytest.LogCaptureFixture) -> None:
    chat = Chat(turn, "On.")
    await chat.page.send("Hi")
    await chat.page.stored()
    assert lines(caplog) == []


async def test_a_stop_leaves_no_such_line(caplog: pytest.LogCaptureFixture) -> None:
    chat = Chat([Wait(asyncio.Event())])
    await chat.stop()
    await chat.page.stored()
    assert lines(caplog) == []
