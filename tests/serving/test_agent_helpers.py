"""Helpers for the code of agents: tools that only the page has, and an app's own data parts."""

from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.tools.tool_context import ToolContext
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from stream_protocol.agents import client_tool, data_part, emit_data
from stream_protocol.serving import ChatService, create_app
from stream_protocol.testing import Call, ScriptedLlm
from tests.serving.support import answered, chat, only, said, stream, text, types

SCHEMA = {"type": "object", "properties": {"exact": {"type": "boolean"}}, "required": ["exact"]}


async def test_the_model_reads_the_schema_and_the_page_gives_the_output() -> None:
    model = ScriptedLlm(turns=[Call("locate", {"exact": True}), "You are at home."])
    agent = LlmAgent(name="root", model=model, tools=[client_tool("locate", "Where the user is.", SCHEMA)])
    app = create_app(ChatService(agent))
    first = await stream(app, chat(said("where am I?")))
    (call,) = only(first, "tool-input-available")
    assert call["input"] == {"exact": True}
    assert (types(first)[-1], first[-1]["finishReason"]) == ("finish", "tool-calls")
    declared = model.requests[0].config.model_dump(exclude_none=True)["tools"][0]["function_declarations"]
    assert declared == [{"name": "locate", "description": "Where the user is.", "parameters_json_schema": SCHEMA}]
    output = {"type": "tool-locate", "state": "output-available", "input": {}, "output": "home"}
    second = await stream(app, answered(first[0]["messageId"], {**output, "toolCallId": call["toolCallId"]}))
    assert text(second) == "You are at home."
    assert [chunk["output"] for chunk in only(second, "tool-output-available")] == ["home"]


@pytest.mark.parametrize("schema", [{}, {"type": "string"}, {"properties": {}}])
def test_a_schema_that_is_no_objects_is_refused(schema: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="the schema of the client tool `locate` must be of type object"):
        client_tool("locate", "Where the user is.", schema)


async def test_a_tool_without_arguments_needs_no_schema() -> None:
    model = ScriptedLlm(turns=[Call("locate", {})])
    agent = LlmAgent(name="root", model=model, tools=[client_tool("locate", "Where the user is.")])
    first = await stream(create_app(ChatService(agent)), chat(said("where am I?")))
    assert [chunk["input"] for chunk in only(first, "tool-input-available")] == [{}]


async def test_data_from_tools_and_callbacks_becomes_parts() -> None:
    def look(city: str, tool_context: ToolContext) -> str:
        """Looks out of the window."""
        emit_data(tool_context, "weather", {"city": city, "sky": "?"}, id="w")
        emit_data(tool_context, "weather", {"city": city, "sky": "blue"}, id="w")
        emit_data(tool_context, "log", "looked")
        emit_data(tool_context, "log", "looked again")
        return "blue"

    def note(callback_context: CallbackContext) -> None:
        emit_data(callback_context, "done", {"ok": True})

    model = ScriptedLlm(turns=[Call("look", {"city": "Oslo"}), Call("look", {"city": "Rome"}), "Blue."])
    app = create_app(LlmAgent(name="root", model=model, tools=[look], after_agent_callback=note))
    answer = await stream(app, chat(said("hi")))
    data = [chunk for chunk in answer if chunk["type"].startswith("data-")]
    assert data == [
        {"type": "data-weather", "id": "w", "data": {"city": "Oslo", "sky": "?"}},
        {"type": "data-weather", "id": "w", "data": {"city": "Oslo", "sky": "blue"}},
        {"type": "data-log", "data": "looked"},
        {"type": "data-log", "data": "looked again"},
        {"type": "data-weather", "id": "w", "data": {"city": "Rome", "sky": "?"}},
        {"type": "data-weather", "id": "w", "data": {"city": "Rome", "sky": "blue"}},
        {"type": "data-log", "data": "looked"},
        {"type": "data-log", "data": "looked again"},
        {"type": "data-done", "data": {"ok": True}},
    ]


@pytest.mark.parametrize("name", ["", "adk-weather", "the weather", "wetter!", "ä"])
async def test_a_name_that_no_part_can_have_is_refused(name: str) -> None:
    refused: list[Any] = []

    def look(tool_context: ToolContext) -> str:
        """Looks out of the window."""
        with pytest.raises(ValueError, match="name") as raised:
            emit_data(tool_context, name, 1)
        refused.append(raised.value)
        return "blue"

    model = ScriptedLlm(turns=[Call("look", {}), "Blue."])
    answer = await stream(create_app(LlmAgent(name="root", model=model, tools=[look])), chat(said("hi")))
    assert refused
    assert not [chunk for chunk in answer if chunk["type"].startswith("data-")]


class Weather(BaseModel):
    sky: str
    feels_like: float | None = Field(default=None, alias="feelsLike")


class Seat(TypedDict):
    row: int


async def test_a_declared_part_goes_as_its_model_writes_it() -> None:
    weather, seat = data_part("weather", Weather), data_part("seat", Seat)

    def look(tool_context: ToolContext) -> None:
        """Looks."""
        emit_data(tool_context, weather, Weather(sky="blue"), id="w")
        emit_data(tool_context, weather, {"sky": "grey", "feelsLike": 1}, id="w")
        emit_data(tool_context, seat, {"row": 1})

    model = ScriptedLlm(turns=[Call("look", {}), "Done."])
    answer = await stream(create_app(LlmAgent(name="root", model=model, tools=[look])), chat(said("hi")))
    assert [chunk["data"] for chunk in only(answer, "data-weather")] == [
        {"sky": "blue", "feelsLike": None},
        {"sky": "grey", "feelsLike": 1.0},
    ]
    assert [chunk["data"] for chunk in only(answer, "data-seat")] == [{"row": 1}]


def changed() -> Weather:
    weather = Weather(sky="blue")
    weather.sky = 5  # type: ignore[assignment]  # what is not checked where it happens
    return weather


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        ({}, "sky: Field required"),
        (
            {"sky": 1, "feelsLike": "warm"},
            "sky: Input should be a valid string; feelsLike: Input should be a valid num",
        ),
        (["blue"], "data: Input should be a valid dictionary or instance of Weather"),
        (changed(), "Expected `str`"),
    ],
)
def test_data_that_is_not_of_the_declared_model_is_refused(data: Any, fault: str) -> None:
    with pytest.raises(ValueError, match="the data of the part `weather` is no Weather: ") as refused:
        data_part("weather", Weather).to_json(data)
    assert fault in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("name", ["", "a b", "adk-agent", "ü"])
def test_a_part_is_declared_under_a_name_that_can_be_sent(name: str) -> None:
    with pytest.raises(ValueError, match="`name` must be letters, digits"):
        data_part(name, Weather)
