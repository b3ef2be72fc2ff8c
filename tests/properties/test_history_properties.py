"""Whatever a conversation does, history shows what its page has folded, and its model is asked nothing half, turn after
turn."""

import asyncio
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.tools import request_input
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types
from hypothesis import given, settings, strategies as st

from stream_protocol.serving import create_app, emit_data
from stream_protocol.testing import Call, ScriptedLlm, Thought, token_usage
from stream_protocol.wire import AiSdkVersion
from tests.comparable_messages import comparable
from tests.serving.chat_client import Page
from tests.serving.support import begin, chunks
from tests.serving.watched import WatchedService, let_time_out

MAX_ACTIONS = 6
MAX_EVENTS = 40
"""A run that is stopped is stopped after at most so many events of its response."""

IMAGE = types.Part.from_bytes(data=b"\xfb\xff", mime_type="image/png")
CODE = types.Part(executable_code=types.ExecutableCode(code="plot()", language=types.Language.PYTHON))
RAN = types.Part(code_execution_result=types.CodeExecutionResult(outcome=types.Outcome.OUTCOME_OK, output="ok"))

SAID = ("go", "again", "edited")
"""What the page says."""

Act = str | tuple[str, int]
"""What a page does; ``stop`` and ``expire`` with the number of events after which that happens to the run."""


def pay(amount: int) -> dict[str, int]:
    """Pays."""
    return {"paid": amount}


def look(city: str, tool_context: ToolContext) -> dict[str, str]:
    """Looks."""
    emit_data(tool_context, "weather", {"city": city}, id="w")
    return {"city": city}


async def draw(tool_context: ToolContext, saved: bool = True, returned: bool = True) -> types.Part | None:
    """Draws."""
    if saved:
        await tool_context.save_artifact("sky.png", IMAGE)
    return IMAGE if returned else None


async def dig() -> str:
    """Takes its time."""
    for _ in range(20):
        await asyncio.sleep(0)
    return "dug"


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


async def keep(callback_context: CallbackContext, llm_response: LlmResponse) -> None:
    """Saves what the model drew."""
    for part in (llm_response.content.parts if llm_response.content is not None else None) or ():
        if part.inline_data is not None:
            await callback_context.save_artifact("drawn.png", part)


def with_results(said: list[Any]) -> list[Any]:
    """The same with what each code led to after it."""
    return [item for one in said for item in ([CODE, RAN] if one is CODE else [one])]


texts = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=12)
calls = st.one_of(
    st.builds(lambda n, streamed: Call("pay", {"amount": n}, streamed=streamed), st.integers(1, 9), st.booleans()),
    st.builds(lambda n: Call("pay_if_small", {"amount": n}), st.integers(1, 9)),
    st.builds(lambda c, streamed: Call("look", {"city": c}, streamed=streamed), texts, st.booleans()),
    st.builds(lambda q, streamed: Call("where", {"question": q}, streamed=streamed), texts, st.booleans()),
    st.builds(
        lambda saved, returned: Call("draw", {"saved": saved, "returned": returned}), st.booleans(), st.booleans()
    ),
    st.sampled_from([Call("explode"), Call("dig"), Call("nothing_of_the_kind")]),
    st.just(Call("adk_request_input", {"message": "Who?"})),
)
spoken = st.lists(
    st.one_of(texts, texts, st.builds(Thought, texts, st.none() | st.just(b"signed")), st.just(IMAGE), st.just(CODE)),
    max_size=4,
).map(with_results)
failures: st.SearchStrategy[list[Any]] = st.sampled_from([[], [], [], [], [RuntimeError("the model failed")]])
endings: st.SearchStrategy[list[Any]] = st.sampled_from(
    [[], [], [token_usage(prompt=3, answer=2)], [types.FinishReason.MAX_TOKENS], [types.FinishReason.SAFETY]]
)


@st.composite
def turns(draw: st.DrawFn) -> list[Any]:
    """What a model says in one response: words, then calls, and perhaps a failure."""
    words: list[Any] = draw(spoken) or ["."]
    return [*words, *draw(st.lists(calls, max_size=3)), *draw(endings), *draw(failures)]


def with_ids(script: list[list[Any]], prefix: str = "c") -> list[list[Any]]:
    """The same with an id of its own for each call, as a model gives them."""
    return [
        [
            Call(step.name, step.args, id=f"{prefix}{index}-{n}", streamed=step.streamed)
            if isinstance(step, Call)
            else step
            for n, step in enumerate(turn)
        ]
        for index, turn in enumerate(script)
    ]


