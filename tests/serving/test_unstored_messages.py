"""Streamed text that no complete event of a finished run repeats: on the page, after a reload, for the model."""

from collections.abc import AsyncGenerator, Callable, Sequence
from pathlib import Path
from typing import Any

from google.adk.agents import BaseAgent, LlmAgent
from google.adk.agents.context import Context
from google.adk.agents.invocation_context import InvocationContext
from google.adk.apps import App
from google.adk.events import Event
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.sessions import Session
from google.adk.tools.function_tool import FunctionTool
from google.adk.workflow import START, JoinNode, Workflow
from google.genai import types

from stream_protocol.serving import create_app
from stream_protocol.testing import ScriptedLlm
from tests.batch import batch
from tests.comparable_messages import comparable
from tests.readings import replays
from tests.serving.chat_client import Page
from tests.serving.instrumented import InstrumentedService


def said(*texts: str, thought: bool = False) -> types.Content:
    return types.Content(role="model", parts=[types.Part(text=text, thought=thought or None) for text in texts])


def streamed(text: str, **more: Any) -> LlmResponse:
    return LlmResponse(content=said(text, **more), partial=True)


class Speaking(BaseAgent):
    """An agent of an app's own, which yields these."""

    yields: Sequence[Any] = ()

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        for one in self.yields:
            yield Event(author=self.name, invocation_id=ctx.invocation_id, branch=ctx.branch, **one)


class Endless(BaseLlm):
    """A model whose stream ends without an aggregate."""

    model: str = "endless"

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        for text in ("Only ", "streamed."):
            yield streamed(text)


def fall_back(**_: Any) -> LlmResponse:
    return LlmResponse(content=said("Sorry."))


def fall_back_to_a_call(**_: Any) -> LlmResponse:
    call = types.FunctionCall(name="look", args={})
    return LlmResponse(
        content=types.Content(role="model", parts=[types.Part(text="I look."), types.Part(function_call=call)])
    )


def fall_back_to_a_payment(**_: Any) -> LlmResponse:
    call = types.FunctionCall(name="pay", args={"amount": 1})
    return LlmResponse(content=types.Content(role="model", parts=[types.Part(function_call=call)]))


class FallBack(BasePlugin):
    async def on_model_error_callback(self, **_: Any) -> LlmResponse:
        return fall_back()


def look() -> str:
    """Looks."""
    return "seen"


def pay(amount: int) -> str:
    """Pays."""
    return f"paid {amount}"


BROKEN: list[Any] = ["Half an ", RuntimeError("x")]


def broken(*more: Any, callback: Callable[..., Any] | None = fall_back, **fields: Any) -> LlmAgent:
    return LlmAgent(
        name="root", model=ScriptedLlm(turns=[BROKEN, *more, "Next."]), on_model_error_callback=callback, **fields
    )


def speaking(*yields: dict[str, Any]) -> Speaking:
    return Speaking(name="root", yields=yields)


def fragment(*texts: str, **more: Any) -> dict[str, Any]:
    return {"content": said(*texts, **more), "partial": True}


def whole(*texts: str, **more: Any) -> dict[str, Any]:
    return {"content": said(*texts), **more}


async def node_a() -> AsyncGenerator[Event, None]:
    yield Event(content=said("A streams. "), partial=True)


async def node_b() -> AsyncGenerator[Event, None]:
    yield Event(content=said("B says."))


async def node_c() -> AsyncGenerator[Event, None]:
    yield Event(content=said("C streams."), partial=True)


PICTURE = types.Part(inline_data=types.Blob(mime_type="image/png", data=b"png"))

