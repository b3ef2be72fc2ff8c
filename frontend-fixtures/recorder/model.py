"""Models with prepared replies, streamed in the form of real models."""

import asyncio
from collections.abc import AsyncGenerator, Iterator, Sequence
from typing import Any, TypeVar

from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.utils.streaming_utils import StreamingResponseAggregator
from google.genai import types
from pydantic import PrivateAttr

MODEL = "gemini-scripted"
USAGE = types.GenerateContentResponseUsageMetadata(
    prompt_token_count=10, candidates_token_count=4, total_token_count=14
)


class Hang:
    """Marker in a reply: from here on the model sends nothing, for ever."""


Chunk = types.GenerateContentResponse
Reply = Sequence[Chunk | Exception | Hang]


class GeminiScript(BaseLlm):
    """Model that passes prepared Gemini responses through ADK's own aggregator. Its fragments and aggregates are like
    Gemini's.
    """

    model: str = MODEL
    _replies: Iterator[Reply] = PrivateAttr()

    def __init__(self, *replies: Reply) -> None:
        super().__init__(model=MODEL)
        self._replies = iter(replies)

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        aggregator = StreamingResponseAggregator()
        for item in _next(self._replies):
            async for fragment in aggregator.process_response(await _said(item)):
                if stream:
                    yield fragment
        whole = aggregator.close()
        if whole is not None:
            yield whole if stream else whole.model_copy(update={"partial": None})


class ResponseScript(BaseLlm):
    """Model that yields prepared ``LlmResponse`` objects unchanged, for the forms of other adapters."""

    model: str = MODEL
    _replies: Iterator[Sequence[LlmResponse]] = PrivateAttr()

    def __init__(self, *replies: Sequence[LlmResponse]) -> None:
        super().__init__(model=MODEL)
        self._replies = iter(replies)

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        for response in _next(self._replies):
            yield response


T = TypeVar("T")


def _next(replies: Iterator[T]) -> T:
    """Return the next reply. Raises an error that is not recorded if the scenario has prepared too few replies."""
    for reply in replies:
        return reply
    raise AssertionError("the model is asked more often than the scenario has replies")


def fragment_of(*parts: types.Part) -> LlmResponse:
    """Return a fragment as other adapters than Gemini's yield it."""
    return LlmResponse(partial=True, content=types.Content(role="model", parts=list(parts)))


def whole_of(*parts: types.Part) -> LlmResponse:
    """Return the complete response after fragments."""
    content = types.Content(role="model", parts=list(parts))
    return LlmResponse(partial=False, content=content, finish_reason=types.FinishReason.STOP)


async def _said(item: Chunk | Exception | Hang) -> Chunk:
    await asyncio.sleep(0)  # parallel branches alternate
    match item:
        case Exception():
            raise item
        case Hang():
            await asyncio.Event().wait()
            raise AssertionError("unreachable")
        case _:
            return item


def chunk(
    *parts: types.Part, finish: types.FinishReason | None = None, usage: bool = False, **candidate: Any
) -> types.GenerateContentResponse:
    """Return one chunk of a Gemini stream."""
    if parts:
        candidate["content"] = types.Content(role="model", parts=list(parts))
    return types.GenerateContentResponse(
        candidates=[types.Candidate(finish_reason=finish, **candidate)],
        usage_metadata=USAGE if usage else None,
        model_version=MODEL,
    )


def end(
    finish: types.FinishReason = types.FinishReason.STOP, signature: bytes | None = None, **candidate: Any
) -> types.GenerateContentResponse:
    """Return the last chunk. From Gemini it is an empty text with the finish reason and the usage."""
    return chunk(types.Part(text="", thought_signature=signature), finish=finish, usage=True, **candidate)


def text(*pieces: str) -> Reply:
    """Return a reply of text in these pieces."""
    return [*(chunk(types.Part(text=piece)) for piece in pieces), end()]


def thought(words: str) -> types.Part:
    return types.Part(text=words, thought=True)


def call(name: str, args: dict[str, Any] | None = None, call_id: str | None = None) -> types.Part:
    return types.Part(function_call=types.FunctionCall(name=name, args=args, id=call_id))


def calls(*parts: types.Part) -> Reply:
    """Return a reply of complete function calls, all in one chunk."""
    return [chunk(*parts), end()]
