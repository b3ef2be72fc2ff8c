"""Agent with a tool for each kind of type, and a run that calls each tool."""

from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Any, Final, Literal, NotRequired

from google.adk.agents import LlmAgent
from google.adk.agents.readonly_context import ReadonlyContext
from google.adk.events import Event
from google.adk.tools import AgentTool, BaseTool, LongRunningFunctionTool, ToolContext
from google.adk.tools.base_toolset import BaseToolset
from google.adk.tools.openapi_tool import OpenAPIToolset
from google.genai import types
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from stream_protocol.agents import client_tool, data_part, emit_data
from stream_protocol.testing import Call, ScriptedLlm


class Sky(StrEnum):
    CLEAR = "clear"
    RAIN = "rain"


class Wind(BaseModel):
    """The wind."""

    speed: float = Field(description="In metres per second; never */ negative.")
    gusts: tuple[float, float] | None = None


class Weather(BaseModel):
    """The weather of a place."""

    sky: Sky
    at: datetime
    wind: Wind | None = None
    feels_like: float | None = Field(default=None, alias="feelsLike")
    warnings: list[str] = Field(default_factory=list)


@dataclass
class Stay:
    name: str
    nights: int
    price: Decimal
    late: timedelta = timedelta(hours=1)
    rating: Literal[1, 2, 3] | None = None
    extras: dict[str, list[str]] = field(default_factory=dict)


class Category(BaseModel):
    name: str
    children: list["Category"] = []


class Found(TypedDict):
    key: str
    note: NotRequired[str]


class Summary(BaseModel):
    title: str
    length: int | None = None


class Request(BaseModel):
    """A request to the billing agent."""

    account: str
    months: list[int] = [1]


weather = data_part("weather", Weather)
progress = data_part("progress", Found)
NOW: Final = datetime(2026, 1, 1, tzinfo=UTC)


def get_weather(city: str, tool_context: ToolContext, unit: Literal["c", "f"] = "c") -> Weather:
    """Tells the weather.

    A second paragraph with */ and `backticks` and ${dollars}.
    """
    found = Weather(sky=Sky.RAIN, at=NOW, wind=Wind(speed=2.5, gusts=(3.0, 4.0)), feelsLike=1)
    emit_data(tool_context, weather, found, id=city)
    emit_data(tool_context, progress, {"key": city})
    return found


def list_stays(city: str, near: Wind | None = None) -> list[Stay]:
    """Lists stays."""
    return [Stay("Inn", 2, Decimal("9.50"), rating=3, extras={"food": ["tea"]})]


async def categories(depth: int) -> Category:
    """A tree."""
    return Category(name="all", children=[Category(name="some")])


def look_up(key: int | str | None = None) -> Found | None:
    """Looks up a key."""
    return None if key is None else {"key": str(key)}


def either(flag: bool) -> dict[str, int] | Annotated[str, "a text"]:
    """A table or a text."""
    return {"one": 1} if flag else "one"


def nothing() -> None:
    """Does something."""


def untyped(x, y=1):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201 - as people write tools
    return [x, y]


def stepwise(count: int) -> Iterator[int]:
    """Counts."""
    yield count


async def stream_model() -> AsyncGenerator[Weather, None]:
    """Gives a model that it has yielded."""
    yield Weather(sky=Sky.CLEAR, at=NOW)


async def stream_events() -> AsyncGenerator[Event | dict[str, Any], None]:
    """Reports its progress."""
    yield Event(content=types.UserContent("half"))
    yield {"done": True}


def file_ticket(text: str) -> dict[str, str]:
    """Files a ticket, which a person answers later."""
    return {"status": "filed"}


class RawTool(BaseTool):
    """A tool that declares JSON schemas by itself, as MCP's and OpenAPI's do."""

    def __init__(self, name: str, parameters: Any, response: Any = None, result: Any = None) -> None:
        super().__init__(name=name, description="Raw.\u2028 */ export type Evil = 1; /*\r\n\tSecond line.")
        self._declared = (parameters, response)
        self._result = result

    def _get_declaration(self) -> types.FunctionDeclaration:
        parameters, response = self._declared
        if isinstance(parameters, types.Schema):
            return types.FunctionDeclaration(
                name=self.name, description=self.description, parameters=parameters, response=response
            )
        return types.FunctionDeclaration(
            name=self.name,
            description=self.description,
            parameters_json_schema=parameters,
            response_json_schema=response,
        )

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        return self._result


