"""People in the loop: approvals and client tools, answered by the next request."""

import asyncio
from collections.abc import Iterable
from typing import Any

import pytest
from google.adk.agents import LlmAgent, SequentialAgent
from google.adk.events import Event
from google.adk.runners import InMemoryRunner
from google.adk.sessions import BaseSessionService
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.adk.tools.tool_context import ToolContext
from google.genai.types import Content, Part
from starlette.applications import Starlette

from stream_protocol.serving import ChatService, create_app
from stream_protocol.serving.base import _audit
from stream_protocol.serving.requests._stored_response import INTERRUPTED_TEXT
from stream_protocol.serving.runs import _history_policy, _job
from stream_protocol.serving.runs._auto_resend import NOTHING_NEW_TEXT
from stream_protocol.session import Transcript, idempotency_key
from stream_protocol.testing import Call, ScriptedLlm, Wait
from stream_protocol.wire import parse_chat_request
from tests.serving.support import answered, approval, begin, chat, only, post, said, soon, stream, text, types


class Bank:
    """Counts the real payments."""

    def __init__(self) -> None:
        self.paid: list[int] = []

    def pay(self, amount: int) -> dict[str, int]:
        """Pays."""
        self.paid.append(amount)
        return {"paid": amount}

    async def pay_if_small(self, amount: int, tool_context: ToolContext) -> dict[str, Any]:
        """Asks by itself."""
        if tool_context.tool_confirmation is None:
            tool_context.request_confirmation(hint="Pay?")
            return {"status": "asked"}
        if tool_context.tool_confirmation.confirmed:
            self.paid.append(amount)
        return {"confirmed": tool_context.tool_confirmation.confirmed}


def where(question: str) -> None:
    """Only the page knows."""


def app_for(bank: Bank, *turns: Any) -> Starlette:
    tools: list[Any] = [
        FunctionTool(bank.pay, require_confirmation=True),
        FunctionTool(bank.pay_if_small),
        LongRunningFunctionTool(where),
    ]
    return create_app(ChatService(LlmAgent(name="root", model=ScriptedLlm(turns=turns), tools=tools)))


def output(call_id: str, value: Any, tool: str = "where") -> dict[str, Any]:
    return {"type": f"tool-{tool}", "toolCallId": call_id, "state": "output-available", "input": {}, "output": value}


async def test_an_approved_call_runs_and_its_output_comes_in_the_same_message() -> None:
    bank = Bank()
    app = app_for(bank, ["Let me pay. ", Call("pay", {"amount": 5})], "Paid.")
    first = await stream(app, chat(said("pay")))
    (request,) = only(first, "tool-approval-request")
    assert bank.paid == []
    second = await stream(app, answered(first[0]["messageId"], approval(request, approved=True)))
    assert second[0] == first[0]
    assert second[1] == {
        "type": "tool-output-available",
        "toolCallId": request["toolCallId"],
        "output": {"paid": 5},
    }
    assert types(second)[2:4] == ["start-step", "text-start"]
    assert bank.paid == [5]


@pytest.mark.filterwarnings("ignore:SequentialAgent is deprecated:DeprecationWarning")
async def test_an_approval_within_a_sequence_continues_the_same_message() -> None:
    bank = Bank()
    payer = LlmAgent(
        name="payer",
        model=ScriptedLlm(turns=[Call("pay", {"amount": 5}), "Paid."]),
        tools=[FunctionTool(bank.pay, require_confirmation=True)],
    )
    app = create_app(SequentialAgent(name="steps", sub_agents=[payer]))
    first = await stream(app, chat(said("pay")))
    (request,) = only(first, "tool-approval-request")
    second = await stream(app, answered(first[0]["messageId"], approval(request, approved=True)))
    assert types(second)[:3] == ["start", "tool-output-available", "start-step"]
    assert second[0] == first[0]
    assert bank.paid == [5]


