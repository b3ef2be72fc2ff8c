"""Excludes the objects that a server loads at its start from garbage collection. During a collection, all chats wait,
so a collection must be short.
"""

import gc
from collections.abc import AsyncGenerator
from typing import Final

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.genai import types

from stream_protocol.serving import ChatService
from stream_protocol.serving.run_logs import MemoryRunLog
from stream_protocol.wire import parse_chat_request

NAME: Final = "startup"
"""The name of the agent, user and chat in the warm-up run, as traces show it."""

TOKENS: Final = types.GenerateContentResponseUsageMetadata(prompt_token_count=1, candidates_token_count=1)

THRESHOLDS: Final = (10_000, 3, 10)
"""Arguments of ``gc.set_threshold``: see docs/performance.md. ADK keeps about 16 objects for each chunk until the run
ends.

With Python's default of 700, the collector scans these objects every 40 chunks, and frees almost none of them. With a
second threshold of 10, a single scan would visit 100,000 objects and take 40 ms.
"""


async def tune_gc() -> None:
    """Loads the modules that a run needs. Then excludes all existing objects from garbage collection.

    ADK loads about 200,000 objects, which stay until the process ends. Each full collection would scan them for 100 ms
    or more, while all chats wait. ADK loads many modules only at its first run. So this function runs an agent with a
    fake model, in memory.

    Afterwards, a collection starts after 10,000 new objects (``gc.set_threshold``). If the process already has a higher
    threshold, or automatic collection is off, this setting is not changed.

    Call ``tune_gc`` in the lifespan of your app, after your agents are loaded. The call blocks for up to a second.
    ``adk-ui-stream serve`` calls ``tune_gc`` before it accepts connections.
    """
    await _run_once()
    gc.collect()
    gc.freeze()
    if 0 < gc.get_threshold()[0] < THRESHOLDS[0]:
        gc.set_threshold(*THRESHOLDS)


async def _run_once() -> None:
    service = ChatService(LlmAgent(name=NAME, model=_StartupModel(), tools=[_tool]), run_log=MemoryRunLog())
    message = {"id": "1", "role": "user", "parts": [{"type": "text", "text": "Hello."}]}
    request = parse_chat_request({"id": NAME, "messages": [message]})
    async for _ in await service.respond(request, user_id=NAME):
        pass
    await service.history(NAME, user_id=NAME)
    await service.aclose()


class _StartupModel(BaseLlm):
    """Fake model of the warm-up run. Calls the tool, then streams a text."""

    model: str = NAME

    async def generate_content_async(
        self,
        llm_request: LlmRequest,
        stream: bool = False,  # noqa: FBT001, FBT002 - as ADK calls it
    ) -> AsyncGenerator[LlmResponse]:
        last = llm_request.contents[-1].parts or []
        if any(part.function_response for part in last):
            for partial in (True, False):
                text = types.Content(role="model", parts=[types.Part(text="Hello.")])
                yield LlmResponse(content=text, partial=partial, usage_metadata=TOKENS)
        else:
            call = types.FunctionCall(name=_tool.__name__, args={})
            yield LlmResponse(
                content=types.Content(role="model", parts=[types.Part(function_call=call)]), usage_metadata=TOKENS
            )


def _tool() -> str:
    """The tool of the warm-up run."""
    return ""
