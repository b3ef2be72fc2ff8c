"""Calls whose tools raise: the card's text live, in history, in a recording and for the model, with every store."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import BaseAgent, LlmAgent, ParallelAgent, SequentialAgent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.apps import App
from google.adk.events import Event
from google.adk.plugins import BasePlugin
from google.adk.runners import Runner
from google.adk.sessions import BaseSessionService, InMemorySessionService
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.adk.tools.tool_context import ToolContext
from google.adk.workflow import RetryConfig, Workflow
from google.genai import types
from typing_extensions import override

from stream_protocol import stream_chunks
from stream_protocol.recording import ChatRecorder, load_recording, replay
from stream_protocol.serving import ChatService, create_app, default_run_config, explain_error
from stream_protocol.testing import Call, ScriptedLlm
from stream_protocol.wire.client import parse_sse, reduce_chunks
from tests.batch import batch
from tests.comparable_messages import comparable
from tests.serving.chat_client import Page
from tests.tools import OLD_ADK

FAILED = "The tool failed."
UNFINISHED = "The run failed before the tool finished."


def explode() -> None:
    """Raises, in a thread."""
    raise RuntimeError("the key is hunter2")


async def explode_at_once() -> None:
    """Raises."""
    raise ValueError("the key is hunter2")


async def explode_later(tool_context: ToolContext) -> None:
    """Raises when the loop has done other work."""
    await asyncio.sleep(0)
    raise ValueError("the key is hunter2")


async def wait() -> None:
    """Never ends by itself."""
    await asyncio.Event().wait()


async def count_down() -> AsyncGenerator[Any, None]:
    """Reports its progress, and raises."""
    for number in ("3", "2"):
        content = types.Content(role="user", parts=[types.Part(text=number)])
        yield Event(author="count_down", content=content)
    raise ValueError("the key is hunter2")


def add(a: int = 1) -> int:
    """Adds."""
    return a + 1


class Panic(BaseException):
    """Not an ``Exception``: a library in Rust raises such a one, when it panics."""


def panic() -> None:
    """Raises it in a thread."""
    raise Panic("the key is hunter2")


async def panic_at_once() -> None:
    """Raises it."""
    raise Panic("the key is hunter2")


class Lost(BaseTool):
    """A tool of an app's own class, as that of an MCP server that has gone."""

    @override
    def _get_declaration(self) -> types.FunctionDeclaration:
        return types.FunctionDeclaration(name=self.name, description=self.description)

    @override
    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        raise ConnectionError("the key is hunter2")


def no_where() -> None:
    """A long-running tool that raises."""
    raise RuntimeError("the key is hunter2")


TOOLS: list[Any] = [
    explode,
    explode_at_once,
    explode_later,
    panic,
    panic_at_once,
    wait,
    count_down,
    add,
    Lost(name="lost", description="Raises."),
    LongRunningFunctionTool(no_where),
    FunctionTool(lambda: None, require_confirmation=True),
]


def agent(*turns: Any, tools: Any = TOOLS, **fields: Any) -> LlmAgent:
    return LlmAgent(name="root", model=ScriptedLlm(turns=turns), tools=[*tools], **fields)


def errors(message: Any) -> dict[str, str]:
    """The error of each tool, by its name."""
    return {
        part["type"].removeprefix("tool-"): part["errorText"]
        for part in message["parts"]
        if part.get("state") == "output-error"
    }


class Chat:
    """A chat that is recorded, whose readings must agree."""

    def __init__(self, target: Any, folder: Path, **options: Any) -> None:
        self.folder = folder
        self.target = target
        self.options = options
        self.service = ChatService(target, recorder=ChatRecorder(folder / "recorded"), **options)
        self.page = Page(create_app(self.service))

    async def send(self, text: str = "go") -> dict[str, str]:
        """Returns the errors of the newest message, which are those of each reading."""
        await self.page.send(text)
        live = self.page.messages[-1]
        assert "hunter2" not in str(live)
        await self.assert_stored_alike()
        (recorded,) = (self.folder / "recorded").iterdir()
        assert errors(reduce_chunks(_chunks(replay(load_recording(recorded), turn=self.turns)))) == errors(live)
        return errors(live)

    @property
    def turns(self) -> int:
        return sum(message["role"] == "user" for message in self.page.messages)

    async def assert_stored_alike(self) -> None:
        """Also checks the history of another worker, which has only the store."""
        stored = await self.page.stored()
        assert comparable(stored) == comparable(self.page.messages)
        own = {} if isinstance(self.target, Runner) else {"session_service": self.service.runner.session_service}
        other = ChatService(self.target, **{**self.options, **own})
        assert await other.history("c1", user_id="local") == stored