scripts = st.lists(turns(), min_size=1, max_size=MAX_ACTIONS).map(with_ids)
ended = st.tuples(st.sampled_from(["stop", "expire"]), st.integers(1, MAX_EVENTS))
actions = st.lists(
    st.sampled_from(["say", "say", "approve", "deny", "answer", "regenerate", "edit"]) | ended,
    min_size=1,
    max_size=MAX_ACTIONS,
)


class Chat:
    """A page, and a model that looks at what it is asked."""

    def __init__(self, script: list[Any], ai_sdk: AiSdkVersion, mode: StreamingMode, *, keeps: bool) -> None:
        self.half_asked: list[set[str | None]] = []
        self._left = iter(script)
        tools: list[Any] = [
            FunctionTool(pay, require_confirmation=True),
            LongRunningFunctionTool(where),
            *(pay_if_small, look, draw, dig, explode, request_input),
        ]
        agent = LlmAgent(
            name="root",
            model=ScriptedLlm(respond=self._answer),
            tools=tools,
            after_model_callback=keep if keeps else None,
        )
        self._service = WatchedService(agent, ai_sdk=ai_sdk, run_config=RunConfig(streaming_mode=mode))
        self._app = create_app(self._service)
        self.page = Page(self._app, ai_sdk=ai_sdk)

    def _answer(self, request: LlmRequest) -> Any:
        parts = [part for content in request.contents for part in content.parts or ()]
        asked = {part.function_call.id for part in parts if part.function_call}
        if parts[-1].text in SAID:  # within a turn ADK goes on beside a call that waits
            self.half_asked.append(asked ^ {part.function_response.id for part in parts if part.function_response})
        return next(self._left, "That is all.")

    async def act(self, action: Act) -> None:
        """Does what a page can do now; what it cannot becomes a text."""
        page = self.page
        if isinstance(action, tuple):
            await self._end(*action)
        elif action in ("approve", "deny") and page.messages and page.parts("approval-requested"):
            while page.parts("approval-requested"):
                page.approve(action == "approve", "because" if action == "deny" else None)
            self._answer_questions()
            await page.submit()
        elif action == "answer" and self._is_asked():
            self._answer_questions()
            await page.submit()
        elif action == "regenerate" and page.messages:
            await page.regenerate()
        elif action == "edit" and page.messages:
            await page.edit(page.ids()[0], "edited")
        else:
            await page.send("go")

    def _is_asked(self) -> bool:
        page = self.page
        return bool(page.messages and page.parts("input-available") and not page.parts("approval-requested"))

    def _answer_questions(self) -> None:
        for part in self.page.parts("input-available"):
            self.page.answer(part["type"].removeprefix("tool-"), {"there": True})

    async def _end(self, how: str, after: int) -> None:
        """Says something, and ends the run from outside when so many events have come, if it still goes on."""
        received: list[Any] = []
        self.page.messages.append(
            {"id": f"s{len(self.page.messages)}", "role": "user", "parts": [{"type": "text", "text": "go"}]}
        )
        async with begin(self._app, self.page.body()) as exchange:
            await exchange.status()
            while (event := await exchange.event()) and event != "data: [DONE]":
                received += chunks(f"{event}\n\ndata: [DONE]\n\n")
                if len(received) == after and self._service.runs.running:
                    self._service.runs.run.stop() if how == "stop" else let_time_out()
        self.page.take(received)

    async def assert_stored_is_shown(self) -> None:
        assert comparable(await self.page.stored()) == comparable(self.page.messages)


async def converse(chat: Chat, acts: list[Act]) -> None:
    for action in acts:
        await chat.act(action)
        await chat.assert_stored_is_shown()
    await chat.page.send("again")
    assert not any(chat.half_asked)


@settings(max_examples=40)
@given(
    script=scripts,
    acts=actions,
    ai_sdk=st.sampled_from([6, 7]),
    mode=st.sampled_from([StreamingMode.SSE, StreamingMode.SSE, StreamingMode.NONE]),
    keeps=st.booleans(),
)
def test_history_equals_the_folded_stream(
    script: list[Any], acts: list[Act], ai_sdk: AiSdkVersion, mode: StreamingMode, keeps: bool
) -> None:
    asyncio.run(converse(Chat(script, ai_sdk, mode, keeps=keeps), acts))
