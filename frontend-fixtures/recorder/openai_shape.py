"""Scenarios in which ADK's LiteLlm reads OpenAI's stream: tool calls are fragments of JSON text."""

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.models.lite_llm import LiteLlm, LiteLLMClient
from litellm.types.utils import ModelResponseStream, StreamingChoices

from recorder.functions import get_weather
from recorder.scenario import Scenario
from recorder.user import say

MODEL = "openai/gpt-scripted"


class _Client(LiteLLMClient):
    """Client of LiteLlm that returns the next prepared stream for each request."""

    def __init__(self, replies: Sequence[Sequence[dict[str, Any]]]) -> None:
        self._replies: Iterator[Sequence[dict[str, Any]]] = iter(replies)

    async def acompletion(
        self, model: Any, messages: Any, tools: Any, **kwargs: Any
    ) -> AsyncIterator[ModelResponseStream]:
        return _stream(next(self._replies))


async def _stream(choices: Sequence[dict[str, Any]]) -> AsyncIterator[ModelResponseStream]:
    for choice in choices:
        yield ModelResponseStream(id="r", created=0, model="gpt-scripted", choices=[StreamingChoices(**choice)])


def _agent(*replies: Sequence[dict[str, Any]]) -> LlmAgent:
    return LlmAgent(name="root", model=LiteLlm(model=MODEL, llm_client=_Client(replies)), tools=[get_weather])


def _text(*pieces: str) -> list[dict[str, Any]]:
    said = [{"delta": {"role": "assistant", "content": piece}} for piece in pieces]
    return [*said, {"delta": {}, "finish_reason": "stop"}]


def _opening(index: int, call_id: str) -> dict[str, Any]:
    function = {"name": "get_weather", "arguments": ""}
    return {"delta": {"tool_calls": [{"index": index, "id": call_id, "type": "function", "function": function}]}}


def _arguments(index: int, piece: str) -> dict[str, Any]:
    return {"delta": {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}}


def _calls(finish: str | None) -> list[dict[str, Any]]:
    fragments = [
        _opening(0, "call_A"),
        _arguments(0, '{"ci'),
        _arguments(0, 'ty":"San '),
        _arguments(0, 'Fran\\u00e7ois"'),
        _arguments(0, "}"),
        _opening(1, "call_B"),
        _arguments(1, '{"city":'),
        _arguments(1, '"Oslo"}'),
    ]
    return [*fragments, {"delta": {}, "finish_reason": finish}] if finish else fragments


def _cut() -> LlmAgent:
    return _agent(
        [_opening(0, "call_A"), _arguments(0, '{"city":"San '), {"delta": {}, "finish_reason": "length"}],
    )


LITELLM = (
    Scenario(
        name="litellm_calls",
        description="LiteLlm: two calls as fragments of JSON text, index-keyed, the id only on the first.",
        build=lambda: _agent(_calls("tool_calls"), _text("Both ", "fine.")),
        turns=[say("weather?")],
    ),
    Scenario(
        name="litellm_calls_without_finish_reason",
        description="The same from a backend that never sends a finish reason.",
        build=lambda: _agent(_calls(None), _text("Both ", "fine.")),
        turns=[say("weather?")],
    ),
    Scenario(
        name="litellm_cut_call",
        description="The token limit cuts a call's JSON: there is no aggregate for it; its input is an error.",
        build=_cut,
        turns=[say("weather?")],
    ),
)
