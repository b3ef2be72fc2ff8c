"""A response begins when the content of its request is stored. Until then a failure is a status, and a stop refuses
it.
"""

import asyncio
import copy
import sqlite3
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from google.adk.agents import BaseAgent, LlmAgent, LoopAgent, ParallelAgent, SequentialAgent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.apps import App
from google.adk.errors import StaleSessionError
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.events import Event
from google.adk.plugins import BasePlugin
from google.adk.sessions import BaseSessionService, InMemorySessionService, Session
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.adk.workflow import Workflow
from google.genai import types as genai

from stream_protocol import parse_chat_request
from stream_protocol.serving import AuditRecord, ChatService, ServiceLimits, create_app
from stream_protocol.serving.base._times import ServiceTimes
from stream_protocol.testing import Call, ScriptedLlm, Wait
from tests.serving.chat_client import Page
from tests.serving.fake_engine import FakeEngine
from tests.serving.support import begin, chat, chunks, client, post, said, soon, stream, text, types

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*Agent is deprecated:DeprecationWarning"),
    pytest.mark.usefixtures("patient_clock"),
]


class GatedSessions(InMemorySessionService):
    """Stores nothing of ``says`` until ``may_store`` is set. ``error``: raised then instead."""

    def __init__(self, says: Callable[[Event], bool]) -> None:
        super().__init__()
        self.asked, self.may_store = asyncio.Event(), asyncio.Event()
        self.error: Exception | None = None
        self._says = says

    async def append_event(self, session: Session, event: Event) -> Event:
        if event.author == "user" and self._says(event):
            self.asked.set()
            await self.may_store.wait()
            if self.error is not None:
                raise self.error
        return await super().append_event(session, event)


def says_text(event: Event) -> bool:
    return any(part.text for part in (event.content and event.content.parts) or ())


def answers(event: Event) -> bool:
    return bool(event.get_function_responses())


class Silent(BaseAgent):
    """An agent of an app's own class: ADK does not yield its user's event."""

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event]:
        yield Event(author=self.name, invocation_id=ctx.invocation_id, content=genai.ModelContent("Hi."))


def llm(name: str = "root", *turns: Any, **options: Any) -> LlmAgent:
    return LlmAgent(name=name, model=ScriptedLlm(turns=turns or ["Hi."]), **options)


def workflow() -> Workflow:
    return Workflow(name="root", edges=[("START", llm("one"))])


ROOTS: dict[str, Callable[[], Any]] = {
    "llm": llm,
    "sequence": lambda: SequentialAgent(name="root", sub_agents=[llm("one"), llm("two")]),
    "loop": lambda: LoopAgent(name="root", sub_agents=[llm("one")], max_iterations=1),
    "parallel": lambda: ParallelAgent(name="root", sub_agents=[llm("one"), llm("two")]),
    "own class": lambda: Silent(name="root"),
    "workflow": workflow,
}


@asynccontextmanager
async def posting(app: Any, body: Any) -> AsyncIterator[asyncio.Task[httpx.Response]]:
    """A request under way; the test ends it."""
    task = asyncio.create_task(post(app, body))
    try:
        yield task
    finally:
        task.cancel()


async def stored_texts(sessions: BaseSessionService, service: ChatService, chat_id: str = "c1") -> list[str]:
    """The user's texts in the chat, as stored."""
    session = await sessions.get_session(app_name=service.runner.app_name, user_id="local", session_id=chat_id)
    assert session is not None
    parts = [
        part
        for event in session.events
        if event.author == "user" and event.content
        for part in event.content.parts or ()
    ]
    return [part.text for part in parts if part.text]


@pytest.mark.parametrize("root", ROOTS)
async def test_a_response_begins_when_the_message_is_stored(root: str) -> None:
    sessions = GatedSessions(says_text)
    app = create_app(ChatService(ROOTS[root](), session_service=sessions))
    async with begin(app, chat(said("hi"))) as exchange:
        await soon(sessions.asked)
        status = asyncio.create_task(exchange.status())
        await asyncio.sleep(0.05)
        assert not status.done()
        sessions.may_store.set()
        assert await status == 200
        await exchange.until("finish")


@pytest.mark.parametrize("root", ROOTS)
async def test_whoever_has_the_first_byte_finds_the_message_in_the_store(
    root: str, sessions: BaseSessionService
) -> None:
    service = ChatService(ROOTS[root](), session_service=sessions)
    async with begin(create_app(service), chat(said("hi"))) as exchange:
        assert await exchange.status() == 200
        assert await stored_texts(sessions, service) == ["hi"]
        await exchange.until("finish")
    await service.aclose()


