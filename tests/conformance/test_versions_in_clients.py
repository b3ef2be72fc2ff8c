"""The AI SDK's own chat: versions three deep, chosen before and after a reload, then a tool call and an approval.

Each request brings the page's context, and the page writes state. Two workers share the stores: a proxy gives each
request to the next one.
"""

from itertools import count
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.tool_context import ToolContext
from starlette.types import ASGIApp, Receive, Scope, Send

from stream_protocol.serving import ChatService, MemoryRunLog, PageContext, SharedState, create_app
from stream_protocol.testing import Call, ScriptedLlm
from stream_protocol.wire import AiSdkVersion
from tests.comparable_messages import comparable
from tests.conformance.node_scripts import run_script
from tests.served import served

pytestmark = pytest.mark.node

STEPS: list[tuple[dict[str, Any], list[str]]] = [
    ({"text": "a"}, ["a", "1"]),
    ({"text": "b"}, ["a", "1", "b", "2"]),
    ({"text": "c"}, ["a", "1", "b", "2", "c", "3"]),
    ({"regenerate": True}, ["a", "1", "b", "2", "c", "4"]),
    ({"edit": 2, "text": "B"}, ["a", "1", "B", "5"]),
    ({"edit": 0, "text": "A"}, ["A", "6"]),
    ({"choose": [0, 0]}, ["a", "1", "B", "5"]),
    ({"choose": [2, 0]}, ["a", "1", "b", "2", "c", "4"]),
    ({"reload": True}, ["a", "1", "b", "2", "c", "4"]),
    ({"choose": [5, 0]}, ["a", "1", "b", "2", "c", "3"]),
    ({"write": {"theme": "dark"}}, ["a", "1", "b", "2", "c", "3"]),
    ({"text": "pay"}, ["a", "1", "b", "2", "c", "3", "pay", ""]),
    ({"choose": [0, 1]}, ["A", "6"]),
    ({"reload": True}, ["A", "6"]),
    ({"choose": [0, 0]}, ["a", "1", "b", "2", "c", "3", "pay", ""]),
    ({"approve": True}, ["a", "1", "b", "2", "c", "3", "pay", "dark /orders"]),
    ({"reload": True}, ["a", "1", "b", "2", "c", "3", "pay", "dark /orders"]),
]
"""What is done on the page, and the texts that it shows then."""


def pay(tool_context: ToolContext) -> dict[str, Any]:
    """Pays."""
    return {"theme": tool_context.state.get("theme")}


class Answers:
    """The model of all workers: a number for each answer, and at last what it was told by the page."""

    def __init__(self) -> None:
        self._numbers = count(1)

    def __call__(self, request: Any) -> Any:
        last = request.contents[-1].parts[-1]
        if last.function_response is not None:
            texts = [part.text for content in request.contents for part in content.parts if part.text]
            (context,) = [text for text in texts if text.startswith("Context from the page")]
            path = "/orders" if '{"path": "/orders"}' in context else "nowhere"
            return f"{last.function_response.response['theme']} {path}"
        return Call("pay", {}) if last.text == "pay" else str(next(self._numbers))


def app_of_two_workers(ai_sdk: AiSdkVersion) -> ASGIApp:
    sessions, run_log, answers, requests = InMemorySessionService(), MemoryRunLog(), Answers(), count()

    def worker() -> ASGIApp:
        tool = FunctionTool(pay, require_confirmation=True)
        agent = LlmAgent(name="root", model=ScriptedLlm(respond=answers), tools=[tool])
        service = ChatService(
            Runner(app_name="root", agent=agent, session_service=sessions),
            run_log=run_log,
            ai_sdk=ai_sdk,
            context=PageContext({"type": "object", "properties": {"path": {"type": "string"}}}),
            shared_state=SharedState(write={"theme": {"enum": ["light", "dark"]}}),
        )
        return create_app(service, page=False)

    workers: list[ASGIApp] = [worker(), worker()]

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await workers[next(requests) % 2](scope, receive, send)

    return app


@pytest.mark.parametrize("ai_sdk", [6, 7])
def test_versions_context_and_state_in_the_real_client(ai_sdk: AiSdkVersion) -> None:
    with served(app_of_two_workers(ai_sdk)) as url:
        asked = {
            "ai": ai_sdk,
            "url": url,
            "id": "c1",
            "body": {"context": {"path": "/orders"}},
            "steps": [step for step, _ in STEPS],
        }
        (seen,) = run_script("branch-chats.mjs", [asked])
    for (step, expected), shown in zip(STEPS, seen, strict=True):
        texts = ["".join(part.get("text", "") for part in message["parts"]) for message in shown["messages"]]
        assert (texts, shown["error"]) == (expected, None), step
        assert comparable(shown["stored"]) == comparable(shown["messages"]), step
    assert seen[-1]["state"] == {"theme": "dark"}
    assert [len(listed["ids"]) for listed in seen[-1]["versions"]] == [2, 2, 2]
