"""The agent behind the demo page."""

import os
from typing import Final

from google.adk.agents import LlmAgent

from server.agents.script import SUGGESTIONS, scripted_model
from server.agents.tools import TOOLS

__all__ = ["MODEL", "SUGGESTIONS", "demo_agent"]

MODEL: Final = "gemini-flash-latest"

INSTRUCTION = """
You are a travel guide who plans city trips, and you work through tools.
Before you plan a stay, call get_weather and find_hotels in the same turn.
Write every plan with write_itinerary, not as prose. Draw a chart when temperatures are asked for.
Ask with adk_request_input when a choice is the traveller's. Book only what the traveller wants booked: book_trip and
reserve_seat ask for approval by themselves, and a refusal is final. Answer in a few sentences.
"""


def demo_agent() -> LlmAgent:
    """The travel guide: on Gemini if GOOGLE_API_KEY is set, else from a script, with the same tools."""
    model = MODEL if os.environ.get("GOOGLE_API_KEY") else scripted_model()
    return LlmAgent(name="guide", model=model, instruction=INSTRUCTION, tools=[*TOOLS])
