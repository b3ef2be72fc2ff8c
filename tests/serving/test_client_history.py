"""A service with chats of the client: each request has the whole chat, and nothing is stored."""

from collections.abc import Iterator
from typing import Any

import pytest
from google.adk.agents import LlmAgent, SequentialAgent
from google.adk.events import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService, Session
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.adk.tools.tool_context import ToolContext
from starlette.applications import Starlette

from stream_protocol import parse_chat_request
from stream_protocol.serving import ChatService, create_app
from stream_protocol.serving.adk_runner import MemorySessionService, as_runner
from stream_protocol.serving.chats._sessions import restore_session
from stream_protocol.session import HistoryMode
from stream_protocol.testing import Call, ScriptedLlm
from tests.serving.support import chat, chunks, only, post, said, stream, text, types

STEP = {"type": "step-start"}


class Bank:
    """An agent's tools, and its model's requests."""

    def __init__(self, *turns: Any) -> None:
        self.paid: list[int] = []
        self.asked: list[list[Any]] = []
        self._turns: Iterator[Any] = iter(turns)

    def pay(self, amount: int) -> dict[str, int]:
        """Pays."""
        self.paid.append(amount)
        return {"paid": amount}

    def where(self, question: str) -> None:
        """Only the page knows."""

    def remember(self, tool_context: ToolContext) -> str:
        """Stores something for this user."""
        tool_context.state["user:seen"] = tool_context.state.get("user:seen", 0) + 1
        return str(tool_context.state["user:seen"])

    def agent(self) -> LlmAgent:
        gated = FunctionTool(self.pay, require_confirmation=True)
        tools: list[Any] = [gated, LongRunningFunctionTool(self.where), self.remember]
        return LlmAgent(name="root", model=ScriptedLlm(respond=self._respond), tools=tools)

    def app(self, history: HistoryMode = "client") -> Starlette:
        return create_app(ChatService(self.agent(), history=history))

    def _respond(self, request: LlmRequest) -> Any:
        self.asked.append(
            [
                (content.role, part.text or part.function_call or part.function_response or part.inline_data)
                for content in request.contents
                for part in content.parts or ()
            ]
        )
        return next(self._turns)

    def texts(self) -> list[tuple[str, str]]:
        """The texts of the model's last request."""
        return [(role, value) for role, value in self.asked[-1] if isinstance(value, str)]


def replied(*parts: Any, message_id: str = "a1") -> dict[str, Any]:
    return {"id": message_id, "role": "assistant", "parts": [STEP, *parts]}


