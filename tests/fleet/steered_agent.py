"""The fleet's agent, which also waits before each model call that follows a tool, and records its prompts."""

import json
from typing import Final

from google.adk.agents import LlmAgent
from google.adk.agents.readonly_context import ReadonlyContext
from google.adk.models.llm_request import LlmRequest

from stream_protocol.testing import ScriptedLlm, Turn
from tests.fleet import agent
from tests.fleet.agent import FOLDER, Door
from tests.fleet.tool_log import PROMPTS, door_before_call


def respond(request: LlmRequest) -> Turn:
    """Record the user's texts in the prompt, and return the reply of the fleet's agent."""
    by_user = [part for content in request.contents if content.role == "user" for part in content.parts or []]
    with (FOLDER / PROMPTS).open("ab", buffering=0) as file:
        file.write(json.dumps([part.text for part in by_user if part.text]).encode() + b"\n")
    return agent.respond(request)


async def wait_after_tool(context: ReadonlyContext) -> str:
    """Return an empty instruction. ADK asks for it before it calls the plugins and the model."""
    if context.session.events[-1].get_function_responses():
        await Door(door_before_call(context.session.id)).wait()
    return ""


root_agent: Final = LlmAgent(
    name="root", model=ScriptedLlm(respond=respond), tools=agent.root_agent.tools, instruction=wait_after_tool
)
