from typing import Any, Literal

import pytest
from google.adk.agents import BaseAgent, LlmAgent
from google.adk.events import Event
from google.adk.runners import InMemoryRunner
from google.adk.sessions import InMemorySessionService
from google.adk.tools.base_tool import BaseTool
from google.adk.workflow import Workflow
from google.genai.types import Content, FunctionCall, Part

from stream_protocol.serving import ChatService, create_app, task_agent_tools
from stream_protocol.serving.adk_runner import as_runner
from stream_protocol.testing import ScriptedLlm
from stream_protocol.wire import StreamProtocolError
from tests.serving.support import chat, client, said, stream, text


def agent(name: str, **fields: object) -> LlmAgent:
    return LlmAgent.model_validate({"name": name, "model": ScriptedLlm(turns=["Hello."]), **fields})


def test_a_runner_with_another_session_service_is_a_contradiction() -> None:
    with pytest.raises(StreamProtocolError):
        as_runner(InMemoryRunner(agent("root")), InMemorySessionService())


def test_what_is_no_agent_is_refused() -> None:
    with pytest.raises(StreamProtocolError, match=r"^`target` must be an ADK agent, App or Runner, not \"root\"\.$"):
        as_runner("root")  # type: ignore[arg-type]  # what a caller without a type checker may pass


def test_delegation_calls_are_those_of_task_agents_anywhere_in_the_tree() -> None:
    deep = agent("deep", mode="task", description="d")
    plain = agent("plain", sub_agents=[deep], description="d")
    task = agent("task", mode="task", description="d")
    root = agent("root", sub_agents=[plain, task])
    assert task_agent_tools(root) == {"deep", "task"}
    assert task_agent_tools(agent("alone")) == frozenset()


def test_an_agent_of_another_class_is_delegated_to_if_it_declares_the_mode() -> None:
    class Remote(BaseAgent):
        mode: Literal["task"] | None = None

    root = agent("root", sub_agents=[Remote(name="task", mode="task"), Remote(name="plain")])
    assert {tool.name for tool in root.tools if isinstance(tool, BaseTool)} == {"task"}
    assert task_agent_tools(root) == {"task"}


def test_delegation_calls_are_found_within_a_workflow() -> None:
    helper = agent("helper", mode="task", description="d")
    flow = Workflow(name="flow", edges=[("START", agent("first", sub_agents=[helper]))])
    assert task_agent_tools(flow) == {"helper"}


async def test_a_workflow_answers() -> None:
    flow = Workflow(name="flow", edges=[("START", agent("first"))])
    assert "Hello." in text(await stream(create_app(flow), chat(said("hi"))))


@pytest.mark.parametrize(
    ("hidden", "expected"),
    [((), {"task"}), (["mine"], {"task", "mine"}), (lambda name: name == "mine", {"task", "mine"}), ("all", None)],
)
async def test_the_apps_hidden_tools_come_on_top(hidden: Any, expected: set[str] | None) -> None:
    root, sessions = agent("root", sub_agents=[agent("task", mode="task", description="d")]), InMemorySessionService()
    service = ChatService(root, session_service=sessions, hidden_tools=hidden, nested_agents={"task": "flat"})
    names = {"task", "mine", "other"}
    session = await sessions.create_session(app_name="root", user_id="local", session_id="c1")
    for name in names:
        await sessions.append_event(session, Event(author="root", invocation_id="e-1", content=called(name)))
    async with client(create_app(service)) as http:
        messages = (await http.get("/api/chat/c1")).json()["messages"]
    parts = [part for message in messages for part in message["parts"]]
    shown = {part["type"].removeprefix("tool-") for part in parts if part["type"] != "step-start"}
    assert names - shown == (expected or names)


def called(tool: str) -> Content:
    return Content(role="model", parts=[Part(function_call=FunctionCall(id=tool, name=tool, args={}))])
