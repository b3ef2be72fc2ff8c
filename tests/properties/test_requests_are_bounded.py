"""A page that sends by itself posts once for each action of its user. It also posts once for each round of calls that
it answers itself while a response arrives.
"""

import asyncio
import copy
import io
import re
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.apps.app import ResumabilityConfig
from google.adk.tools import request_input
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.adk.tools.tool_context import ToolContext
from hypothesis import example, given, strategies as st

from stream_protocol.check import Finding, Severity, check_stream
from stream_protocol.serving import create_app
from stream_protocol.testing import Call, ScriptedLlm
from stream_protocol.wire import AiSdkVersion
from tests.examples import examples
from tests.properties.conversations import explode, look, pay, pay_if_small, report, where
from tests.serving.eager_page import PREDICATES, EagerPage
from tests.serving.instrumented import InstrumentedService

pytestmark = pytest.mark.filterwarnings(r"ignore:\[EXPERIMENTAL\]:UserWarning")  # of ADK's resumable apps

MAX_ACTS = 7


def end(tool_context: ToolContext) -> dict[str, bool]:
    """Its result is the agent's last word."""
    tool_context.actions.skip_summarization = True
    return {"done": True}


ids = st.sampled_from([None, None, "c", "d"])
"""Models use ids again, in one message and in the next."""

calls = st.one_of(
    st.builds(lambda n, i: Call("pay", {"amount": n}, id=i), st.integers(1, 9), ids),
    st.builds(lambda n, i: Call("pay", {"amount": n}, id=i), st.integers(1, 9), ids),
    st.builds(lambda n, i: Call("pay_if_small", {"amount": n}, id=i), st.integers(1, 9), ids),
    st.builds(lambda i: Call("where", {"question": "city"}, id=i), ids),
    st.builds(lambda i: Call("look", {"city": "Oslo"}, id=i), ids),
    st.builds(lambda i: Call("end", id=i), ids),
    st.builds(lambda i: Call("report", id=i), ids),
    st.sampled_from([Call("explode"), Call("nothing_of_the_kind"), Call("adk_request_input", {"message": "Who?"})]),
)
turns = st.tuples(st.lists(st.just("Well."), max_size=1), st.lists(calls, max_size=3)).map(
    lambda said: [*said[0], *said[1]] or ["."]
)
ACTS = ["say", "approve", "approve", "deny", "approve last", "deny last", "answer", "answer"]
acts = st.lists(st.sampled_from([*ACTS, "send", "approve elsewhere", "reload"]), min_size=2, max_size=MAX_ACTS)


async def act(page: EagerPage, action: str) -> None:
    """Does an action if it is possible now; otherwise sends a text."""
    asked = page.messages and page.parts("approval-requested")
    match action.split():
        case ["approve" | "deny" as answer, *last] if asked and last != ["elsewhere"]:
            await page.decide(-1 if last else 0, approved=answer == "approve")
        case ["approve", "elsewhere"] if asked:
            before = copy.deepcopy(page.messages)
            await page.decide(0, approved=True)
            page.messages = before  # what was answered by another page is still open here
        case ["answer"] if page.messages and page.parts("input-available"):
            await page.give_output()
        case ["send"] if page.messages and page.messages[-1]["role"] == "assistant":
            await page.submit()
        case ["reload"] if page.messages and not page.failed:
            page.messages = await page.stored()
        case _:
            await page.send("go")


def errors(page: EagerPage) -> list[Finding]:
    """The errors of ``check`` for all streams that the page was sent, with the ids of its messages and without."""
    streams = "".join(page.received)
    return [
        finding
        for stream in (streams, re.sub(r'"type":"start","messageId":"[^"]*"', '"type":"start"', streams))
        for finding in check_stream(io.BytesIO(stream.encode()), versions=[page.ai_sdk])
        if finding.rule.severity is Severity.ERROR
    ]


async def converse(script: list[Any], actions: list[str], page: EagerPage, service: InstrumentedService) -> None:
    try:
        for action in actions:
            page.posts = page.rounds = 0
            await act(page, action)
            assert page.posts <= 1 + page.rounds, action
            await service.runs.free()
        if "approve elsewhere" not in actions:
            assert errors(page) == []
    finally:
        await service.aclose()


TWO_APPROVALS = [[Call("pay", {"amount": 1}), Call("pay", {"amount": 2})]]
ONE_ID_TWICE = [[Call("where", {"question": "city"}, id="c"), Call("where", {"question": "day"}, id="c")]]
KNOWN = {"ai_sdk": 6, "answers": False, "resumable": False}


@example(script=TWO_APPROVALS, actions=["say", "approve", "approve"], sends="template", **KNOWN)
@example(script=ONE_ID_TWICE, actions=["say", "answer", "answer"], sends="helpers", **KNOWN)
@examples(30)
@given(
    script=st.lists(turns, min_size=1, max_size=5),
    actions=acts,
    ai_sdk=st.sampled_from([6, 7]),
    sends=st.sampled_from(sorted(PREDICATES)),
    answers=st.booleans(),
    resumable=st.booleans(),
)
def test_a_page_posts_once_for_what_its_user_does_and_once_for_what_it_answers_itself(
    script: list[Any], actions: list[str], ai_sdk: AiSdkVersion, sends: str, answers: bool, resumable: bool
) -> None:
    tools: list[Any] = [
        FunctionTool(pay, require_confirmation=True),
        LongRunningFunctionTool(where),
        LongRunningFunctionTool(report),
        *(pay_if_small, look, explode, end, request_input),
    ]
    left = iter(script)
    agent = LlmAgent(name="root", model=ScriptedLlm(respond=lambda _: next(left, "Well.")), tools=tools)
    app = App(name="root", root_agent=agent, resumability_config=ResumabilityConfig(is_resumable=resumable))
    service = InstrumentedService(app, ai_sdk=ai_sdk)
    page = EagerPage(create_app(service), ai_sdk, sends, answers)
    asyncio.run(converse(script, actions, page, service))
