"""Whatever a conversation does, history shows what its page has folded, turn after turn."""

import asyncio
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.adk.tools.tool_context import ToolContext
from hypothesis import HealthCheck, given, settings, strategies as st

from stream_protocol.conversation import canonical
from stream_protocol.serving import ChatService, create_app
from stream_protocol.testing import Call, ScriptedLlm, Thought
from stream_protocol.wire.chunks import AiSdkVersion
from tests.serving.chat_client import Page

MAX_ACTIONS = 6


def pay(amount: int) -> dict[str, int]:
    """Pays."""
    return {"paid": amount}


def look(city: str) -> dict[str, str]:
    """Looks."""
    return {"city": city}


def explode() -> None:
    """Raises."""
    raise RuntimeError("hunter2")


def where(question: str) -> None:
    """Only the page knows."""


async def pay_if_small(amount: int, tool_context: ToolContext) -> dict[str, Any]:
    """Asks by itself."""
    if tool_context.tool_confirmation is None:
        tool_context.request_confirmation(hint="Pay?")
        return {"status": "asked"}
    return {"confirmed": tool_context.tool_confirmation.confirmed}


texts = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=12)
calls = st.one_of(
    st.builds(lambda n, streamed: Call("pay", {"amount": n}, streamed=streamed), st.integers(1, 9), st.booleans()),
    st.builds(lambda n: Call("pay_if_small", {"amount": n}), st.integers(1, 9)),
    st.builds(lambda c, streamed: Call("look", {"city": c}, streamed=streamed), texts, st.booleans()),
    st.builds(lambda q: Call("where", {"question": q}), texts),
    st.just(Call("explode")),
)
spoken = st.one_of(texts, st.builds(Thought, texts))
failures = st.sampled_from([[], [], [], [], [RuntimeError("the model failed")]])


@st.composite
def turns(draw: st.DrawFn) -> list[Any]:
    """What a model says in one response: words, then calls, and perhaps a failure."""
    said: list[Any] = draw(st.lists(spoken, max_size=3))
    return [*(said or ["."]), *draw(st.lists(calls, max_size=2)), *draw(failures)]


def with_ids(script: list[list[Any]]) -> list[list[Any]]:
    """The same with an id of its own for each call, as a model gives them."""
    return [
        [
            Call(said.name, said.args, id=f"c{index}-{n}", streamed=said.streamed) if isinstance(said, Call) else said
            for n, said in enumerate(turn)
        ]
        for index, turn in enumerate(script)
    ]


scripts = st.lists(turns(), min_size=1, max_size=MAX_ACTIONS).map(with_ids)
actions = st.lists(
    st.sampled_from(["say", "say", "approve", "deny", "answer", "regenerate", "edit"]), min_size=1, max_size=MAX_ACTIONS
)


def service_for(script: list[Any], ai_sdk: AiSdkVersion) -> ChatService:
    left = iter(script)
    model = ScriptedLlm(respond=lambda request: next(left, "That is all."))
    tools: list[Any] = [
        FunctionTool(pay, require_confirmation=True),
        pay_if_small,
        look,
        explode,
        LongRunningFunctionTool(where),
    ]
    return ChatService(LlmAgent(name="root", model=model, tools=tools), ai_sdk=ai_sdk)


async def act(page: Page, action: str) -> None:
    """Does what a page can do now; what it cannot becomes a text."""
    if action in ("approve", "deny") and page.messages and page.parts("approval-requested"):
        while page.parts("approval-requested"):
            page.approve(action == "approve", "because" if action == "deny" else None)
        while any(part["type"] == "tool-where" for part in page.parts("input-available")):
            page.answer("where", {"there": True})
        await page.submit()
    elif (
        action == "answer" and page.messages and page.parts("input-available") and not page.parts("approval-requested")
    ):
        while page.parts("input-available"):
            page.answer("where", "here")
        await page.submit()
    elif action == "regenerate" and page.messages:
        await page.regenerate()
    elif action == "edit" and page.messages:
        await page.edit(page.ids()[0], "edited")
    else:
        await page.send("go")


async def converse(script: list[Any], acts: list[str], ai_sdk: AiSdkVersion) -> None:
    page = Page(create_app(service_for(script, ai_sdk)), ai_sdk=ai_sdk)
    for action in acts:
        await act(page, action)
        assert canonical(await page.stored()) == canonical(page.messages)  # type: ignore[arg-type]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(script=scripts, acts=actions, ai_sdk=st.sampled_from([6, 7]))
def test_history_equals_the_folded_stream(script: list[Any], acts: list[str], ai_sdk: AiSdkVersion) -> None:
    asyncio.run(converse(script, acts, ai_sdk))
