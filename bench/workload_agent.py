"""Agent that sends as much text as requested, at the requested rate. Its users send ``TOOLS CHUNKS RATE``."""

from typing import Final

from google.adk.agents import LlmAgent
from google.adk.models.llm_request import LlmRequest

from stream_protocol.testing import Call, ScriptedLlm, Step, Turn, Wait

PIECE: Final = "as the crow flies, "
"""Text of one chunk: about five tokens."""


def respond(request: LlmRequest) -> Turn:
    """Call the tool as often as requested, then send the pieces."""
    answered = 0
    for content in reversed(request.contents):
        parts = content.parts or []
        answered += sum(part.function_response is not None for part in parts)
        if content.role == "user" and (text := "".join(part.text or "" for part in parts)):
            tools, chunks, rate = text.split()
            if answered < int(tools):
                return Call("look", {"where": "over there"})
            pause: list[Step] = [Wait(1 / float(rate))] if float(rate) else []
            return [PIECE, *[step for _ in range(int(chunks) - 1) for step in (*pause, PIECE)]]
    raise ValueError("nobody has said anything")


async def look(where: str) -> str:
    """Looks there."""
    return f"nothing to be seen {where}"


root_agent: Final = LlmAgent(name="root", model=ScriptedLlm(respond=respond, cut=lambda text: [text]), tools=[look])