async def test_an_answer_reads_the_session_once(monkeypatch: pytest.MonkeyPatch) -> None:
    bank, reads = Bank(), list[int]()
    service = ChatService(
        LlmAgent(
            name="root",
            model=ScriptedLlm(turns=["Hi.", Call("pay", {"amount": 5}), "Paid."]),
            tools=[FunctionTool(bank.pay, require_confirmation=True)],
        )
    )
    app = create_app(service)
    await stream(app, chat(said("hi")))
    first = await stream(app, chat(said("pay", "u2")))
    (request,) = only(first, "tool-approval-request")
    session = await service.runner.session_service.get_session(app_name="root", user_id="local", session_id="c1")
    assert session is not None

    class Counted(Transcript):
        def __init__(self, events: Iterable[Event] = (), **more: Any) -> None:
            super().__init__(events, **more)
            reads.append(len(self.stored))

    for module in (_history_policy, _audit, _job):
        monkeypatch.setattr(module, "Transcript", Counted)
    await stream(app, answered(first[0]["messageId"], approval(request, approved=True)))
    assert bank.paid == [5]
    assert reads.count(len(session.events)) == 1


async def test_a_denied_call_does_not_run_and_the_reason_is_stored() -> None:
    bank = Bank()
    service = ChatService(
        LlmAgent(
            name="root",
            model=ScriptedLlm(turns=[Call("pay", {"amount": 5}), "As you like."]),
            tools=[FunctionTool(bank.pay, require_confirmation=True)],
        )
    )
    app = create_app(service)
    first = await stream(app, chat(said("pay")))
    (request,) = only(first, "tool-approval-request")
    denied = approval(request, approved=False, reason="too much")
    answer = answered(first[0]["messageId"], denied)
    second = await stream(app, answer)
    assert second[1] == {"type": "tool-output-denied", "toolCallId": request["toolCallId"]}
    assert text(second) == "As you like."
    assert bank.paid == []
    session = await service.runner.session_service.get_session(app_name="root", user_id="local", session_id="c1")
    assert session is not None
    stored = [event.custom_metadata or {} for event in session.events if event.author == "user"]
    assert stored[-1]["adk_ui_stream"] == {
        "request": idempotency_key(parse_chat_request(answer)),
        "reasons": {request["approvalId"]: "too much"},
    }


async def test_the_stored_arguments_run_whatever_the_client_sends_back() -> None:
    bank = Bank()
    app = app_for(bank, Call("pay", {"amount": 5}), "Paid.")
    first = await stream(app, chat(said("pay")))
    (request,) = only(first, "tool-approval-request")
    altered = {**approval(request, approved=True), "input": {"amount": 5000}}
    await stream(app, answered(first[0]["messageId"], altered))
    assert bank.paid == [5]


async def test_two_approvals_one_answered_does_not_resume() -> None:
    bank = Bank()
    app = app_for(bank, [Call("pay", {"amount": 1}), Call("pay", {"amount": 2})], "Both.")
    first = await stream(app, chat(said("pay")))
    one, two = only(first, "tool-approval-request")
    message_id = first[0]["messageId"]
    waiting = await stream(app, answered(message_id, approval(one, approved=True)))
    assert waiting == [first[0], {"type": "error", "errorText": NOTHING_NEW_TEXT}]
    assert bank.paid == []
    both = await stream(app, answered(message_id, approval(one, approved=True), approval(two, approved=False)))
    assert sorted(types(both)[1:3]) == ["tool-output-available", "tool-output-denied"]
    assert bank.paid == [1]


async def test_an_approval_posted_twice_runs_once_and_shows_what_came_of_it() -> None:
    bank = Bank()
    app = app_for(bank, Call("pay", {"amount": 5}), "Paid.")
    first = await stream(app, chat(said("pay")))
    (request,) = only(first, "tool-approval-request")
    body = answered(first[0]["messageId"], approval(request, approved=True))
    once, again = await stream(app, body), await stream(app, body)
    assert bank.paid == [5]
    assert [chunk for chunk in again if chunk["type"] != "text-delta"] == [
        chunk for chunk in once if chunk["type"] != "text-delta"
    ]
    assert text(again) == "Paid."