@pytest.mark.parametrize(
    "error",
    [ConnectionError("away"), TimeoutError(), sqlite3.OperationalError("disk full"), StaleSessionError("changed")],
    ids=lambda error: type(error).__name__,
)
@pytest.mark.parametrize("root", ROOTS)
async def test_a_store_that_refuses_the_message_is_a_503_and_the_retry_is_answered(root: str, error: Exception) -> None:
    sessions = GatedSessions(says_text)
    sessions.may_store.set()
    sessions.error = error
    service = ChatService(ROOTS[root](), session_service=sessions)
    app = create_app(service)
    refused = await post(app, chat(said("hi")))
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "2")
    assert await stored_texts(sessions, service) == []
    sessions.error = None
    assert "Hi." in text(await stream(app, chat(said("hi"))))
    assert await stored_texts(sessions, service) == ["hi"]


async def test_a_stopped_message_that_the_store_does_not_confirm_is_a_503() -> None:
    """Its run is cancelled. The store may have the message all the same."""
    sessions = GatedSessions(says_text)
    app = create_app(ChatService(llm(), session_service=sessions, times=ServiceTimes(stop=0.01)))
    async with posting(app, chat(said("hi"))) as task, client(app) as http:
        await soon(sessions.asked)
        assert (await http.post("/api/chat/c1/stop")).status_code == 202
        refused = await task
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "2")
    sessions.may_store.set()
    assert text(await stream(app, chat(said("hi")))) == "Hi."


async def test_a_chat_that_another_worker_creates_meanwhile_is_a_503() -> None:
    class CreatedElsewhere(InMemorySessionService):
        async def create_session(self, **key: Any) -> Session:
            _ = await super().create_session(**key)
            raise AlreadyExistsError("Session with id c1 already exists.")

    service = ChatService(llm(), session_service=CreatedElsewhere())
    app = create_app(service)
    refused = await post(app, chat(said("hi")))
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "2")
    assert text(await stream(app, chat(said("hi")))) == "Hi."


async def test_a_chat_that_another_worker_changes_before_its_rewind_is_a_503_and_keeps_its_answer() -> None:
    """The lease of that worker has ended, which it has not noticed yet."""
    sessions = GatedSessions(lambda event: event.actions.rewind_before_invocation_id is not None)
    sessions.may_store.set()
    sessions.error = StaleSessionError("changed")
    service = ChatService(llm("root", "One.", "Two."), session_service=sessions)
    app = create_app(service)
    _ = await stream(app, chat(said("hi")))
    again = chat(said("hi"), trigger="regenerate-message")
    refused = await post(app, again)
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "2")
    assert refused.text == "The chat was changed meanwhile. Try again."
    messages = await service.history("c1", user_id="local")
    assert messages is not None
    assert [part.get("text") for part in messages[-1]["parts"] if "text" in part] == ["One."]
    sessions.error = None
    assert text(await stream(app, again)) == "Two."


async def test_a_failure_before_the_message_is_stored_is_a_status_and_leaves_nothing() -> None:
    class Failing(BasePlugin):
        async def on_user_message_callback(self, **_: Any) -> None:
            if failing:
                raise ValueError("s3cret")

    failing, finished = True, list[str]()
    app_of_adk = App(name="app", root_agent=llm(), plugins=[Failing(name="failing")])
    sessions = InMemorySessionService()
    service = ChatService(app_of_adk, session_service=sessions, on_finish=lambda *end: finished.append(end[2].kind))
    app = create_app(service)
    refused = await post(app, chat(said("hi")))
    assert (refused.status_code, refused.text) == (500, "An error occurred.")
    assert (await stored_texts(sessions, service), finished) == ([], [])
    failing = False
    assert text(await stream(app, chat(said("hi")))) == "Hi."
    await service.aclose()
    assert finished == ["finish"]


async def test_a_failure_after_the_message_is_stored_is_a_stream() -> None:
    sessions = InMemorySessionService()
    service = ChatService(llm("root", ValueError("s3cret")), session_service=sessions)
    response = await stream(create_app(service), chat(said("hi")))
    assert types(response)[-1] == "error"
    assert await stored_texts(sessions, service) == ["hi"]


async def test_a_retry_attaches_only_when_the_message_is_stored() -> None:
    sessions = GatedSessions(says_text)
    service = ChatService(llm(), session_service=sessions)
    app = create_app(service)
    async with posting(app, chat(said("hi"))) as first:
        await soon(sessions.asked)
        async with posting(app, chat(said("hi"))) as second:
            await asyncio.sleep(0.05)
            assert not second.done()
            sessions.may_store.set()
            assert [text(chunks((await each).text)) for each in (first, second)] == ["Hi.", "Hi."]
    assert await stored_texts(sessions, service) == ["hi"]


