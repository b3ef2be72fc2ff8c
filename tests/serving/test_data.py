"""An app's own data parts, from a tool to the page."""

from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.tools.tool_context import ToolContext

from stream_protocol.serving import create_app, emit_data
from stream_protocol.testing import Call, ScriptedLlm
from tests.serving.support import chat, said, stream


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

    model = ScriptedLlm(turns=[[Call("look", {"city": "Oslo"}), Call("look", {"city": "Rome"})], "Blue."])
    app = create_app(LlmAgent(name="root", model=model, tools=[look], after_agent_callback=note))
    answer = await stream(app, chat(said("hi")))
    data = [chunk for chunk in answer if chunk["type"].startswith("data-")]
    assert data == [
        {"type": "data-weather", "id": "w", "data": {"city": "Oslo", "sky": "blue"}},
        {"type": "data-log", "data": "looked"},
        {"type": "data-log", "data": "looked again"},
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
