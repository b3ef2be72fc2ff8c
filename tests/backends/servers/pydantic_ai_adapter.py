"""Server with Pydantic AI: ``VercelAIAdapter.dispatch_request``, with approvals and client tools.

``sdk_version=6`` is for approvals. The model is Pydantic AI's own ``FunctionModel``.
"""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from typing import Any

import uvicorn
from pydantic_ai import Agent, DeferredToolRequests, Tool
from pydantic_ai.messages import BinaryContent, ModelMessage, ModelRequest, UserPromptPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import ExternalToolset
from pydantic_ai.ui.vercel_ai import VercelAIAdapter
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

STORY = "Once upon a time there was a train. " * 15
Step = str | dict[int, DeltaToolCall]


async def respond(messages: list[ModelMessage], _: AgentInfo) -> AsyncIterator[Step]:
    """Yield the model's next reply."""
    last = messages[-1]
    assert isinstance(last, ModelRequest)
    contents = [part.content for part in last.parts if isinstance(part, UserPromptPart)]
    prompts = [str(content) for content in contents]
    files = [item.data.decode() for content in contents for item in content if isinstance(item, BinaryContent)]
    if not prompts:
        yield "Here is what the tool says."
        return
    if files:
        yield files[0]
        return
    words = prompts[-1].lower()
    if "weather" in words:
        yield call("get_weather", {"city": "Oslo"})
    elif "delete" in words:
        yield call("delete_file", {"name": "notes.txt"})
    elif "time zone" in words:
        yield call("get_time_zone", {})
    elif "story" in words:
        for word in STORY.split(" "):
            await asyncio.sleep(0.03)
            yield f"{word} "
    elif "fail" in words:
        yield "I begin, and then"
        raise ConnectionError("The provider has hung up.")
    else:
        yield "Hello. What can I do for you?"


def call(name: str, arguments: dict[str, Any]) -> Step:
    return {0: DeltaToolCall(name=name, json_args=json.dumps(arguments))}


def get_weather(city: str) -> dict[str, Any]:
    """Tells the weather in a city."""
    return {"city": city, "celsius": 21}


def delete_file(name: str) -> dict[str, str]:
    """Deletes a file."""
    return {"deleted": name}


TIME_ZONE = ToolDefinition(
    name="get_time_zone",
    description="Tells the user's time zone.",
    parameters_json_schema={"type": "object", "properties": {}},
)

agent = Agent(
    FunctionModel(stream_function=respond),
    tools=[get_weather, Tool(delete_file, requires_approval=True)],
    toolsets=[ExternalToolset([TIME_ZONE])],
    output_type=[str, DeferredToolRequests],
)


async def chat(request: Request) -> Response:
    """Run the agent: the endpoint of ``useChat``."""
    response: Response = await VercelAIAdapter.dispatch_request(request, agent=agent, sdk_version=6)
    return response


if __name__ == "__main__":
    app = Starlette(routes=[Route("/api/chat", chat, methods=["POST"])])
    uvicorn.run(app, port=int(sys.argv[1]), log_level="error")
