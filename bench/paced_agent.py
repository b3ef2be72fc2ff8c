"""The agent of both servers of ``bench.load``: it sends chunks at an even pace."""

import asyncio
from collections.abc import AsyncGenerator
from time import monotonic

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.genai import types

COUNTED = types.GenerateContentResponseUsageMetadata(prompt_token_count=1, candidates_token_count=1)


class PacedModel(BaseLlm):
    """Model for messages ``COUNT PER_SECOND``: sends as many chunks, at this rate.

    Each chunk has its number and its due time, such as ``7:5813.042;``, on the machine's monotonic clock. A model that
    is late, because the event loop was blocked, sends the overdue chunks at once.
    """

    model: str = "paced"

    async def generate_content_async(
        self,
        llm_request: LlmRequest,
        stream: bool = False,  # noqa: FBT001, FBT002 - as ADK calls it
    ) -> AsyncGenerator[LlmResponse]:
        (asked,) = llm_request.contents[-1].parts or []
        count, per_second = map(int, (asked.text or "").split())
        start, said = monotonic(), ""
        for number in range(count):
            due = start + number / per_second
            await asyncio.sleep(due - monotonic())
            text = f"{number}:{due:.6f};"
            said += text
            yield LlmResponse(content=_words(text), partial=True)
        yield LlmResponse(content=_words(said), partial=False, usage_metadata=COUNTED)


def _words(text: str) -> types.Content:
    return types.Content(role="model", parts=[types.Part(text=text)])


root_agent = LlmAgent(name="paced", model=PacedModel())
