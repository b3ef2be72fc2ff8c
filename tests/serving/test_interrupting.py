"""Requests for a busy chat: new messages win, retries join, answers wait, and refusals change nothing."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.sessions import InMemorySessionService, Session
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool

from stream_protocol import StreamProtocolError
from stream_protocol.serving import MemoryRunLog, ServiceLimits, create_app
from stream_protocol.serving.base._times import ServiceTimes
from stream_protocol.testing import Call, ScriptedLlm, Wait
from tests.serving.chat_client import Page
from tests.serving.instrumented import InstrumentedService
from tests.serving.support import (
    Exchange,
    answered,
    approval,
    begin,
    chat,
    chunks,
    only,
    post,
    said,
    soon,
    stream,
    text,
    types,
)

pytestmark = pytest.mark.usefixtures("patient_clock")

HALF = ["Half ", Wait(3600), "and whole."]
"""An answer that ends only when a test ends it."""

BUSY = "This chat is still answering. Wait for the answer, or stop it."


def where(question: str) -> None:
    """Only the page knows."""


class SlowToolsApp:
    """A service, its model, and tools that take as long as a test wants."""

    def __init__(self, *turns: Any, **options: Any) -> None:
        self.digging, self.may_end = asyncio.Event(), asyncio.Event()
        self.paid: list[int] = []
        self.model = ScriptedLlm(turns=turns)
        tools: list[Any] = [
            self.dig,
            self.stubborn,
            FunctionTool(self.pay, require_confirmation=True),
            LongRunningFunctionTool(where),
        ]
        self.service = InstrumentedService(LlmAgent(name="root", model=self.model, tools=tools), **options)
        self.app = create_app(self.service)

    async def dig(self) -> str:
        """Digs."""
        self.digging.set()
        await self.may_end.wait()
        return "dug"

    async def stubborn(self) -> str:
        """Does not let itself be stopped."""
        self.digging.set()
        while not self.may_end.is_set():
            try:
                await self.may_end.wait()
            except asyncio.CancelledError:
                continue
        return "at last"

    async def pay(self, amount: int) -> dict[str, int]:
        """Pays."""
        await self.dig()
        self.paid.append(amount)
        return {"paid": amount}

    async def stored(self) -> list[str]:
        """The messages as history has them, each as its texts and the states of its calls."""
        messages = await Page(self.app).stored()
        shown = [[part.get("text") or part.get("state") for part in each["parts"]] for each in messages]
        return ["|".join(part for part in parts if part) for parts in shown]

    def asked(self) -> list[str]:
        """The texts that the model was last shown."""
        contents = self.model.requests[-1].contents
        return [part.text for content in contents for part in content.parts or [] if part.text]


NEW_TURNS: list[tuple[str, Any, list[str]]] = [
    ("other words", chat(said("hi"), said("and?", "u2")), ["hi", "Half ", "and?", "Whole."]),
    ("the same words in another message", chat(said("hi", "u2")), ["hi", "Half ", "hi", "Whole."]),
    ("an edit", chat(said("hello"), messageId="u1"), ["hello", "Whole."]),
    ("an edit by the last message alone", {"id": "c1", "message": said("hello")}, ["hello", "Whole."]),
    ("another answer", chat(said("hi"), trigger="regenerate-message"), ["hi", "Whole."]),
]


@pytest.mark.parametrize("history", ["server", "client"])
@pytest.mark.parametrize("leaves", [False, True])
@pytest.mark.parametrize(("body", "stored"), [row[1:] for row in NEW_TURNS], ids=[row[0] for row in NEW_TURNS])
async def test_a_new_turn_ends_the_run_and_is_answered(
    body: Any, stored: list[str], leaves: bool, history: str
) -> None:
    slow_app = SlowToolsApp(HALF, "Whole.", history=history)
    async with begin(slow_app.app, chat(said("hi"))) as first:
        await first.status()
        await first.until("text-delta")
        if leaves:
            first.leave()
        assert text(await stream(slow_app.app, body)) == "Whole."
        if not leaves:
            assert await first.until("abort") == {"type": "abort"}
    if history == "server":
        assert await slow_app.stored() == stored
        assert slow_app.asked() == [words for words in stored if words != "Whole."]


async def test_a_run_that_an_approval_began_is_interrupted_too_and_its_call_is_closed() -> None:
    slow_app = SlowToolsApp(Call("pay", {"amount": 5}), "Never mind.")
    asked = await stream(slow_app.app, chat(said("pay")))
    (request,) = only(asked, "tool-approval-request")
    async with begin(slow_app.app, answered(asked[0]["messageId"], approval(request, approved=True))) as paying:
        await paying.status()
        await soon(slow_app.digging)
        assert text(await stream(slow_app.app, chat(said("wait", "u2")))) == "Never mind."
        await paying.until("abort")
    assert slow_app.paid == []
    assert await slow_app.stored() == ["pay", "output-error", "wait", "Never mind."]


async def test_messages_that_come_at_once_are_all_stored_and_the_last_to_claim_the_chat_are_answered() -> None:
    slow_app = SlowToolsApp(*["Well."] * 4)
    tabs = await asyncio.gather(*(stream(slow_app.app, chat(said(f"hi {n}", f"u{n}"))) for n in range(4)))
    assert sorted(types(tab)[-1] for tab in tabs) == ["abort", "abort", "abort", "finish"]
    (answered_tab,) = [number for number, tab in enumerate(tabs) if types(tab)[-1] == "finish"]
    stored = [each for each in await slow_app.stored() if each]
    assert sorted(stored[:-1]) == ["hi 0", "hi 1", "hi 2", "hi 3"]
    assert stored[-2:] == [f"hi {answered_tab}", "Well."]
    # An answer that was under way when its response ended is hidden from the page; the model reads it.
    assert [words for words in slow_app.asked() if words != "Well."] == stored[:-1]


class SlowSessions(InMemorySessionService):
    """Takes as long as a test wants."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.may_answer = asyncio.Event(), asyncio.Event()

    async def get_session(self, **whose: Any) -> Session | None:
        self.asked.set()
        await self.may_answer.wait()
        return await super().get_session(**whose)