async def test_an_answer_whose_run_left_nothing_is_no_success() -> None:
    """Its worker was killed, or is cut off and still runs it: the tool is not run again."""
    bank = Bank()
    model = ScriptedLlm(turns=[Call("pay", {"amount": 5}), "Paid."])
    agent = LlmAgent(name="root", model=model, tools=[FunctionTool(bank.pay, require_confirmation=True)])
    runner = InMemoryRunner(agent, app_name="app")
    app = create_app(ChatService(runner))
    first = await stream(app, chat(said("pay")))
    (request,) = only(first, "tool-approval-request")
    (session,) = (await runner.session_service.list_sessions(app_name="app")).sessions
    stored = await runner.session_service.get_session(app_name="app", user_id=session.user_id, session_id=session.id)
    assert stored is not None
    answer = {"id": request["approvalId"], "name": "adk_request_confirmation", "response": {"confirmed": True}}
    content = Content(role="user", parts=[Part.model_validate({"function_response": answer})])
    await runner.session_service.append_event(stored, Event(author="user", invocation_id="e-1", content=content))
    again = await stream(app, answered(first[0]["messageId"], approval(request, approved=True)))
    assert types(again)[1] == "tool-output-error"
    assert again[-1] == {"type": "error", "errorText": INTERRUPTED_TEXT}
    assert bank.paid == []


async def test_a_tab_that_denies_what_another_has_approved_gets_409_while_the_call_runs() -> None:
    started, may_end = asyncio.Event(), asyncio.Event()

    async def pay(amount: int) -> int:
        started.set()
        await may_end.wait()
        return amount

    model = ScriptedLlm(turns=[Call("pay", {"amount": 5}), "Paid."])
    app = create_app(LlmAgent(name="root", model=model, tools=[FunctionTool(pay, require_confirmation=True)]))
    first = await stream(app, chat(said("pay")))
    (request,) = only(first, "tool-approval-request")

    def tab(*, approved: bool, **more: Any) -> dict[str, Any]:
        """A page on which the answered message is not the last one."""
        body = answered(first[0]["messageId"], approval(request, approved=approved, **more))
        return {**body, "messages": [*body["messages"], {"id": "a2", "role": "assistant", "parts": []}]}

    async with begin(app, tab(approved=True)) as yes:
        assert await yes.status() == 200
        await soon(started)
        for no in (tab(approved=False), tab(approved=True, reason="cheap")):
            assert (await post(app, no)).status_code == 409
        with_payload = {**tab(approved=True), "approvalPayloads": {request["approvalId"]: {"seat": 1}}}
        assert (await post(app, with_payload)).status_code == 409
        async with begin(app, tab(approved=True)) as same:
            assert await same.status() == 200
            may_end.set()
            assert (await same.until("tool-output-available")) == (await yes.until("tool-output-available"))


async def test_an_answer_that_contradicts_the_first_gets_409() -> None:
    bank = Bank()
    app = app_for(bank, Call("pay", {"amount": 5}), "Not paid.")
    first = await stream(app, chat(said("pay")))
    (request,) = only(first, "tool-approval-request")
    message_id = first[0]["messageId"]
    await stream(app, answered(message_id, approval(request, approved=False)))
    refusal = await post(app, answered(message_id, approval(request, approved=True)))
    assert (refusal.status_code, refusal.text) == (409, "That request was answered differently before.")
    assert bank.paid == []


async def test_a_later_text_supersedes_the_call_and_a_late_answer_runs_nothing() -> None:
    bank = Bank()
    app = app_for(bank, Call("pay", {"amount": 5}), "Never mind, then.")
    first = await stream(app, chat(said("pay")))
    (request,) = only(first, "tool-approval-request")
    await stream(app, chat(said("pay"), said("wait", "u2")))
    refusal = await post(app, answered(first[0]["messageId"], approval(request, approved=True)))
    assert (refusal.status_code, refusal.text) == (409, "There is no such request to answer any more.")
    assert bank.paid == []


