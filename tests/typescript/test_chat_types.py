"""The types of an agent; ``test_typed_client.py`` compares them with the sent values."""

import functools
import re
from collections.abc import AsyncIterator
from typing import Annotated, Any, NamedTuple

import pytest
from google.adk.agents import LlmAgent, SequentialAgent
from google.adk.apps import App
from google.adk.runners import InMemoryRunner
from google.adk.tools import exit_loop, google_search, request_input
from google.adk.tools.base_toolset import BaseToolset
from google.adk.workflow import START, Edge, Workflow, node as as_node
from google.genai import types
from pydantic import BaseModel, Field, model_serializer
from typing_extensions import TypedDict

from stream_protocol.agents import DataPart, client_tool, data_part
from stream_protocol.serving import PageContext, SharedState, Target
from stream_protocol.typescript import ToolsError, chat_types
from stream_protocol.typescript._chat_types import PageValues
from tests.tools import OLD_ADK
from tests.typescript.typed_agent import FakeMcpToolset, RawTool


def agent(*tools: Any, name: str = "root", **more: Any) -> LlmAgent:
    return LlmAgent(name=name, model="gemini-2.5-flash", tools=[*tools], **more)


async def typed(target: Target, *parts: DataPart[Any]) -> str:
    return await chat_types(target, parts)


async def tool(*tools: Any) -> str:
    """The types of tools that are called `it`, on one line."""
    text = await typed(agent(*tools))
    (found,) = re.findall(r"^  it: (\{.*?\n  \};)$", text, re.DOTALL | re.MULTILINE)
    return " ".join(found.split())


class Point(BaseModel):
    x: int
    y: int = 0
    secret: str = Field(default="", exclude=True)


class Flat(BaseModel):
    x: int

    @model_serializer
    def as_text(self) -> str:
        return str(self.x)


class Pair(NamedTuple):
    a: int
    b: str


class Row(TypedDict):
    key: str


class Opaque:
    pass


RETURNS: list[tuple[Any, str]] = [
    (Any, "unknown"),
    (object, "unknown"),
    (None, "{ result: null; }"),
    (str, "{ result: string; }"),
    (bytes, "{ result: string; }"),
    (dict, "{ [key: string]: unknown }"),
    (dict[str, int], "{ [key: string]: number }"),
    (list, "{ result: unknown[]; }"),
    (Row, "Row"),
    (Row | None, "Row | { result: null; }"),
    (Point, "{ result: Point; }"),
    (list[Point | None], "{ result: (Point | null)[]; }"),
    (Flat, "{ result: Flat; }"),
    (Pair, "{ result: Pair; }"),
    (tuple[int, ...], "{ result: number[]; }"),
    (set[str], "{ result: string[]; }"),
    (Annotated[Row | str, "either"], "Row | { result: string; }"),
    (Opaque, "{ result: unknown; }"),
    ("NoSuchName", "unknown"),
    (AsyncIterator[str], "string | { result: string; }"),
]


@pytest.mark.parametrize(("annotation", "output"), RETURNS, ids=str)
async def test_the_output_is_what_the_function_returns_as_adk_sends_it(annotation: Any, output: str) -> None:
    def it():  # type: ignore[no-untyped-def]  # noqa: ANN202 - annotated below
        pass

    it.__annotations__["return"] = annotation
    assert (await tool(it)).endswith(f" output: {output}; }};")


async def test_models_are_typed_as_they_are_written() -> None:
    def it() -> Point:
        raise NotImplementedError

    assert "export type Point = {\n  x: number;\n  y: number;\n};\n" in await typed(agent(it))


class it:  # noqa: N801 - ADK names the tool like it
    def __call__(self, count: int) -> Row:
        return {"key": str(count)}


@pytest.mark.skipif(OLD_ADK, reason="ADK 2.11 declares no objects that can be called")
async def test_an_object_that_can_be_called_is_a_tool() -> None:
    assert await tool(it()) == "{ input: { count: number; }; output: Row; };"


async def test_a_wrapped_function_is_as_the_one_within() -> None:
    def original(count: int, more: int = 0) -> Row:
        return {"key": str(count + more)}

    @functools.wraps(original)
    def wrapped(*arguments: Any, **more: Any) -> Any:
        return original(*arguments, **more)

    wrapped.__name__ = "it"
    assert await tool(wrapped) == "{ input: { count: number; more?: number; }; output: Row; };"


