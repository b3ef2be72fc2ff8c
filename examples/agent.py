"""The agent of which the pages' ``chat-types.ts`` is made: ``adk-ui-stream types examples.agent:root_agent``.

``adk-ui-stream serve examples.agent:root_agent --no-page`` serves it to a page.
"""

from google.adk.agents import LlmAgent
from google.adk.tools import FunctionTool, ToolContext
from pydantic import BaseModel, Field

from stream_protocol.serving import client_tool, data_part, emit_data


class Weather(BaseModel):
    """The weather of a city."""

    city: str
    celsius: float
    sky: str = Field(description="In a word or two.")


weather = data_part("weather", Weather)


def get_weather(city: str, tool_context: ToolContext) -> Weather:
    """Tells the weather in a city, and shows it on the page."""
    found = Weather(city=city, celsius=21.5, sky="clear")
    emit_data(tool_context, weather, found, id=city)
    return found


def book_hotel(city: str, nights: int) -> dict[str, str]:
    """Books a hotel. The user is asked for approval first."""
    return {"reference": f"{city[:3].upper()}-{nights}"}


local_time = client_tool(
    "local_time",
    "The user's local time, and their time zone.",
    output_schema={
        "type": "object",
        "properties": {"time": {"type": "string"}, "timeZone": {"type": "string"}},
        "required": ["time", "timeZone"],
    },
)

root_agent = LlmAgent(
    name="assistant",
    model="gemini-2.5-flash",
    instruction="Answer briefly.",
    tools=[get_weather, FunctionTool(book_hotel, require_confirmation=True), local_time],
)