async def test_a_retry_of_a_refused_request_is_not_refused_with_it() -> None:
    sessions = GatedSessions(says_text)
    app = create_app(ChatService(llm(), session_service=sessions))
    async with posting(app, chat(said("hi"))) as first:
        await soon(sessions.asked)
        async with posting(app, chat(said("hi"))) as second:
            await asyncio.sleep(0.05)
            sessions.error = ConnectionError("away")
            sessions.may_store.set()
            assert (await first).status_code == 503
            sessions.error = None
            response = await second
            assert response.status_code in (200, 503)  # it may have asked the store before that came back


async def test_a_client_that_leaves_before_the_message_is_stored_stops_nothing() -> None:
    sessions = GatedSessions(says_text)
    service = ChatService(llm(), session_service=sessions)
    task = asyncio.create_task(service.respond(parse_chat_request(chat(said("hi"))), user_id="local"))
    await soon(sessions.asked)
    task.cancel()
    sessions.may_store.set()
    await service.drain()
    history = await service.history("c1", user_id="local")
    assert history is not None
    assert [message["role"] for message in history] == ["user", "assistant"]


async def test_a_store_that_hangs_is_a_503_and_what_it_stores_later_is_not_run() -> None:
    sessions = GatedSessions(says_text)
    model = ScriptedLlm(turns=["Hi."])
    service = ChatService(
        LlmAgent(name="root", model=model), session_service=sessions, limits=ServiceLimits(hook_timeout=0.05)
    )
    refused = await post(create_app(service), chat(said("hi")))
    assert refused.status_code == 503
    sessions.may_store.set()
    await service.drain()
    assert model.requests == []


async def test_an_engine_that_cannot_record_the_run_is_a_503_and_nothing_is_run() -> None:
    class Refusing(FakeEngine):
        async def execute(self, *_: Any) -> None:
            if refusing:
                raise sqlite3.OperationalError("attempt to write a readonly database")
            await super().execute(*_)

    refusing, sessions = True, InMemorySessionService()
    service = ChatService(llm(), session_service=sessions, engine=Refusing())
    app = create_app(service)
    refused = await post(app, chat(said("hi")))
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "2")
    assert await stored_texts(sessions, service) == []
    refusing = False
    assert text(await stream(app, chat(said("hi")))) == "Hi."


# Answers.


class Gate(BasePlugin):
    """Lets no answer through to the store before ``may_pass`` is set."""

    def __init__(self) -> None:
        super().__init__(name="gate")
        self.reached, self.may_pass = asyncio.Event(), asyncio.Event()

    async def on_user_message_callback(self, *, user_message: genai.Content, **_: Any) -> None:
        if any(part.function_response for part in user_message.parts or ()):
            self.reached.set()
            await self.may_pass.wait()


class Client(Page):
    """A page before tools that ask first. The test decides when its answers reach the store."""

    def __init__(self, *turns: Any) -> None:
        self.paid: list[int] = []
        self.records: list[tuple[str, int | None]] = []
        self.sessions, self.gate = GatedSessions(answers), Gate()
        tools: list[Any] = [FunctionTool(self.pay, require_confirmation=True), LongRunningFunctionTool(where)]
        agent = LlmAgent(name="root", model=ScriptedLlm(turns=turns), tools=tools)
        adk_app = App(name="app", root_agent=agent, plugins=[self.gate])
        self.service = ChatService(adk_app, session_service=self.sessions, on_audit=self._note)
        super().__init__(create_app(self.service))

    def pay(self, amount: int) -> str:
        """Pays."""
        self.paid.append(amount)
        return "paid"

    def _note(self, record: AuditRecord) -> None:
        self.records.append((record.action, record.status))

    def let_through(self) -> None:
        self.gate.may_pass.set()
        self.sessions.may_store.set()

    async def post_and_stop(self) -> httpx.Response:
        """Posts the answers, and stops the chat before they are stored."""
        async with posting(self.app, self.body()) as task, client(self.app) as http:
            await soon(self.gate.reached)
            assert (await http.post(f"/api/chat/{self.chat_id}/stop")).status_code == 202
            self.let_through()
            return await task

    async def states(self) -> list[str]:
        """The states of the calls of ``pay``, as stored."""
        return [part["state"] for part in (await self.stored())[-1]["parts"] if part["type"] == "tool-pay"]

    async def decided(self) -> list[tuple[str, int | None]]:
        await self.service.aclose()
        return self.records


def where() -> None:
    """Only the page knows."""


PAY, PAY_MORE, WHERE = Call("pay", {"amount": 5}), Call("pay", {"amount": 7}), Call("where", {})


