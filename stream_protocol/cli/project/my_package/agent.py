"""The agent. `adk-ui-stream serve my_package` and `adk web` find `root_agent` here."""

import os

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm
from google.adk.tools import FunctionTool, ToolContext
from pydantic import BaseModel

from my_package.scripted_model import scripted_model
from stream_protocol.agents import client_tool, data_part, emit_data

MODEL = "gemini-flash-latest"

INSTRUCTION = "You keep a shopping list, by your tools alone. Answer in one short sentence."

# The page offers these as first messages.
SUGGESTIONS = ["Put milk and tea on my list", "What is on my list?", "What is my time zone?", "Clear my list"]


class ShoppingList(BaseModel):
    """The items to buy."""

    items: list[str]


shopping_list = data_part("shopping-list", ShoppingList)


def add_item(item: str, tool_context: ToolContext) -> dict[str, list[str]]:
    """Puts an item on the shopping list."""
    return _keep([*tool_context.state.get("items", []), item], tool_context)


def show_list(tool_context: ToolContext) -> dict[str, list[str]]:
    """Tells what is on the shopping list."""
    return {"items": tool_context.state.get("items", [])}


def clear_list(tool_context: ToolContext) -> dict[str, list[str]]:
    """Takes everything off the shopping list."""
    return _keep([], tool_context)


def _keep(items: list[str], tool_context: ToolContext) -> dict[str, list[str]]:
    """Store the list in the session, and show it on the page."""
    tool_context.state["items"] = items
    emit_data(tool_context, shopping_list, {"items": items}, id="list")
    return {"items": items}


# This tool runs in the browser. The page returns its output with `addToolOutput` of `useChat`.
get_time_zone = client_tool(
    "get_time_zone",
    "Tells the user's time zone.",
    output_schema={"type": "object", "properties": {"timeZone": {"type": "string"}}, "required": ["timeZone"]},
)


def shopping_agent(model: str | BaseLlm) -> LlmAgent:
    """Return the agent. The user must approve before the list is cleared.

    ``model``: the name of a model, or the model object that a test uses.
    """
    clear = FunctionTool(clear_list, require_confirmation=True)
    return LlmAgent(
        name="shopper",
        model=model,
        description="Keeps your shopping list.",
        instruction=INSTRUCTION,
        tools=[add_item, show_list, clear, get_time_zone],
    )


root_agent = shopping_agent(MODEL if os.environ.get("GOOGLE_API_KEY") else scripted_model(delay=0.05))
