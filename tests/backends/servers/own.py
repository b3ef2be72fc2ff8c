"""Server with this package: ``create_app`` with its defaults, and the scripted model for tests."""

import sys
from collections.abc import Sequence

import uvicorn
from google.adk.agents import LlmAgent
from google.adk.models.llm_request import LlmRequest
from google.adk.tools import FunctionTool

from stream_protocol.agents import client_tool
from stream_protocol.serving import create_app
from stream_protocol.testing import Call, ScriptedLlm, Step, Wait

STORY = "Once upon a time there was a train. " * 15


def respond(request: LlmRequest) -> Sequence[Step]:
    """Return the model's next reply."""
    parts = request.contents[-1].parts or []
    if any(part.function_response for part in parts):
        return ["Here is what the tool says."]
    files = [(part.inline_data.data or b"").decode() for part in parts if part.inline_data]
    if files:
        return files
    words = " ".join(part.text or "" for part in parts).lower()
    if "weather" in words:
        return [Call("get_weather", {"city": "Oslo"})]
    if "delete" in words:
        return [Call("delete_file", {"name": "notes.txt"})]
    if "time zone" in words:
        return [Call("get_time_zone")]
    if "story" in words:
        return [step for word in STORY.split(" ") for step in (f"{word} ", Wait(0.03))]
    if "fail" in words:
        return ["I begin, and then", ConnectionError("The provider has hung up.")]
    return ["Hello. What can I do for you?"]


def get_weather(city: str) -> dict[str, object]:
    """Tells the weather in a city."""
    return {"city": city, "celsius": 21}


def delete_file(name: str) -> dict[str, str]:
    """Deletes a file."""
    return {"deleted": name}


agent = LlmAgent(
    name="assistant",
    model=ScriptedLlm(respond=respond),
    tools=[
        get_weather,
        FunctionTool(delete_file, require_confirmation=True),
        client_tool("get_time_zone", "Tells the user's time zone."),
    ],
)

if __name__ == "__main__":
    uvicorn.run(create_app(agent), port=int(sys.argv[1]), log_level="error")