async def test_messages_that_are_interrupted_before_their_run_has_begun_are_stored() -> None:
    sessions = SlowSessions()
    slow_app = SlowToolsApp("Well.", session_service=sessions)
    first = asyncio.create_task(post(slow_app.app, chat(said("one"))))
    await soon(sessions.asked)
    second = asyncio.create_task(post(slow_app.app, chat(said("two", "u2"))))
    await asyncio.sleep(0)
    sessions.may_answer.set()
    assert types(chunks((await first).text))[-1] == "abort"
    assert text(chunks((await second).text)) == "Well."
    assert slow_app.asked() == ["one", "two"]
    assert [each for each in await slow_app.stored() if each] == ["one", "two", "Well."]


REFUSED: list[tuple[str, dict[str, Any], int]] = [
    ("nothing said", chat({**said("x", "u2"), "parts": []}), 422),
    (
        "a file that is refused",
        chat({**said("x", "u2"), "parts": [{"type": "file", "mediaType": "a/b", "url": "ftp://x"}]}),
        422,
    ),
    ("no words of the user's", chat({**said("x", "u2"), "role": "system"}), 422),
    ("an answer to nothing", answered("m1", approval({"toolCallId": "x", "approvalId": "y"}, approved=True)), 409),
    ("nothing to answer again", chat({**said("x", "a"), "role": "assistant"}, trigger="regenerate-message"), 409),
]