TARGETS: dict[str, tuple[Callable[[], Any], list[str]]] = {
    "a callback answers for a model that failed": (broken, ["Half an ", "Sorry."]),
    "a plugin answers": (
        lambda: App(name="app", root_agent=broken(callback=None), plugins=[FallBack(name="p")]),
        ["Half an ", "Sorry."],
    ),
    "a callback answers with a call": (
        lambda: broken("Seen.", callback=fall_back_to_a_call, tools=[look]),
        ["Half an ", "I look.", "Seen."],
    ),
    "a model ends its stream without an aggregate": (
        lambda: LlmAgent(name="root", model=Endless()),
        ["Only streamed."],
    ),
    "an agent only streams": (lambda: speaking(fragment("Only "), fragment("streamed.")), ["Only streamed."]),
    "an agent streams thoughts": (
        lambda: speaking(fragment("Hm.", thought=True), whole("Yes.")),
        ["Hm.", "Yes."],
    ),
    "an agent streams more than it says": (
        lambda: speaking(fragment("Looking… "), fragment("It is 42."), whole("It is 42.")),
        ["Looking… It is 42."],
    ),
    "an agent streams one thing and says another": (
        lambda: speaking(fragment("Looking…"), whole("It is 42."), fragment("Bye.")),
        ["Looking…", "It is 42.", "Bye."],
    ),
    "an agent goes on after an error": (
        lambda: speaking(fragment("Half"), {"error_code": "X"}, fragment("All"), whole("All")),
        ["Half", "All"],
    ),
    "a file is only streamed": (
        lambda: speaking({"content": types.Content(role="model", parts=[PICTURE]), "partial": True}, whole("See.")),
        ["See."],
    ),
    "a node of a workflow only streams, and the next one speaks": (
        lambda: Workflow(name="root", edges=[(START, node_a, node_b)]),
        ["A streams. ", "B says."],
    ),
    "nodes that only stream, side by side": (
        lambda: Workflow(name="root", edges=[(START, (node_a, node_c), JoinNode(name="join"), node_b)]),
        ["A streams. ", "C streams.", "B says."],
    ),
}


class Chat:
    def __init__(self, target: Any) -> None:
        self.service = InstrumentedService(target)
        self.page = Page(create_app(self.service))

    async def session(self) -> Session:
        runner = self.service.runner
        session = await runner.session_service.get_session(app_name=runner.app_name, user_id="local", session_id="c1")
        assert session is not None
        return session


def words(page: Page) -> list[str]:
    parts = page.messages[-1]["parts"]
    return [part["text"] for part in parts if part["type"] in {"text", "reasoning"}]


@batch(case=TARGETS)
async def test_what_was_streamed_is_there_after_a_reload_and_in_every_replay(
    case: tuple[Callable[[], Any], list[str]], tmp_path: Path
) -> None:
    make, shown = case
    chat = Chat(make())
    await chat.page.send("go")
    assert words(chat.page) == shown
    await chat.service.runs.free()
    page = comparable(chat.page.messages)
    assert comparable(await chat.page.stored()) == page
    for form, messages in replays(await chat.session(), tmp_path):
        assert comparable(messages)[-1] == page[-1], form


async def test_the_next_prompt_has_what_was_streamed() -> None:
    agent = broken()
    chat = Chat(agent)
    await chat.page.send("go")
    await chat.page.send("again")
    assert isinstance(agent.model, ScriptedLlm)
    parts = [part for content in agent.model.requests[-1].contents for part in content.parts or []]
    assert {"Half an ", "Sorry."} <= {part.text for part in parts}


async def test_a_message_goes_on_after_text_that_was_only_streamed() -> None:
    """They must not lose the waiting call, nor its answer."""
    chat = Chat(broken("Paid.", callback=fall_back_to_a_payment, tools=[FunctionTool(pay, require_confirmation=True)]))
    await chat.page.send("go")
    chat.page.messages = await chat.page.stored()
    chat.page.approve(True)
    await chat.page.submit()
    assert words(chat.page) == ["Half an ", "Paid."]
    assert [part["output"] for part in chat.page.parts("output-available")] == [{"result": "paid 1"}]
    await chat.service.runs.free()
    assert comparable(await chat.page.stored()) == comparable(chat.page.messages)


async def test_what_a_callback_changed_is_not_stored_as_it_was() -> None:
    """A redaction replaces the text that was streamed; a history that has it would undo that."""

    def redact(callback_context: Context, llm_response: LlmResponse) -> LlmResponse | None:
        return None if llm_response.partial else LlmResponse(content=said("[redacted]"))

    agent = LlmAgent(name="root", model=ScriptedLlm(turns=["My name is Bond."]), after_model_callback=redact)
    chat = Chat(agent)
    await chat.page.send("go")
    await chat.service.runs.free()
    assert words(chat.page) == ["My name is Bond."]
    assert "Bond" not in (await chat.session()).model_dump_json()


async def test_nothing_is_read_or_stored_after_a_run_that_is_stored_already() -> None:
    chat = Chat(LlmAgent(name="root", model=ScriptedLlm(turns=["Hello you."])))
    await chat.page.send("go")
    await chat.service.runs.free()
    assert len((await chat.session()).events) == 2