HOSTILE: Final = {
    "type": "object",
    "definitions": {
        "node-type": {
            "type": "object",
            "properties": {"next": {"$ref": "#/definitions/node-type"}, "value": True},
            "required": ["value"],
        },
        "ChatMessage": {"enum": ["a\nb", 'quote"', "\u2028", None, 1, True]},
    },
    "properties": {
        "x-y": {"type": ["string", "null"], "description": "*/ }; process.exit(1); /*\u202e"},
        "class": {"const": "fixed"},
        "__proto__": {"type": "number"},
        "2nd": {"$ref": "#/definitions/node-type"},
        "pair": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "minItems": 2},
        "map": {"type": "object", "additionalProperties": {"anyOf": [{"type": "number"}, {"type": "boolean"}]}},
        "both": {"allOf": [{"$ref": "#/definitions/node-type"}, {"properties": {"more": {"type": "string"}}}]},
        "mode": {"$ref": "#/definitions/ChatMessage"},
        "none": False,
        "elsewhere": {"$ref": "https://schemas.example/other.json"},
    },
    "required": ["x-y", "class", "pair"],
}
HOSTILE_ARGUMENTS: Final = {
    "x-y": None,
    "class": "fixed",
    "2nd": {"value": 1, "next": {"value": None}},
    "pair": ["a", 1, "rest"],
    "map": {"a": 1, "b": True},
    "both": {"value": [], "more": "m"},
    "mode": "a\nb",
    "elsewhere": {},
}
GENAI: Final = types.Schema(
    type=types.Type.OBJECT,
    properties={
        "when": types.Schema(type=types.Type.STRING, format="date-time", nullable=True),
        "kind": types.Schema(type=types.Type.STRING, format="enum", enum=["big", "small"]),
        "tags": types.Schema(type=types.Type.ARRAY, items=types.Schema(type=types.Type.STRING)),
        "any": types.Schema(any_of=[types.Schema(type=types.Type.INTEGER), types.Schema(type=types.Type.BOOLEAN)]),
    },
    required=["kind"],
)


class FakeMcpToolset(BaseToolset):
    """A toolset like that of an MCP server."""

    closed = 0

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[BaseTool]:
        from tests.typescript.mcp_tools import listed_tools  # noqa: PLC0415 - to import MCP takes a second

        return listed_tools()

    async def close(self) -> None:
        self.closed += 1


ITEM: Final = {
    "type": "object",
    "properties": {"id": {"type": "integer"}, "label": {"type": "string", "nullable": True}},
    "required": ["id"],
}
SHOP: Final = {
    "openapi": "3.0.0",
    "info": {"title": "shop", "version": "1"},
    "servers": [{"url": "http://127.0.0.1:1"}],
    "components": {"schemas": {"Item": ITEM}},
    "paths": {
        path: {
            "get": {
                "operationId": name,
                "summary": "Reads.",
                "parameters": [{"name": "max", "in": "query", "schema": {"type": "integer"}}],
                "responses": {"200": {"description": "ok", "content": {"application/json": {"schema": schema}}}},
            }
        }
        for path, name, schema in (
            ("/item", "readItem", {"$ref": "#/components/schemas/Item"}),
            ("/items", "readItems", {"type": "array", "items": {"$ref": "#/components/schemas/Item"}}),
        )
    },
}

LOCATION: Final = {"type": "object", "properties": {"lat": {"type": "number"}}, "required": ["lat"]}
CALLS: Final = (
    Call("get_weather", {"city": "Oslo"}),
    Call("list_stays", {"city": "Oslo", "near": {"speed": 1.0}}),
    Call("categories", {"depth": 2}),
    Call("look_up", {}),
    Call("look_up", {"key": 1}),
    Call("either", {"flag": True}),
    Call("either", {"flag": False}),
    Call("nothing", {}),
    Call("untyped", {"x": 1}),
    Call("stepwise", {"count": 3}),
    Call("stream_model", {}),
    Call("stream_events", {}),
    Call("x.raw-1", HOSTILE_ARGUMENTS),
    Call("with_schema", {"kind": "big", "when": None, "any": True}),
    Call("shop_price", {"item": "bike"}),
    Call("shop_tell", {"item": "bike"}),
    Call("summarize", {"request": "all"}),
    Call("rephrase", {"request": "all"}),
    Call("outline", {"request": "all"}),
)
"""Calls of the tools that end without the user."""


def typed_agent() -> LlmAgent:
    """Return the agent. Its model makes one call in each step. The page answers the last call."""
    model = ScriptedLlm(turns=[*CALLS, Call("locate", {})])
    billing = LlmAgent(
        name="billing",
        model=ScriptedLlm(turns=["Paid."]),
        description="Bills.",
        tools=[RawTool("look_up", {"type": "object", "properties": {"invoice": {"type": "string"}}})],
    )
    outline = LlmAgent(
        name="outline",
        model=ScriptedLlm(turns=['{"title": "All"}']),
        description="Outlines.",
        mode="single_turn",
        output_schema=Summary,
    )
    summarize = LlmAgent(
        name="summarize",
        model=ScriptedLlm(turns=['{"title": "All", "length": null}']),
        description="Summarizes.",
        output_schema=Summary,
        tools=[],
    )
    rephrase = LlmAgent(name="rephrase", model=ScriptedLlm(turns=["Everything."]), description="Says it anew.")
    ask = LlmAgent(name="ask", model=ScriptedLlm(turns=["?"]), description="Asks.", input_schema=Request)
    return LlmAgent(
        name="root",
        model=model,
        tools=[
            get_weather,
            list_stays,
            categories,
            look_up,
            either,
            nothing,
            untyped,
            stepwise,
            stream_model,
            stream_events,
            LongRunningFunctionTool(file_ticket),
            RawTool("x.raw-1", HOSTILE, {"type": "array", "items": {"type": "string"}}, ["a"]),
            RawTool("with_schema", GENAI, types.Schema(type=types.Type.OBJECT, properties={}), {"ok": True}),
            FakeMcpToolset(tool_name_prefix="shop"),
            OpenAPIToolset(spec_dict=SHOP, allow_private_network_access=True),
            AgentTool(summarize),
            AgentTool(rephrase),
            AgentTool(ask),
            client_tool("locate", "Where the user is.", output_schema=LOCATION),
        ],
        sub_agents=[billing, outline],
    )
