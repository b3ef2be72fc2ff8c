"""The same words posted again when their run is over: by a proxy, by a wrapper of ``fetch``, for a lost response."""

import asyncio
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.tools.function_tool import FunctionTool

from stream_protocol.serving import create_app
from stream_protocol.testing import Call, ScriptedLlm, Wait
from tests.serving.chat_client import Page
from tests.serving.instrumented import InstrumentedService
from tests.serving.support import begin, chat, only, said, stream, text, types


class Shop:
    """A service whose tools count their runs."""

    def __init__(self, *turns: Any, **options: Any) -> None:
        self.done: list[str] = []
        self.model = ScriptedLlm(turns=turns)
        tools: list[Any] = [self.look, FunctionTool(self.pay, require_confirmation=True)]
        self.service = InstrumentedService(LlmAgent(name="root", model=self.model, tools=tools), **options)
        self.app = create_app(self.service)

    async def look(self) -> str:
        """Looks."""
        self.done.append("looked")
        return "blue"

    async def pay(self) -> str:
        """Pays."""
        self.done.append("paid")
        return "paid"

    async def texts(self) -> list[str]:
        messages = await Page(self.app).stored()
        return ["".join(part.get("text", "") for part in message["parts"]) for message in messages]


WORDS = chat(said("hi"), trigger="submit-message")
ALONE = {"id": "c1", "message": said("hi"), "trigger": "submit-message"}


@pytest.mark.parametrize("body", [WORDS, ALONE])
async def test_messages_again_get_their_stored_answer_and_nothing_runs_twice(body: dict[str, Any]) -> None:
    shop = Shop(Call("look"), "Blue.")
    first = await stream(shop.app, body)
    await shop.service.runs.free()
    again = await stream(shop.app, body)
    assert (text(again), again[0]["messageId"], types(again)[-1]) == ("Blue.", first[0]["messageId"], "finish")
    assert (shop.done, len(shop.model.requests)) == (["looked"], 2)
    assert await shop.texts() == ["hi", "Blue."]


async def test_messages_again_get_the_question_that_they_led_to() -> None:
    shop = Shop(Call("pay"))
    asked = await stream(shop.app, WORDS)
    await shop.service.runs.free()
    again = await stream(shop.app, WORDS)
    assert only(again, "tool-approval-request") == only(asked, "tool-approval-request")
    assert len(shop.model.requests) == 1


async def test_messages_whose_answer_failed_are_answered_anew() -> None:
    shop = Shop(["Half ", RuntimeError("hunter2")], "Whole.")
    assert types(await stream(shop.app, WORDS))[-1] == "error"
    await shop.service.runs.free()
    assert text(await stream(shop.app, WORDS)) == "Whole."
    assert await shop.texts() == ["hi", "Whole."]


async def test_messages_whose_answer_was_stopped_are_answered_anew() -> None:
    shop = Shop(["Half ", Wait(3600)], "Whole.")
    async with begin(shop.app, WORDS) as first:
        await first.status()
        await first.until("text-delta")
        await shop.service.stop("c1", user_id="local")
        await first.until("abort")
    await shop.service.runs.free()
    assert text(await stream(shop.app, WORDS)) == "Whole."
    assert await shop.texts() == ["hi", "Whole."]


@pytest.mark.parametrize("first", ["One.", ["One", RuntimeError("hunter2")]])
async def test_messages_that_come_late_for_the_second_time_take_nothing_back(first: Any) -> None:
    shop = Shop(first, "Two.")
    await stream(shop.app, WORDS)
    await stream(shop.app, chat(said("on", "u2"), trigger="submit-message"))
    await shop.service.runs.free()
    stored = await shop.texts()
    assert text(await stream(shop.app, WORDS)) == stored[1]
    assert await shop.texts() == stored
    assert len(shop.model.requests) == 2


async def test_a_cut_history_that_comes_again_takes_nothing_back() -> None:
    shop = Shop("One.", "Two.", "Three.", truncated_history="rewind")
    await stream(shop.app, WORDS)
    cut = chat(said("instead", "u2"), trigger="submit-message")
    for _ in range(2):
        assert text(await stream(shop.app, cut)) == "Two."
        await shop.service.runs.free()
    assert await shop.texts() == ["instead", "Two."]


async def test_equal_messages_that_come_together_are_answered_once() -> None:
    shop = Shop("One.")
    answers = await asyncio.gather(*(stream(shop.app, WORDS) for _ in range(3)))
    assert [text(answer) for answer in answers] == ["One."] * 3


@pytest.mark.parametrize(
    "body", [chat(said("hi")), {**WORDS, "messageId": "u1"}, {**WORDS, "trigger": "regenerate-message"}]
)
async def test_another_answer_is_given_to_who_asks_for_it(body: dict[str, Any]) -> None:
    shop = Shop("One.", "Two.")
    assert text(await stream(shop.app, body)) == "One."
    await shop.service.runs.free()
    assert text(await stream(shop.app, body)) == "Two."
    assert await shop.texts() == ["hi", "Two."]