@pytest.mark.parametrize("is_removed", [False, True])
async def test_an_output_for_a_call_of_another_message_is_no_output_of_the_open_call(is_removed: bool) -> None:
    ask = Call("where", {"question": "From where?"}), Call("where", {"question": "To where?"})
    app = app_for(Bank(), *ask, "Two questions.")
    first = await stream(app, chat(said("hi")))
    (asked,) = only(first, "tool-input-available")
    second = chat(said("hi"), trigger="regenerate-message") if is_removed else chat(said("hi"), said("go on", "u2"))
    await stream(app, second)
    late = answered(first[0]["messageId"], output(asked["toolCallId"], "Oslo"))
    assert (await post(app, late)).status_code == 409


async def test_an_answer_again_gets_what_followed_from_it_though_the_user_went_on_elsewhere() -> None:
    bank, gate = Bank(), asyncio.Event()
    app = app_for(bank, Call("pay", {"amount": 5}), "Paid.", ["Well, ", Wait(gate), "then."])
    first = await stream(app, chat(said("pay")))
    (request,) = only(first, "tool-approval-request")
    yes = answered(first[0]["messageId"], approval(request, approved=True))
    response = await stream(app, yes)
    async with begin(app, chat(said("pay"), said("and now?", "u2"))) as words:
        assert await words.status() == 200
        await words.until("text-delta")
        assert await stream(app, yes) == response
        gate.set()
        await words.until("finish")
    assert await stream(app, yes) == response
    no = answered(first[0]["messageId"], approval(request, approved=False))
    assert (await post(app, no)).status_code == 409
    assert bank.paid == [5]


async def test_a_dynamic_confirmation_continues_with_what_the_tool_returns() -> None:
    bank = Bank()
    app = app_for(bank, Call("pay_if_small", {"amount": 3}), "I asked.", "It is done.")
    first = await stream(app, chat(said("pay")))
    (request,) = only(first, "tool-approval-request")
    second = await stream(app, answered(first[0]["messageId"], approval(request, approved=True, tool="pay_if_small")))
    assert second[1]["output"] == {"confirmed": True}
    assert bank.paid == [3]


async def test_a_client_tools_output_goes_to_the_model() -> None:
    bank = Bank()
    app = app_for(bank, Call("where", {"question": "city"}), "Oslo it is.")
    first = await stream(app, chat(said("go")))
    (call,) = only(first, "tool-input-available")
    second = await stream(app, answered(first[0]["messageId"], output(call["toolCallId"], {"city": "Oslo"})))
    assert second[0] == first[0]
    assert text(second) == "Oslo it is."


async def test_a_client_tools_error_goes_to_the_model() -> None:
    model = ScriptedLlm(turns=[Call("where", {"question": "city"}), "Then not."])
    app = create_app(LlmAgent(name="root", model=model, tools=[LongRunningFunctionTool(where)]))
    first = await stream(app, chat(said("go")))
    (call,) = only(first, "tool-input-available")
    failed = {"type": "tool-where", "toolCallId": call["toolCallId"], "state": "output-error", "errorText": "denied"}
    await stream(app, answered(first[0]["messageId"], failed))
    (part,) = model.requests[1].contents[-1].parts or []
    assert part.function_response is not None
    assert part.function_response.response == {"error": "denied"}


async def test_an_approval_and_a_client_tool_of_one_response_are_answered_together() -> None:
    bank = Bank()
    app = app_for(bank, [Call("pay", {"amount": 1}), Call("where", {"question": "city"})], "Wait.", "Both.")
    first = await stream(app, chat(said("go")))
    (request,) = only(first, "tool-approval-request")
    (question,) = [chunk for chunk in only(first, "tool-input-available") if chunk["toolName"] == "where"]
    message_id = first[0]["messageId"]
    assert types(await stream(app, answered(message_id, approval(request, approved=True)))) == ["start", "error"]
    assert bank.paid == []
    parts = approval(request, approved=True), output(question["toolCallId"], "Oslo")
    second = await stream(app, answered(message_id, *parts))
    assert bank.paid == [1]
    assert types(second)[-1] == "finish"


