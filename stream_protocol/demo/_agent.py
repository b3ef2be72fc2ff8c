"""The demo agent: a travel guide with a sub-agent for restaurants."""

import os
from typing import Final

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm

from stream_protocol.demo._question import label_chat
from stream_protocol.demo._script import scripted_foodie, scripted_model
from stream_protocol.demo._tools import TOOLS

MODEL: Final = "gemini-flash-latest"

INSTRUCTION = """
You are a travel guide who plans city trips, and you work through tools.
Before you plan a stay, call get_weather and find_hotels in the same turn.
Write every plan with write_itinerary, not as prose. Draw a chart when temperatures are asked for, or export them if a
CSV file is asked for; show_forecast draws the coming days.
Ask with adk_request_input when a choice is the traveller's, with a JSON schema that has a property for each thing that
you need to know. Book only what the traveller wants booked: book_trip and reserve_seat ask for approval by themselves,
and a refusal is final. The page itself answers get_time_zone, get_location and set_theme.
Hand over to the foodie where to eat is asked. If you are asked to fail, say that you can't. Answer in a few sentences,
in Markdown; if all of Markdown is asked for, show a table, code, a formula in $$ and a task list.
"""


def demo_agent() -> LlmAgent:
    """Return the travel guide. Without GOOGLE_API_KEY, its model is a script that calls the same tools."""
    key = bool(os.environ.get("GOOGLE_API_KEY"))
    guide: str | BaseLlm = MODEL if key else scripted_model()
    foodie = LlmAgent(
        name="foodie",
        model=MODEL if key else scripted_foodie(),
        description="Knows where to eat in each city.",
        instruction="You know where to eat. Name two places in two sentences.",
        # The guide gets the user's next message.
        disallow_transfer_to_parent=True,
        disallow_transfer_to_peers=True,
    )
    return LlmAgent(
        name="guide",
        model=guide,
        description="Plans city trips: weather, hotels, itineraries and bookings.",
        instruction=INSTRUCTION,
        tools=[*TOOLS],
        before_model_callback=None if key else label_chat,
        sub_agents=[foodie],
    )