@pytest.mark.filterwarnings("ignore:SequentialAgent is deprecated:DeprecationWarning")
async def test_agents_of_all_kinds_give_their_tools() -> None:
    def tell(name: str) -> Any:
        def it() -> str:
            return name

        it.__name__ = name
        return it

    inner = agent(tell("deep"), name="inner")
    middle = SequentialAgent(name="middle", sub_agents=[inner])
    node = agent(tell("node_tool"), name="node", mode="single_turn")
    root = agent(tell("own"), sub_agents=[middle])
    assert {"own", "deep"} <= names(await typed(root))
    assert names(await typed(App(name="app", root_agent=root))) == names(await typed(root))
    assert names(await typed(InMemoryRunner(root))) == names(await typed(root))
    assert "node_tool" in names(await typed(Workflow(name="flow", edges=[Edge(from_node=START, to_node=node)])))
    for_each = as_node(node, parallel_worker=True)
    assert "node_tool" in names(await typed(Workflow(name="flow", edges=[Edge(from_node=START, to_node=for_each)])))


def names(text: str) -> set[str]:
    table = text.partition("export type ChatTools = {\n")[2].partition("\n};\n")[0]
    return {*re.findall(r"^  (\w+): ", table, re.MULTILINE)}


async def test_calls_that_are_not_shown_have_no_types() -> None:
    text = await typed(agent(exit_loop, google_search, request_input))
    assert names(text) == {"adk_request_credential", "adk_request_input"}


async def test_tools_of_one_name_have_the_types_of_all() -> None:
    def it(a: int) -> Row:
        """One."""
        return {"key": str(a)}

    raw = RawTool("it", {"type": "object", "properties": {"b": {"const": 1}}}, {"type": "string"})
    text = await typed(agent(it, sub_agents=[agent(raw, name="other")]))
    assert "input: {\n      a: number;\n    } | {\n      b?: 1;\n    };\n" in text
    assert "output: Row | {\n      result: string;\n    };\n" in text


async def test_a_client_tool_has_the_types_that_it_declares() -> None:
    schema = {"type": "object", "properties": {"exact": {"type": "boolean"}}, "required": ["exact"]}
    assert await tool(client_tool("it", "Asks.", schema)) == "{ input: { exact: boolean; }; output: unknown; };"
    answered = client_tool("it", "Asks.", output_schema={"type": "string"})
    assert await tool(answered) == "{ input: { [key: string]: never }; output: string; };"


async def test_toolsets_are_closed() -> None:
    toolset = FakeMcpToolset()
    assert {"price", "tell"} <= names(await typed(agent(toolset)))
    assert toolset.closed == 1


class BrokenToolset(BaseToolset):
    async def get_tools(self, readonly_context: Any = None) -> list[Any]:
        raise ConnectionError("nobody answers")

    async def close(self) -> None:
        pass


async def test_a_toolset_that_does_not_answer_is_an_error_and_not_an_agent_without_its_tools() -> None:
    with pytest.raises(ToolsError, match=r"cannot list the tools of agent 'root': .*nobody answers"):
        await typed(agent(BrokenToolset()))


async def test_a_tool_that_cannot_be_declared_is_an_error() -> None:
    class Undeclared(RawTool):
        def _get_declaration(self) -> types.FunctionDeclaration:
            raise TypeError("no such type")

    with pytest.raises(ToolsError, match=r"cannot declare the tool 'it': .*no such type"):
        await typed(agent(Undeclared("it", None)))


async def test_parts_of_one_name_have_the_types_of_all() -> None:
    text = await typed(agent(), data_part("p", Row), data_part("p", Point), data_part("a-b", Row))
    assert "\n  p: Point | Row;\n" in text
    assert '\n  "a-b": Row;\n' in text


async def test_agents_that_answer_in_json_have_the_type_of_their_text() -> None:
    class Plan(BaseModel):
        title: str
        note: str | None = None

    text = await typed(agent(output_schema=list[Plan], name="planner"))
    assert "export type ChatOutputs = {\n  planner: Plan[];\n};\n" in text
    assert "export type Plan = {\n  title: string;\n  note?: string | null;\n};\n" in text
    raw = await typed(agent(output_schema={"type": "object", "properties": {"a": {"type": "string"}}}))
    assert "export type ChatOutputs = {\n  root: {\n    a?: string;\n  };\n};\n" in raw
    assert "ChatOutputs" not in await typed(agent())


class Screen(BaseModel):
    """The screen that the user sees."""

    path: str
    rows: list[int] = []


async def test_context_and_state_of_the_page_have_types() -> None:
    values = PageValues(
        contexts=(PageContext(Screen),),
        states=(SharedState(read=["cart"], write={"theme": {"enum": ["light", "dark"]}, "seen": Screen}),),
    )
    text = await chat_types(LlmAgent(name="root"), page_values=values)
    assert "export type ChatContext = Screen;" in text
    state = '{\n  cart?: unknown;\n  seen?: Screen;\n  theme?: "light" | "dark";\n}'
    assert f"export type ChatState = {state};" in text
    assert "export type WritableState = {\n  seen?: Screen;" in text
    assert "  state: ChatState;" in text
    without = await chat_types(LlmAgent(name="root"))
    assert "ChatState" not in without
    assert "export type MessageVersions" in without
