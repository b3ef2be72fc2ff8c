"""Server with Vercel's Python package ``ai``: ``to_messages`` and ``to_sse`` in FastAPI, as in its example
``web_agent``.
"""

import asyncio
import base64
import json
import sys
from collections.abc import AsyncGenerator, Sequence
from typing import Any, Literal

import ai
import fastapi
import pydantic
import uvicorn
from fastapi.responses import StreamingResponse

STORY = "Once upon a time there was a train. " * 15


class ScriptedProvider(ai.Provider):  # type: ignore[misc]  # of an environment of its own
    """Model provider that needs no key."""

    provider_class_id: Literal["scripted"] = "scripted"
    name: str = "scripted"
    default_base_url: str = "http://scripted.invalid"

    async def list_models(self) -> list[str]:
        return ["script"]

    def stream(self, model: ai.Model, messages: Sequence[Any], **_: Any) -> AsyncGenerator[Any]:
        """Stream the model's next reply."""
        return answer(messages)


async def answer(messages: Sequence[Any]) -> AsyncGenerator[Any]:
    """Yield the events of the model's next reply."""
    yield ai.events.StreamStart()
    last = messages[-1]
    words = last.text.lower() if last.role == "user" else ""
    files = [text_of(part) for part in last.parts if isinstance(part, ai.messages.FilePart)]
    reason = "stop"
    if last.role == "tool":
        async for event in text("Here is what the tool says."):
            yield event
    elif files:
        async for event in text(files[0]):
            yield event
    elif "weather" in words or "delete" in words:
        reason = "tool_call"
        name = "get_weather" if "weather" in words else "delete_file"
        arguments = {"city": "Oslo"} if "weather" in words else {"name": "notes.txt"}
        for event in call(name, arguments):
            yield event
    elif "story" in words:
        async for event in text(STORY, 0.03):
            yield event
    elif "fail" in words:
        yield ai.events.TextStart(block_id="1")
        yield ai.events.TextDelta(block_id="1", chunk="I begin, and then")
        raise ConnectionError("The provider has hung up.")
    else:
        async for event in text("Hello. What can I do for you?"):
            yield event
    yield ai.events.StreamEnd(finish_reason=reason)


def text_of(file: Any) -> str:
    """Return the text of a file, which is bytes, base64 or a data URL."""
    data = file.data if isinstance(file.data, bytes) else base64.b64decode(file.data.rpartition(",")[2])
    return str(data.decode())


async def text(words: str, seconds: float = 0) -> AsyncGenerator[Any]:
    yield ai.events.TextStart(block_id="1")
    for word in words.split(" "):
        await asyncio.sleep(seconds)
        yield ai.events.TextDelta(block_id="1", chunk=f"{word} ")
    yield ai.events.TextEnd(block_id="1")


def call(name: str, arguments: dict[str, Any]) -> list[Any]:
    part = ai.testing.tool_call(name, **arguments)
    return [
        ai.events.ToolStart(tool_call_id=part.tool_call_id, tool_name=name),
        ai.events.ToolDelta(tool_call_id=part.tool_call_id, chunk=json.dumps(arguments)),
        ai.events.ToolEnd(tool_call_id=part.tool_call_id, tool_call=part),
    ]


async def get_weather(city: str) -> dict[str, Any]:
    """Tells the weather in a city."""
    return {"city": city, "celsius": 21}


async def delete_file(name: str) -> dict[str, str]:
    """Deletes a file."""
    return {"deleted": name}


model = ai.Model(id="script", provider=ScriptedProvider())
agent = ai.Agent(tools=[ai.tool(get_weather), ai.tool(delete_file, require_approval=True)])
app = fastapi.FastAPI()


class ChatRequest(pydantic.BaseModel):
    messages: list[ai.ui.ai_sdk.UIMessage]


@app.post("/api/chat")
async def chat(request: ChatRequest) -> StreamingResponse:
    """Run the agent: the endpoint of ``useChat``."""
    messages, approvals = ai.ui.ai_sdk.to_messages(request.messages)

    async def stream() -> AsyncGenerator[str]:
        async with agent.run(model, messages) as events:
            ai.ui.ai_sdk.apply_approvals(approvals)

            async def deferring() -> AsyncGenerator[Any]:
                async for event in events:
                    if isinstance(event, ai.events.HookEvent) and event.hook.status == "pending":
                        ai.defer_hook(event.hook)
                    yield event

            async for chunk in ai.ui.ai_sdk.to_sse(deferring()):
                yield chunk

    return StreamingResponse(stream(), headers=ai.ui.ai_sdk.UI_MESSAGE_STREAM_HEADERS)


if __name__ == "__main__":
    uvicorn.run(app, port=int(sys.argv[1]), log_level="error")