def _chunks(sse: Any) -> Any:
    return [chunk for chunk in parse_sse(sse) if chunk["type"] != "error"]


CALLS: dict[str, tuple[Any, dict[str, str]]] = {
    "a plain function in a thread": (Call("explode"), {"explode": FAILED}),
    "a coroutine": (Call("explode_at_once"), {"explode_at_once": FAILED}),
    "a plain function that raises no Exception": (Call("panic"), {"panic": FAILED}),
    "a coroutine that raises no Exception": (Call("panic_at_once"), {"panic_at_once": FAILED}),
    "a tool of an app's class": (Call("lost"), {"lost": FAILED}),
    "a long-running tool": (Call("no_where"), {"no_where": FAILED}),
    "one beside a tool that runs": (
        [Call("wait"), Call("explode_later")],
        {"wait": UNFINISHED, "explode_later": FAILED},
    ),
    "one before tools that run": (
        [Call("explode"), Call("wait", id="w1"), Call("wait", id="w2")],
        {"wait": UNFINISHED, "explode": FAILED},
    ),
    "one beside a tool that has finished": (
        [Call("add", {"a": 1}), Call("explode_later")],
        {"explode_later": FAILED} | ({"add": UNFINISHED} if OLD_ADK else {}),  # which forgets that result
    ),
    **({} if OLD_ADK else {"one that has told of its progress": (Call("count_down"), {"count_down": FAILED})}),
    "two at once": (
        [Call("explode_at_once", id="a"), Call("lost", id="b"), Call("wait", id="c")],
        {"explode_at_once": FAILED, "lost": FAILED, "wait": UNFINISHED},
    ),
    "one under a model's own id, in words": (["I try. ", Call("explode", id="call_1")], {"explode": FAILED}),
    "one whose arguments were streamed": (Call("explode", {"x": "y"}, streamed=True), {"explode": FAILED}),
}


@pytest.mark.parametrize(("turn", "expected"), CALLS.values(), ids=CALLS)
async def test_a_call_whose_tool_raised_says_so(turn: Any, expected: dict[str, str], tmp_path: Path) -> None:
    assert await Chat(agent(turn), tmp_path).send() == expected


async def test_each_store_keeps_which_call_failed(sessions: BaseSessionService, tmp_path: Path) -> None:
    turns = [Call("wait", id="a"), Call("explode_later", id="b")], "Better.", Call("lost", id="a"), "Good."
    chat = Chat(agent(*turns), tmp_path, session_service=sessions)
    assert await chat.send() == {"wait": UNFINISHED, "explode_later": FAILED}
    assert await chat.send("again") == {}
    assert await chat.send("and again") == {"lost": FAILED}
    assert await chat.send("and on") == {}
    await chat.service.aclose()


async def test_the_model_reads_which_of_its_calls_failed(tmp_path: Path) -> None:
    root = agent([Call("wait", id="a"), Call("explode_later", id="b")], "Better.")
    chat = Chat(root, tmp_path)
    await chat.send()
    await chat.send("again")
    assert isinstance(root.model, ScriptedLlm)
    read = [part.function_response for content in root.model.requests[-1].contents for part in content.parts or []]
    told = {response.name: response.response for response in read if response is not None}
    assert told == {"wait": {"error": UNFINISHED}, "explode_later": {"error": FAILED}}


# Callbacks and plugins


async def raising_callback(**_: Any) -> None:
    raise ValueError("the key is hunter2")


async def answering_callback(**_: Any) -> dict[str, Any]:
    return {"instead": True}


class Answering(BasePlugin):
    async def on_tool_error_callback(self, **_: Any) -> dict[str, Any]:
        return {"instead": True}


class Changing(BasePlugin):
    """Puts other events in the place of those that it is given."""

    async def on_event_callback(self, *, invocation_context: Any, event: Any) -> Any:
        return event.model_copy(deep=True)


