"""The agent. `adk-ui-stream serve my_package` and `adk web` find `root_agent` here."""

import os

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm
from google.adk.tools import FunctionTool, ToolContext

from my_package.scripted_model import scripted_model

MODEL = "gemini-flash-latest"

INSTRUCTION = "You keep a shopping list, by your tools alone. Answer in one short sentence."


def add_item(item: str, tool_context: ToolContext) -> dict[str, list[str]]:
    """Puts an item on the shopping list."""
    items = [*tool_context.state.get("items", []), item]
    tool_context.state["items"] = items
    return {"items": items}


def show_list(tool_context: ToolContext) -> dict[str, list[str]]:
    """Tells what is on the shopping list."""
    return {"items": tool_context.state.get("items", [])}


def clear_list(tool_context: ToolContext) -> dict[str, list[str]]:
    """Takes everything off the shopping list."""
    tool_context.state["items"] = []
    return {"items": []}


def shopping_agent(model: str | BaseLlm) -> LlmAgent:
    """The agent, with a model by its name or one of a test. The user is asked before the list is cleared."""
    clear = FunctionTool(clear_list, require_confirmation=True)
    return LlmAgent(name="shopper", model=model, instruction=INSTRUCTION, tools=[add_item, show_list, clear])


root_agent = shopping_agent(MODEL if os.environ.get("GOOGLE_API_KEY") else scripted_model(delay=0.05))