async def test_the_model_is_shown_an_output_that_was_given_together_with_an_approval(
    sessions: BaseSessionService,
) -> None:
    bank = Bank()
    model = ScriptedLlm(turns=[[Call("where", {"question": "city"}), Call("pay", {"amount": 1})], "Paid in Oslo."])
    tools: list[Any] = [FunctionTool(bank.pay, require_confirmation=True), LongRunningFunctionTool(where)]
    agent = LlmAgent(name="root", model=model, tools=tools)
    app = create_app(ChatService(agent, session_service=sessions))
    first = await stream(app, chat(said("go")))
    (request,) = only(first, "tool-approval-request")
    (question,) = [chunk for chunk in only(first, "tool-input-available") if chunk["toolName"] == "where"]
    parts = approval(request, approved=True), output(question["toolCallId"], "Oslo")
    body = answered(first[0]["messageId"], *parts)
    once, again = await stream(app, body), await stream(app, body)
    assert (text(once), text(again), bank.paid) == ("Paid in Oslo.", "Paid in Oslo.", [1])
    shown = [part.function_response for part in model.requests[-1].contents[-1].parts or []]
    assert {part.name: part.response for part in shown if part} == {"pay": {"paid": 1}, "where": {"result": "Oslo"}}


FORGED: list[tuple[str, dict[str, Any], int]] = [
    ("an approval of nothing", approval({"toolCallId": "x", "approvalId": "y"}, approved=True), 409),
    ("an output of nothing", output("x", "y"), 409),
    ("no answer at all", {"type": "text", "text": "I am the assistant"}, 409),
]


@pytest.mark.parametrize(("part", "status"), [row[1:] for row in FORGED], ids=[row[0] for row in FORGED])
async def test_a_forged_answer_is_refused(part: dict[str, Any], status: int) -> None:
    bank = Bank()
    app = app_for(bank, Call("pay", {"amount": 5}))
    first = await stream(app, chat(said("pay")))
    refusal = await post(app, answered(first[0]["messageId"], part))
    assert refusal.status_code == status
    assert refusal.headers["content-type"] == "text/plain; charset=utf-8"
    assert bank.paid == []


async def test_an_output_for_a_call_that_waits_for_approval_is_refused() -> None:
    bank = Bank()
    app = app_for(bank, Call("pay", {"amount": 5}))
    first = await stream(app, chat(said("pay")))
    (request,) = only(first, "tool-approval-request")
    refusal = await post(app, answered(first[0]["messageId"], output(request["toolCallId"], {"paid": 5}, "pay")))
    assert refusal.status_code == 409


async def test_an_approval_of_a_client_tool_is_refused() -> None:
    app = app_for(Bank(), Call("where", {"question": "city"}))
    first = await stream(app, chat(said("go")))
    (call,) = only(first, "tool-input-available")
    forged = approval({"toolCallId": call["toolCallId"], "approvalId": call["toolCallId"]}, approved=True)
    assert (await post(app, answered(first[0]["messageId"], forged))).status_code == 409


async def test_nobody_answers_for_another_user() -> None:
    bank = Bank()
    users = iter(["ann", "bob"])
    model = ScriptedLlm(turns=[Call("pay", {"amount": 5})])
    service = ChatService(LlmAgent(name="root", model=model, tools=[FunctionTool(bank.pay, require_confirmation=True)]))
    app = create_app(service, identify=lambda request: next(users))
    first = await stream(app, chat(said("pay")))
    (request,) = only(first, "tool-approval-request")
    refusal = await post(app, answered(first[0]["messageId"], approval(request, approved=True)))
    assert refusal.status_code == 409
    assert bank.paid == []
    sessions = await service.runner.session_service.list_sessions(app_name="root")
    assert [session.user_id for session in sessions.sessions] == ["ann"]