@batch(
    callbacks={
        "before the tool": ({"before_tool_callback": raising_callback}, "add", {"add": FAILED}),
        "after the tool": ({"after_tool_callback": raising_callback}, "add", {"add": FAILED}),
        "in place of the error": ({"on_tool_error_callback": raising_callback}, "explode", {"explode": FAILED}),
        "that let the error pass": (
            {"before_tool_callback": lambda **_: None, "on_tool_error_callback": lambda **_: None},
            "explode",
            {"explode": FAILED},
        ),
        "that answer in the tool's place": ({"before_tool_callback": answering_callback}, "explode", {}),
        "that answer the error": ({"on_tool_error_callback": answering_callback}, "explode", {}),
    }
)
async def test_callbacks_are_part_of_the_call(
    callbacks: tuple[dict[str, Any], str, dict[str, str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    fields, tool, expected = callbacks
    chat = Chat(agent(Call(tool), "Well.", **fields), tmp_path_factory.mktemp("chat"))
    assert await chat.send() == expected


def numbered() -> dict[Any, str]:
    """Returns a value that ADK does not take for a result."""
    return {1: "a"}


async def test_the_log_names_the_tool_whose_call_failed_behind_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert await Chat(agent(Call("numbered"), tools=[numbered]), tmp_path).send() == {"numbered": FAILED}
    sentence = "The result of the tool numbered is not JSON. A key of it is not text: 1. Return plain values."
    assert sentence in caplog.messages


@pytest.mark.parametrize(
    ("plugins", "expected"),
    [([Answering("answering")], {}), ([Changing("changing")], {"wait": UNFINISHED, "explode_later": FAILED})],
)
async def test_plugins_of_an_app_come_after_ours(
    plugins: list[BasePlugin], expected: dict[str, str], tmp_path: Path
) -> None:
    turn = [Call("explode_later")] if not expected else [Call("wait"), Call("explode_later")]
    app = App(name="app", root_agent=agent(turn, "Well."), plugins=plugins)
    assert await Chat(app, tmp_path).send() == expected


async def test_the_runner_of_an_app_stays_as_it_is(tmp_path: Path) -> None:
    plugins: list[BasePlugin] = [Changing("changing")]
    app = App(name="app", root_agent=agent(Call("explode"), Call("explode")), plugins=plugins)
    runner = Runner(app=app, session_service=InMemorySessionService())
    await Chat(runner, tmp_path).send()
    assert runner.plugin_manager.plugins == plugins


# Agents


def inner(*turns: Any, name: str = "inner", **fields: Any) -> LlmAgent:
    return LlmAgent(name=name, description="Helps.", model=ScriptedLlm(turns=turns), tools=[*TOOLS], **fields)


class Own(BaseAgent):
    """An agent of an app's own class, which runs its tools by itself."""

    tools: tuple[str, ...]

    @override
    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        calls = [types.Part(function_call=types.FunctionCall(id=name, name=name, args={})) for name in self.tools]
        content = types.Content(role="model", parts=calls)
        yield Event(author=self.name, invocation_id=ctx.invocation_id, content=content)
        raise ValueError("the key is hunter2")


NESTED: dict[str, tuple[Callable[[], Any], dict[str, str]]] = {
    "an agent that is a tool": (
        lambda: agent(
            [Call("inner", {"request": "x"}, id="1"), Call("wait", id="2")],
            tools=[AgentTool(inner([Call("explode_later", id="2")])), wait],
        ),
        {"inner": FAILED, "wait": UNFINISHED},
    ),
    "an agent that is a tool and recovers": (
        lambda: agent(
            [Call("inner", {"request": "x"}, id="1")],
            "Well.",
            tools=[AgentTool(inner([Call("explode", id="1")], "Sorry.", on_tool_error_callback=answering_callback))],
        ),
        {},
    ),
    "an agent of an app's own class, of whose calls ADK knows nothing": (
        lambda: Own(name="own", tools=("look", "listen")),
        {"look": UNFINISHED, "listen": UNFINISHED},
    ),
    "a workflow that asks an agent": (
        lambda: Workflow(name="flow", edges=[("START", inner([Call("wait"), Call("explode_later")]))]),
        {"wait": UNFINISHED, "explode_later": FAILED},
    ),
    "a workflow that tries again": (
        lambda: Workflow(
            name="flow",
            edges=[
                (
                    "START",
                    inner(Call("explode", id="a"), "Done.", retry_config=RetryConfig(max_attempts=2, initial_delay=0)),
                )
            ],
        ),
        {"explode": FAILED},
    ),
    "a workflow that tries again after calls side by side": (
        lambda: Workflow(
            name="flow",
            edges=[
                (
                    "START",
                    inner(
                        [Call("wait", id="w"), Call("explode_later", id="e")],
                        "Done.",
                        retry_config=RetryConfig(max_attempts=2, initial_delay=0),
                    ),
                )
            ],
        ),
        {"wait": "The tool gave no result.", "explode_later": FAILED},
    ),
    "agents side by side": (
        lambda: ParallelAgent(
            name="all",
            sub_agents=[
                inner(Call("explode", id="a"), name="first"),
                inner([Call("wait", id="b")], "Done.", name="second"),
            ],
        ),
        {"wait": UNFINISHED, "explode": FAILED},
    ),
    "an agent of a sequence": (
        lambda: SequentialAgent(name="sequence", sub_agents=[inner([Call("wait"), Call("explode_later")])]),
        {"wait": UNFINISHED, "explode_later": FAILED},
    ),
    "an agent that took over": (
        lambda: agent(
            Call("transfer_to_agent", {"agent_name": "inner"}),
            sub_agents=[inner([Call("wait"), Call("explode_later")])],
            tools=[],
        ),
        {"wait": UNFINISHED, "explode_later": FAILED},
    ),
    "an agent that answers a call": (
        lambda: agent(
            Call("inner", {"request": "x"}),
            sub_agents=[inner([Call("wait"), Call("explode_later")], mode="single_turn")],
            tools=[],
        ),
        {"wait": UNFINISHED, "explode_later": FAILED},
    ),
}


@pytest.mark.filterwarnings(
    "ignore:(Sequential|Parallel)Agent is deprecated", "ignore:The .plugins. argument is deprecated"
)
@pytest.mark.parametrize(("target", "expected"), NESTED.values(), ids=NESTED)
async def test_a_tool_of_any_agent_that_raised_says_so(
    target: Callable[[], Any], expected: dict[str, str], tmp_path: Path
) -> None:
    assert await Chat(target(), tmp_path, nested_agents="flat").send() == expected  # so all cards are in one message


async def test_an_approved_call_whose_tool_raised_says_so(tmp_path: Path) -> None:
    tools = [FunctionTool(explode, require_confirmation=True)]
    chat = Chat(agent(Call("explode"), tools=tools), tmp_path)
    await chat.page.send("go")
    chat.page.approve(True)
    await chat.page.submit()
    assert errors(chat.page.messages[-1]) == {"explode": FAILED}
    await chat.assert_stored_alike()


async def test_a_client_tool_beside_one_that_raised_can_still_be_answered(tmp_path: Path) -> None:
    def where() -> None:
        """Only the page knows."""

    tools = [LongRunningFunctionTool(where), explode]
    chat = Chat(agent([Call("where"), Call("explode")], "Oslo, then.", tools=tools), tmp_path)
    assert await chat.send() == {"explode": FAILED}
    chat.page.answer("where", "Oslo")
    await chat.page.submit()
    assert chat.page.messages[-1]["parts"][-1]["text"] == "Oslo, then."
    await chat.assert_stored_alike()


async def test_the_app_may_tell_more_in_the_error_and_never_on_the_card(tmp_path: Path) -> None:
    seen: list[str] = []

    def on_error(error: BaseException) -> str:
        seen.append(explain_error(error))
        return "Told."

    chat = Chat(agent(Call("explode")), tmp_path, on_error=on_error)
    assert await chat.send() == {"explode": FAILED}
    assert [text.partition(" (")[0] for text in seen] == ["The tool explode raised RuntimeError: the key is hunter2"]


# Without a service


async def test_the_converter_alone_finds_the_call_in_the_traceback() -> None:
    runner = Runner(
        app_name="app", agent=agent([Call("wait"), Call("explode_later")]), session_service=InMemorySessionService()
    )
    session = await runner.session_service.create_session(app_name="app", user_id="u")
    message = types.UserContent("go")
    events = runner.run_async(user_id="u", session_id=session.id, new_message=message, run_config=default_run_config())
    chunks = [chunk async for chunk in stream_chunks(events) if chunk["type"] != "error"]
    assert errors(reduce_chunks(chunks)) == {"wait": UNFINISHED, "explode_later": FAILED}