@pytest.mark.parametrize("approved", [True, False])
async def test_a_response_begins_when_the_answer_is_stored(approved: bool) -> None:
    page = Client(PAY, "Done.")
    await page.send("pay")
    page.approve(approved)
    page.gate.may_pass.set()
    async with begin(page.app, page.body()) as exchange:
        await soon(page.sessions.asked)
        status = asyncio.create_task(exchange.status())
        await asyncio.sleep(0.05)
        assert not status.done()
        page.sessions.may_store.set()
        assert await status == 200
        await exchange.until("finish")
    assert page.paid == ([5] if approved else [])


@pytest.mark.parametrize("approved", [True, False])
async def test_a_store_that_refuses_the_answer_is_a_503_and_the_call_waits(approved: bool) -> None:
    page = Client(PAY, "Done.")
    await page.send("pay")
    page.approve(approved)
    page.sessions.error = ConnectionError("away")
    page.let_through()
    refused = await post(page.app, page.body())
    assert refused.status_code == 503
    page.sessions.error = None
    await page.submit()
    assert page.paid == ([5] if approved else [])
    action = "approve" if approved else "deny"
    assert await page.decided() == [(action, 503), (action, None)]


async def test_an_approval_that_is_stopped_before_it_is_stored_is_refused_and_waits() -> None:
    page = Client(PAY, "Done.")
    await page.send("pay")
    page.approve(True)
    refused = await page.post_and_stop()
    assert (refused.status_code, refused.text) == (409, "The chat was stopped before this was stored. Send it again.")
    assert await page.states() == ["approval-requested"]
    assert page.paid == []
    await page.submit()
    assert page.paid == [5]
    assert await page.decided() == [("stop", None), ("approve", 409), ("approve", None)]


async def test_a_denial_is_stored_before_a_stop_is_obeyed() -> None:
    page = Client(PAY, "Done.")
    await page.send("pay")
    asked = copy.deepcopy(page.messages)
    page.approve(False, "too much")
    accepted = await page.post_and_stop()
    assert accepted.status_code == 200
    assert types(chunks(accepted.text))[-1] == "error"  # the message is as it was: the client would send it again
    page.messages = asked
    page.approve(True)
    refused = await post(page.app, page.body())
    assert refused.status_code == 409
    assert page.paid == []
    assert await page.decided() == [("stop", None), ("deny", None), ("approve", 409)]
    assert await page.states() in (["output-denied"], ["output-error"])


async def test_a_page_sends_no_denial_again_that_is_stopped_before_its_run_begins(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    page = Client(PAY, "Done.")
    await page.send("pay")
    page.approve(False)
    page.let_through()
    reads, may_read, read = asyncio.Event(), asyncio.Event(), page.sessions.get_session

    async def get_session(**key: Any) -> Session | None:
        reads.set()
        await may_read.wait()
        return await read(**key)

    monkeypatch.setattr(page.sessions, "get_session", get_session)
    async with posting(page.app, page.body()) as task, client(page.app) as http:
        await soon(reads)
        assert (await http.post("/api/chat/c1/stop")).status_code == 202
        may_read.set()
        assert types(chunks((await task).text)) == ["start", "error"]
    assert page.paid == []
    assert await page.states() in (["output-denied"], ["output-error"])


async def test_of_a_stopped_request_the_denials_hold_and_the_rest_is_refused() -> None:
    page = Client([PAY, PAY_MORE], "Done.")
    await page.send("pay")
    page.approve(False)
    page.approve(True)
    refused = await page.post_and_stop()
    assert refused.status_code == 409
    assert await page.decided() == [("stop", None), ("deny", None), ("approve", 409)]
    assert page.paid == []


async def test_denials_of_a_later_run_hold_when_the_first_is_stopped(
    sessions: BaseSessionService,
) -> None:
    """Agents side by side: ADK resumes one in a run, and the answers of the other wait for the next run."""
    agents: list[BaseAgent] = []
    for name in ("left", "right"):
        model = ScriptedLlm(turns=[PAY, [f"{name} ", Wait(3600)]])
        agents.append(LlmAgent(name=name, model=model, tools=[FunctionTool(pay, require_confirmation=True)]))
    agent = ParallelAgent(name="root", sub_agents=agents)
    service = ChatService(agent, session_service=sessions, times=ServiceTimes(stop=0.2))
    page = Page(create_app(service))
    await page.send("pay")
    page.approve(False)
    page.approve(False)
    denied = page.body()
    async with begin(page.app, denied) as exchange, client(page.app) as http:
        assert await exchange.status() == 200
        await exchange.until("text-delta")
        assert (await http.post("/api/chat/c1/stop")).status_code == 202
    page.messages = await page.stored()
    assert page.parts("approval-requested") == []
    for part in denied["messages"][-1]["parts"]:
        if part.get("approval"):
            part["approval"]["approved"] = True
    assert (await post(page.app, denied)).status_code == 409
    await service.aclose()


def pay(amount: int) -> str:
    """Pays."""
    raise AssertionError("It was denied.")
