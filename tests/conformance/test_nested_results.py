"""The result of an ``AgentTool`` whose agent streams equals the result without streaming, over real model adapters."""

from collections.abc import Sequence
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.tools import AgentTool

from stream_protocol.serving import ChatService
from stream_protocol.testing import Call, ScriptedLlm, Thought
from tests.conformance.model_wires import WIRES, Page, Said, Wire

pytestmark = [
    pytest.mark.filterwarnings("ignore:The `plugins` argument is deprecated:DeprecationWarning"),  # of ADK's AgentTool
    pytest.mark.filterwarnings("ignore:Accessing the .model_(computed_)?fields. attribute"),  # litellm does
]

REPLIES: dict[str, Sequence[Said]] = {
    "text in fragments": [["Clear", " skies", ", 18 °C.\n", "Take 🧥."]],
    "thoughts before the text": [[Thought("Which "), Thought("city?"), "Clear ", "skies."]],
    "a tool between two texts": [["Let me ", "see.", Call("get_weather", {"city": "Oslo"})], ["Sunny", " in Oslo."]],
    "two tools at once": [[Call("get_weather", {"city": "Oslo"}), Call("fail", {})], ["One ", "failed."]],
    "one fragment": [["Yes."]],
    "lines and spaces at the ends": [["\n a", "\n", "b \n"]],
    "JSON": [['{"city": ', '"Oslo"}']],
}


@pytest.mark.parametrize("replies", REPLIES.values(), ids=REPLIES)
@pytest.mark.parametrize("wire", WIRES.values(), ids=WIRES)
async def test_the_model_reads_the_same_result_as_without_streaming(wire: Wire, replies: Sequence[Said]) -> None:
    whole, _ = await call_agent(wire, [joined(said) for said in replies], streaming=False)
    streamed, shown = await call_agent(wire, replies, streaming=True)
    assert streamed == whole
    assert shown["metadata"]["result"] == streamed


def joined(said: Said) -> Said:
    """The reply as a model gives it without streaming: fragments of a text are one text."""
    items: list[Any] = []
    for item in said:
        match items, item:
            case [*_, str(text)], str():
                items[-1] = text + item
            case [*_, Thought() as thought], Thought():
                items[-1] = Thought(thought.text + item.text)
            case _:
                items.append(item)
    return items


async def call_agent(wire: Wire, replies: Sequence[Said], *, streaming: bool) -> tuple[Any, Any]:
    """Return the result that the calling model reads, and the output that the client has."""
    model = ScriptedLlm(turns=[Call("helper", {"request": "go"}), "Done."])
    requests: list[dict[str, Any]] = []
    async with wire.agent(replies, requests, streaming=streaming) as agent:
        helper = agent.model_copy(update={"name": "helper", "description": "Helps."})
        root = LlmAgent(name="root", model=model, tools=[AgentTool(helper)])
        page = Page(ChatService(root, nested_agents="nested" if streaming else "flat"))
        await page.say("hi")
    assert requests
    for request in requests:
        wire.check(request)
    parts: list[Any] = page.messages[-1]["parts"]
    (output,) = [part["output"] for part in parts if part["type"] == "tool-helper"]
    last: Any = model.requests[-1].contents[-1]
    return last.parts[0].function_response.response, output