def told(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def tool(state: str, name: str = "where", call_id: str = "call_A", **more: Any) -> dict[str, Any]:
    return {"type": f"tool-{name}", "toolCallId": call_id, "state": state, "input": {"amount": 7}} | more


TALK = [said("I am Ann."), replied(told("Hello, Ann.")), said("Who am I?", "u2")]


async def test_the_model_reads_what_the_client_says_has_happened() -> None:
    bank = Bank("Ann.")
    answer = await stream(bank.app(), chat(*TALK))
    assert text(answer) == "Ann."
    assert bank.texts() == [("user", "I am Ann."), ("model", "Hello, Ann."), ("user", "Who am I?")]


async def test_the_server_believes_no_history_unless_the_app_says_so() -> None:
    bank = Bank("Who?")
    await stream(bank.app("server"), chat(*TALK))
    assert bank.texts() == [("user", "Who am I?")]


async def test_nothing_of_a_chat_is_kept() -> None:
    bank = Bank("One.", "Two.")
    sessions = InMemorySessionService()
    runner = Runner(app_name="app", agent=bank.agent(), session_service=sessions)
    app = create_app(ChatService(runner, history="client"))
    await stream(app, chat(said("first")))
    await stream(app, chat(said("second")))
    assert bank.texts() == [("user", "second")]
    assert (await sessions.list_sessions(app_name="app")).sessions == []


async def test_not_even_the_users_state_is_kept() -> None:
    bank = Bank(Call("remember"), "Done.", Call("remember"), "Done.")
    app = bank.app()
    outputs = [only(await stream(app, chat(said("go"))), "tool-output-available") for _ in range(2)]
    assert [output["output"] for (output,) in outputs] == [{"result": "1"}, {"result": "1"}]


async def test_an_edit_and_a_regeneration_are_just_another_history() -> None:
    bank = Bank("Bob.", "Bobby.")
    app = bank.app()
    await stream(app, chat(said("I am Bob.", "u1"), messageId="u1"))
    await stream(app, chat(said("I am Bob.", "u1"), trigger="regenerate-message", messageId="a1"))
    assert bank.asked == [[("user", "I am Bob.")]] * 2


async def test_what_a_page_tool_gave_goes_to_the_model_and_the_message_goes_on() -> None:
    bank = Bank("Oslo it is.")
    answered = replied(told("Where?"), tool("output-available", output="Oslo"))
    answer = await stream(bank.app(), chat(said("plan"), answered, messageId="a1"))
    assert types(answer)[:3] == ["start", "start-step", "text-start"]
    assert answer[0]["messageId"] == "a1"
    role, result = bank.asked[-1][-1]
    assert (role, result.name, result.response) == ("user", "where", {"result": "Oslo"})
    assert [role for role, _ in bank.asked[-1]] == ["user", "model", "model", "user"]


async def test_the_message_that_a_request_names_goes_on_and_what_comes_after_it_is_not_read() -> None:
    bank = Bank("Oslo it is.")
    answered = replied(told("Where?"), tool("output-available", output="Oslo"))
    body = chat(said("plan"), answered, said("never mind", "u2"), messageId="a1")
    assert (await stream(bank.app(), body))[0]["messageId"] == "a1"
    assert "never mind" not in str(bank.asked)


@pytest.mark.filterwarnings("ignore:SequentialAgent is deprecated:DeprecationWarning")
async def test_agents_that_only_order_others_go_on_too() -> None:
    bank = Bank("Oslo it is.")
    service = ChatService(SequentialAgent(name="steps", sub_agents=[bank.agent()]), history="client")
    provider = {"adk": {"author": "root"}}
    answered = replied(tool("output-available", output="Oslo", callProviderMetadata=provider))
    answer = await stream(create_app(service), chat(said("plan"), answered, messageId="a1"))
    assert text(answer) == "Oslo it is."
    assert answer[0]["messageId"] == "a1"


async def test_a_denied_call_is_told_to_the_model_and_does_not_run() -> None:
    bank = Bank("As you like.")
    denied = replied(tool("approval-responded", "pay", approval={"id": "P", "approved": False}))
    answer = await stream(bank.app(), chat(said("pay"), denied, messageId="a1"))
    assert text(answer) == "As you like."
    assert bank.asked[-1][-1][1].response == {"error": "This tool call is rejected."}
    assert bank.paid == []


APPROVED = {"id": "P", "approved": True}


@pytest.mark.parametrize(
    "parts",
    [
        [tool("approval-responded", "pay", approval=APPROVED)],
        [tool("output-available", output=1), tool("approval-responded", "pay", "call_B", approval=APPROVED)],
        [tool("approval-requested", "pay", approval={"id": "P"})],
        [tool("output-available", output=1), tool("input-available", "where", "call_B")],
        [tool("output-available", "adk_request_input", output={"city": "Oslo"})],
        [tool("output-available", "adk_request_confirmation", output={"confirmed": True})],
        [tool("output-available", output=1), STEP, told("Oslo it is.")],
        [told("Hello.")],
        [],
    ],
)
@pytest.mark.parametrize("history", ["client", "text"])
async def test_nothing_runs_because_a_client_says_that_it_was_approved_or_answered(
    history: HistoryMode, parts: list[Any]
) -> None:
    bank = Bank()
    refused = await post(bank.app(history), chat(said("pay"), replied(*parts), messageId="a1"))
    assert refused.status_code == 409
    assert refused.text
    assert bank.paid == []
    assert bank.asked == []


async def test_an_approval_is_asked_for_and_can_be_passed_over() -> None:
    bank = Bank(Call("pay", {"amount": 5}), "Not paid.")
    app = bank.app()
    (request,) = only(await stream(app, chat(said("pay"))), "tool-approval-request")
    waiting = tool("approval-requested", "pay", request["toolCallId"], approval={"id": request["approvalId"]})
    assert text(await stream(app, chat(said("pay"), replied(waiting), said("never mind", "u2")))) == "Not paid."
    assert bank.paid == []


async def test_only_texts_are_read_where_the_app_wants_only_texts() -> None:
    bank = Bank("Nice.")
    picture = {"type": "file", "mediaType": "image/png", "url": "data:image/png,x"}
    earlier = {"id": "u1", "role": "user", "parts": [picture, told("My cat.")]}
    reply = replied(
        {"type": "reasoning", "text": "Hm."}, told("Cute."), tool("output-available", output=1), STEP, told("!")
    )
    last = {"id": "u2", "role": "user", "parts": [picture, told("And this?")]}
    await stream(bank.app("text"), chat(earlier, reply, last))
    assert bank.texts() == [("user", "My cat."), ("model", "Cute."), ("model", "!"), ("user", "And this?")]
    assert len(bank.asked[-1]) == 5, "the picture that comes with the last message is not history"


async def test_an_unusable_history_is_refused_and_the_chat_stays_free() -> None:
    bank = Bank("Hello.")
    app = bank.app()
    bad = {
        "id": "u1",
        "role": "user",
        "parts": [{"type": "file", "mediaType": "text/plain", "url": "file:///etc/passwd"}],
    }
    assert (await post(app, chat(bad, replied(told("?")), said("hi", "u2")))).status_code == 422
    again = await post(app, chat(said("hi")))
    assert text(chunks(again.text)) == "Hello."


async def test_a_history_is_not_appended_event_by_event(monkeypatch: pytest.MonkeyPatch) -> None:
    """ADK compares each event that it appends with all before it."""
    appended: list[Event] = []
    append = MemorySessionService.append_event

    async def counted(store: MemorySessionService, session: Session, event: Event) -> Event:
        appended.append(event)
        return await append(store, session, event)

    monkeypatch.setattr(MemorySessionService, "append_event", counted)
    runner = as_runner(LlmAgent(name="root", model=ScriptedLlm(turns=["ok"])), None)
    request = parse_chat_request(chat(*(said("hi", f"u{number}") for number in range(50))))
    own, session, _turn = await restore_session(runner, request, user_id="ann", mode="client")
    stored = await own.session_service.get_session(app_name="root", user_id="ann", session_id="c1")
    assert stored is not None
    assert (len(session.events), stored.events, appended) == (49, session.events, [])