@pytest.mark.parametrize(("body", "status"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
async def test_what_is_refused_interrupts_nothing(body: dict[str, Any], status: int) -> None:
    go_on = asyncio.Event()
    slow_app = SlowToolsApp(["Half ", Wait(go_on), "and whole."])
    async with begin(slow_app.app, chat(said("hi"))) as first:
        await first.status()
        await first.until("text-delta")
        assert (await post(slow_app.app, body)).status_code == status
        go_on.set()
        await first.until("finish")
    assert await slow_app.stored() == ["hi", "Half and whole."]


async def test_a_store_that_does_not_answer_interrupts_nothing() -> None:
    sessions = SlowSessions()
    sessions.may_answer.set()
    go_on = asyncio.Event()
    slow_app = SlowToolsApp(
        ["Half ", Wait(go_on), "and whole."], session_service=sessions, limits=ServiceLimits(hook_timeout=0.05)
    )
    async with begin(slow_app.app, chat(said("hi"))) as first:
        await first.status()
        await first.until("text-delta")
        sessions.may_answer.clear()
        assert (await post(slow_app.app, chat(said("more", "u2")))).status_code == 503
        sessions.may_answer.set()
        go_on.set()
        await first.until("finish")


async def test_a_retry_joins_its_run_and_one_of_interrupted_messages_gets_their_end_and_disturbs_nobody() -> None:
    go_on = asyncio.Event()
    slow_app = SlowToolsApp(HALF, ["Whole ", Wait(go_on), "now."])
    async with begin(slow_app.app, chat(said("hi"))) as first:
        await first.status()
        await first.until("text-delta")
        async with begin(slow_app.app, chat(said("and?", "u2"))) as second:
            assert await second.status() == 200
            await second.until("text-delta")
            again = await stream(slow_app.app, chat(said("hi")))
            joined = asyncio.create_task(stream(slow_app.app, chat(said("and?", "u2"))))
            await asyncio.sleep(0)
            go_on.set()
            await second.until("finish")
            assert text(await joined) == "Whole now."
    assert (text(again), types(again)[-1]) == ("Half ", "abort")
    assert len(slow_app.model.requests) == 2
    assert await slow_app.stored() == ["hi", "Half ", "and?", "Whole now."]


async def test_a_retry_of_messages_that_were_asked_for_an_approval_gets_the_question() -> None:
    slow_app = SlowToolsApp(Call("pay", {"amount": 5}), "Paid.")
    asked = await stream(slow_app.app, chat(said("pay")))
    (request,) = only(asked, "tool-approval-request")
    async with begin(slow_app.app, answered(asked[0]["messageId"], approval(request, approved=True))) as paying:
        await paying.status()
        await soon(slow_app.digging)
        assert await stream(slow_app.app, chat(said("pay"))) == asked
        slow_app.may_end.set()
        await paying.until("finish")
    assert slow_app.paid == [5]


@pytest.mark.parametrize("more", [{}, {"trigger": "regenerate-message"}])
async def test_equal_requests_that_wait_for_another_run_are_answered_once(more: dict[str, Any]) -> None:
    slow_app = SlowToolsApp(Call("stubborn"), "Once.", "Twice.")
    async with begin(slow_app.app, chat(said("hi"))) as first:
        await first.status()
        await soon(slow_app.digging)
        twins = [asyncio.create_task(stream(slow_app.app, chat(said("and?", "u2"), **more))) for _ in range(3)]
        await first.until("abort")
        slow_app.may_end.set()
        assert [text(await twin) for twin in twins] == ["Once."] * 3
    assert await slow_app.stored() == ["hi", "output-error", "and?", "Once."]


def output(call: Any, value: Any) -> dict[str, Any]:
    part = {"type": "tool-where", "toolCallId": call["toolCallId"], "input": {}, "state": "output-available"}
    return {**part, "output": value}


BOTH = [Call("where", {"question": "city"}), Call("dig")]


@asynccontextmanager
async def digging(slow_app: SlowToolsApp) -> AsyncIterator[tuple[Exchange, dict[str, Any]]]:
    """A run that digs while it has asked the page something, and the page's answer to that."""
    async with begin(slow_app.app, chat(said("hi"))) as first:
        await first.status()
        start = await first.until("start")
        asked = await first.until("tool-input-available")
        await soon(slow_app.digging)
        yield first, answered(start["messageId"], output(asked, "Oslo"))


async def test_an_answer_to_an_open_call_waits_for_the_end_of_the_run_and_then_goes_on() -> None:
    slow_app = SlowToolsApp(BOTH, "I dug.", "Oslo, then.")
    async with digging(slow_app) as (first, answer):
        twins = [asyncio.create_task(stream(slow_app.app, answer)) for _ in range(2)]
        await asyncio.sleep(0.05)
        assert not any(twin.done() for twin in twins)
        slow_app.may_end.set()
        await first.until("finish")
        assert [text(await twin) for twin in twins] == ["Oslo, then."] * 2
    assert len(slow_app.model.requests) == 3
    assert await slow_app.stored() == ["hi", "output-available|output-available|I dug.|Oslo, then."]


@pytest.mark.parametrize("leaves", [False, True])
async def test_the_response_to_an_answer_that_waits_for_long_begins_before(leaves: bool) -> None:
    slow_app = SlowToolsApp(BOTH, "I dug.", "Oslo, then.", limits=ServiceLimits(stop_timeout=0.01))
    async with digging(slow_app) as (first, answer):
        async with begin(slow_app.app, answer) as waiting:
            assert await waiting.status() == 200
            if leaves:
                waiting.leave()
                await waiting.gone()
            slow_app.may_end.set()
            await first.until("finish")
            if not leaves:
                await waiting.until("finish")
        while (again := await post(slow_app.app, answer)).status_code == 503:
            assert again.headers["retry-after"]  # the answer is not stored yet
        assert text(chunks(again.text)) == "Oslo, then."
    assert len(slow_app.model.requests) == 3
    assert await slow_app.stored() == ["hi", "output-available|output-available|I dug.|Oslo, then."]


async def test_an_answer_that_has_waited_for_long_is_refused_in_its_response() -> None:
    slow_app = SlowToolsApp(BOTH, "Never mind.", limits=ServiceLimits(stop_timeout=0.01))
    async with digging(slow_app) as (_, answer), begin(slow_app.app, answer) as waiting:
        assert await waiting.status() == 200
        await slow_app.service.stop("c1", user_id="local")
        assert (await waiting.chunk())["type"] == "error"
        assert await waiting.event() == "data: [DONE]"


@pytest.mark.parametrize("end", ["stop", "words"])
async def test_an_answer_whose_call_is_closed_while_it_waits_gets_409(end: str) -> None:
    slow_app = SlowToolsApp(BOTH, "Never mind.")
    async with digging(slow_app) as (_, answer):
        waiting = asyncio.create_task(post(slow_app.app, answer))
        await asyncio.sleep(0.05)
        if end == "stop":
            await slow_app.service.stop("c1", user_id="local")
        else:
            assert text(await stream(slow_app.app, chat(said("wait", "u2")))) == "Never mind."
        assert (await waiting).status_code == 409
    assert (await post(slow_app.app, answer)).status_code == 409


async def test_messages_that_are_stopped_while_they_wait_are_stored_and_nobody_answers_them() -> None:
    slow_app = SlowToolsApp(Call("stubborn", {}), "Whole.")
    async with begin(slow_app.app, chat(said("hi"))) as first:
        await first.status()
        await soon(slow_app.digging)
        waiting = asyncio.create_task(post(slow_app.app, chat(said("hi"), said("and?", "u2"))))
        await first.until("abort")
        await slow_app.service.stop("c1", user_id="local")
        slow_app.may_end.set()
        assert types(chunks((await waiting).text)) == ["start", "abort"]
    await slow_app.service.runs.free()
    assert len(slow_app.model.requests) == 1
    assert await slow_app.stored() == ["hi", "output-error", "and?"]
    assert text(await stream(slow_app.app, chat(said("hi"), said("and?", "u2"), said("now?", "u3")))) == "Whole."


async def test_a_stop_reaches_the_messages_that_wait_at_another_worker() -> None:
    log, sessions = MemoryRunLog(), InMemorySessionService()
    first = SlowToolsApp(Call("stubborn", {}), run_log=log, session_service=sessions)
    second = SlowToolsApp("Whole.", run_log=log, session_service=sessions)
    async with begin(first.app, chat(said("hi"))) as page:
        await page.status()
        await soon(first.digging)
        waiting = asyncio.create_task(post(second.app, chat(said("hi"), said("and?", "u2"))))
        await page.until("abort")
        await first.service.stop("c1", user_id="local")
        first.may_end.set()
        assert types(chunks((await waiting).text)) == ["start", "abort"]
    await second.service.runs.free()
    assert not second.model.requests
    assert await second.stored() == ["hi", "output-error", "and?"]
    assert text(await stream(second.app, chat(said("hi"), said("and?", "u2"), said("now?", "u3")))) == "Whole."


async def test_a_page_that_was_reloaded_finds_the_run_that_has_interrupted_another() -> None:
    go_on = asyncio.Event()
    slow_app = SlowToolsApp(HALF, ["Whole ", Wait(go_on), "now."])
    async with begin(slow_app.app, chat(said("hi"))) as first:
        await first.status()
        await first.until("text-delta")
        async with begin(slow_app.app, chat(said("and?", "u2"))) as second:
            await second.status()
            await second.until("text-delta")
            second.leave()
            async with Exchange(slow_app.app, "/api/chat/c1/stream", method="GET").begin(b"") as reloaded:
                assert await reloaded.status() == 200
                assert (await reloaded.until("text-delta"))["delta"] == "Whole "
                go_on.set()
                await reloaded.until("finish")


async def test_a_run_that_does_not_end_in_time_is_503_and_a_later_try_is_answered() -> None:
    slow_app = SlowToolsApp(
        Call("stubborn"), "Whole.", limits=ServiceLimits(stop_timeout=0.05), times=ServiceTimes(stop=0.01)
    )
    async with begin(slow_app.app, chat(said("hi"))) as first:
        await first.status()
        await soon(slow_app.digging)
        for _ in range(2):
            refused = await post(slow_app.app, chat(said("and?", "u2")))
            assert (refused.status_code, refused.headers["retry-after"]) == (503, "2")
            assert refused.text == "The last answer of this chat has not stopped yet. Try again."
        slow_app.may_end.set()
        await first.until("abort")
        await slow_app.service.runs.free()
    assert text(await stream(slow_app.app, chat(said("and?", "u2")))) == "Whole."


async def test_an_app_may_choose_that_a_busy_chat_takes_nothing_else() -> None:
    slow_app = SlowToolsApp(BOTH, "I dug.", "Oslo, then.", on_busy="reject")
    async with digging(slow_app) as (first, answer):
        for body in (chat(said("and?", "u2")), chat(said("hi"), trigger="regenerate-message"), answer):
            refused = await post(slow_app.app, body)
            assert (refused.status_code, refused.text) == (409, BUSY)
        slow_app.may_end.set()
        await first.until("finish")
    assert text(await stream(slow_app.app, answer)) == "Oslo, then."


def test_what_a_busy_chat_does_is_one_of_two_things() -> None:
    with pytest.raises(StreamProtocolError, match="on_busy"):
        SlowToolsApp("Never.", on_busy="queue")


async def test_a_page_that_is_reloaded_while_its_messages_wait_finds_them_and_their_run() -> None:
    go_on = asyncio.Event()
    slow_app = SlowToolsApp(Call("stubborn"), ["Once ", Wait(go_on), "more."])
    async with begin(slow_app.app, chat(said("hi"))) as first:
        await first.status()
        await soon(slow_app.digging)
        async with begin(slow_app.app, chat(said("and?", "u2"))) as left:
            await first.until("abort")
            left.leave()
            stored = asyncio.create_task(slow_app.stored())
            await asyncio.sleep(0.3)  # whoever waits looks less often then
            slow_app.may_end.set()
            assert (await stored)[:3] == ["hi", "output-error", "and?"]
            async with Exchange(slow_app.app, "/api/chat/c1/stream", method="GET").begin(b"") as reloaded:
                assert await reloaded.status() == 200
                go_on.set()
                await reloaded.until("finish")
    assert await slow_app.stored() == ["hi", "output-error", "and?", "Once more."]
