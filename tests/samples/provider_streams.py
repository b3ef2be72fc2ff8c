"""HTTP streams of model providers, and the ADK adapters that read them. Each response can be split anywhere."""

import json
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from itertools import chain
from typing import Any, TypeAlias

import anthropic
import httpx
import httpx2
import openai
from google.adk.integrations.openai import OpenAILlm, OpenAIResponsesLlm
from google.adk.models.anthropic_llm import AnthropicLlm
from google.adk.models.base_llm import BaseLlm
from google.adk.models.google_llm import Gemini
from google.adk.models.lite_llm import LiteLlm
from google.genai import Client
from google.genai.types import HttpOptions
from litellm.llms.custom_httpx.http_handler import AsyncHTTPHandler

from tests.conformance import gemini_replies
from tests.conformance.openai_replies import delta, piece, streamed, usage

Replies: TypeAlias = Sequence[Sequence[bytes]]
"""Bodies of the responses, one for each request, each in network pieces."""

MODEL = "some-model"
SSE = {"content-type": "text/event-stream"}


def httpx_client(replies: Replies) -> httpx.AsyncClient:
    waiting = iter(replies)

    def answer(_request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, headers=SSE, content=_flow(next(waiting)))

    return httpx.AsyncClient(transport=httpx.MockTransport(answer))


def httpx2_client(replies: Replies) -> httpx2.AsyncClient:
    waiting = iter(replies)

    def answer(_request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers=SSE, content=_flow(next(waiting)))

    return httpx2.AsyncClient(transport=httpx2.MockTransport(answer))


async def _flow(pieces: Iterable[bytes]) -> AsyncIterator[bytes]:
    for some in pieces:
        yield some


def _openai(replies: Replies) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(
        api_key="no-key", base_url="http://model/v1", http_client=httpx_client(replies), max_retries=0
    )


def openai_chat(replies: Replies) -> BaseLlm:
    return OpenAILlm(model=MODEL, client=_openai(replies))


def openai_responses(replies: Replies) -> BaseLlm:
    return OpenAIResponsesLlm(model=MODEL, client=_openai(replies))


def anthropic_messages(replies: Replies) -> BaseLlm:
    client = anthropic.AsyncAnthropic(
        api_key="no-key", base_url="http://model", http_client=httpx2_client(replies), max_retries=0
    )
    return AnthropicLlm(model="claude-some-model", client=client)


def litellm_openai(replies: Replies) -> BaseLlm:
    return LiteLlm(model=f"openai/{MODEL}", api_key="no-key", client=_openai(replies), _skip_mcp_handler=True)


def litellm_anthropic(replies: Replies) -> BaseLlm:
    handler = AsyncHTTPHandler()
    handler.client = httpx_client(replies)
    return LiteLlm(
        model="anthropic/claude-some-model",
        api_base="http://model",
        api_key="no-key",
        client=handler,
        _skip_mcp_handler=True,
    )


def gemini(replies: Replies) -> BaseLlm:
    client = Client(api_key="no-key", http_options=HttpOptions(httpx_async_client=httpx_client(replies)))
    return Gemini(model=gemini_replies.MODEL, client=client)


def sse(*events: dict[str, Any], newline: str = "\n") -> bytes:
    """Return SSE events that also have their type in the data, as from Anthropic and OpenAI's Responses API."""
    lines = [f"event: {event['type']}{newline}data: {json.dumps(event)}{newline}{newline}" for event in events]
    return "".join(lines).encode()


ASK = [
    delta(role="assistant", content="Hé… "),
    piece("", call_id="call_A", name="look"),
    piece('{"city": "Ro'),
    piece('me"}'),
]


def one_call(index: int, call_id: str | None, *pieces: str) -> list[dict[str, Any]]:
    return [
        piece("", index=index, call_id=call_id, name="look"),
        *(piece(some, index=index) for some in pieces),
    ]


def two_calls(*ids: str | None) -> list[dict[str, Any]]:
    first, second = ids
    rome, paris = one_call(0, first, '{"city": "Ro', 'me"}'), one_call(1, second, '{"city": "Pa', 'ris"}')
    return [*rome, *paris, delta("tool_calls")]


def two_calls_at_a_time() -> list[dict[str, Any]]:
    rome, paris = one_call(0, "call_A", '{"city": "Ro', 'me"}'), one_call(1, "call_B", '{"city": "Pa', 'ris"}')
    return [*chain(*zip(rome, paris, strict=True)), delta("tool_calls")]


OPENAI_CHAT = {
    "text": streamed(delta(role="assistant", content="Hé… "), delta(content="😀."), delta("stop"), usage(3, 4)).body,
    "thinking": streamed(delta(role="assistant", reasoning_content="Hm. "), delta(content="Yes."), delta("stop")).body,
    "text and a call": streamed(*ASK, delta("tool_calls")).body,
    "lines that end otherwise": streamed(*ASK, delta("tool_calls"))
    .body.replace(b"\n", b"\r\n")
    .replace(b"data: [", b": ping\r\n\r\ndata: ["),
    "two calls": streamed(*two_calls("call_A", "call_B")).body,
    "two calls at a time": streamed(*two_calls_at_a_time()).body,
    "two calls under one id": streamed(*two_calls("0", "0")).body,
    "two calls without ids": streamed(*two_calls(None, None)).body,
    "an end that is spelled otherwise": streamed(*ASK, delta("function_call")).body,
    "an end of its own": streamed(*ASK, delta("weird")).body,
    "no end": streamed(*ASK).body,
    "an end on the last piece": streamed(*ASK[:-1], piece('me"}', finish="stop")).body,
}
OPENAI_ANSWER = streamed(delta(role="assistant", content="Sunny."), delta("stop")).body


def _anthropic(*blocks: dict[str, Any], stop: str | None = "end_turn") -> bytes:
    start: dict[str, Any] = {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "content": [],
        "model": "claude",
        "stop_reason": None,
    }
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {**start, "usage": {"input_tokens": 3, "output_tokens": 1}}},
        {"type": "ping"},
    ]
    for index, block in enumerate(blocks):
        *deltas, begin = reversed(list(block.items()))
        events.append({"type": "content_block_start", "index": index, "content_block": begin[1]})
        for kind, pieces in reversed(deltas):
            key = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}
            events += [
                {
                    "type": "content_block_delta",
                    "index": index,
                    "delta": {"type": kind, key.get(kind, "partial_json"): some},
                }
                for some in pieces
            ]
        events.append({"type": "content_block_stop", "index": index})
    if stop is not None:
        events.append({"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 4}})
    return sse(*events, {"type": "message_stop"})


def _said(*pieces: str) -> dict[str, Any]:
    return {"begin": {"type": "text", "text": ""}, "text_delta": pieces}


def _thought(*pieces: str) -> dict[str, Any]:
    begin = {"type": "thinking", "thinking": "", "signature": ""}
    return {"begin": begin, "thinking_delta": pieces, "signature_delta": ["c2ln"]}


def _used(call_id: str, *pieces: str) -> dict[str, Any]:
    begin = {"type": "tool_use", "id": call_id, "name": "look", "input": {}}
    return {"begin": begin, "input_json_delta": pieces}


ANTHROPIC_ASK = [_said("Hé… "), _used("toolu_A", "", '{"city": "Ro', 'me"}')]
ANTHROPIC = {
    "text": _anthropic(_said("Hé… ", "😀.")),
    "thinking": _anthropic(_thought("Hm. ", "So."), _said("Yes.")),
    "text and a call": _anthropic(*ANTHROPIC_ASK, stop="tool_use"),
    "lines that end otherwise": _anthropic(*ANTHROPIC_ASK, stop="tool_use").replace(b"\n", b"\r\n"),
    "two calls": _anthropic(
        _used("toolu_A", '{"city": "Ro', 'me"}'), _used("toolu_B", '{"city"', ': "Paris"}'), stop="tool_use"
    ),
    "two calls under one id": _anthropic(
        _used("0", '{"city": "Ro', 'me"}'), _used("0", '{"city"', ': "Paris"}'), stop="tool_use"
    ),
    "an end that is spelled otherwise": _anthropic(*ANTHROPIC_ASK, stop="end_turn"),
    "an end of its own": _anthropic(*ANTHROPIC_ASK, stop="weird"),
    "no end": _anthropic(*ANTHROPIC_ASK, stop=None),
}
ANTHROPIC_ANSWER = _anthropic(_said("Sunny."))


def _responses(*items: dict[str, Any], status: str = "completed") -> bytes:
    head = {"id": "r", "object": "response", "created_at": 1, "model": MODEL, "parallel_tool_calls": True}
    head |= {"tool_choice": "auto", "tools": []}
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": {**head, "output": [], "status": "in_progress"}}
    ]
    for index, item in enumerate(items):
        at = {"output_index": index, "item_id": item["id"]}
        match item:
            case {"type": "message"}:
                begin = {**item, "content": [], "status": "in_progress"}
                events.append({"type": "response.output_item.added", "output_index": index, "item": begin})
                at |= {"content_index": 0}
                text = item["content"][0]["text"]
                events += [
                    {"type": "response.output_text.delta", **at, "delta": some, "logprobs": []} for some in _cut(text)
                ]
                events.append({"type": "response.output_text.done", **at, "text": text, "logprobs": []})
            case {"type": "function_call"}:
                begin = {**item, "arguments": "", "status": "in_progress"}
                events.append({"type": "response.output_item.added", "output_index": index, "item": begin})
                events += [
                    {"type": "response.function_call_arguments.delta", **at, "delta": some}
                    for some in _cut(item["arguments"])
                ]
                arguments = {"arguments": item["arguments"], "name": item["name"]}
                events.append({"type": "response.function_call_arguments.done", **at, **arguments})
            case {"type": "reasoning"}:
                begin = {**item, "summary": []}
                events.append({"type": "response.output_item.added", "output_index": index, "item": begin})
                text = item["summary"][0]["text"]
                at |= {"summary_index": 0}
                events += [
                    {"type": "response.reasoning_summary_text.delta", **at, "delta": some} for some in _cut(text)
                ]
                events.append({"type": "response.reasoning_summary_text.done", **at, "text": text})
        events.append({"type": "response.output_item.done", "output_index": index, "item": item})
    tokens: dict[str, Any] = {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7}
    tokens |= {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    whole = {**head, "output": list(items), "status": status, "usage": tokens}
    events.append({"type": f"response.{status}", "response": whole})
    return sse(*({**event, "sequence_number": number} for number, event in enumerate(events)))


def _cut(text: str) -> list[str]:
    return [text[: len(text) // 2], text[len(text) // 2 :]]


def _message(text: str) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    return {"id": "msg", "type": "message", "role": "assistant", "status": "completed", "content": [part]}


def _call(call_id: str, city: str) -> dict[str, Any]:
    return {
        "id": f"fc_{city}",
        "type": "function_call",
        "call_id": call_id,
        "name": "look",
        "arguments": json.dumps({"city": city}),
        "status": "completed",
    }


def _reasoning(text: str) -> dict[str, Any]:
    return {"id": "rs", "type": "reasoning", "summary": [{"type": "summary_text", "text": text}]}


OPENAI_RESPONSES = {
    "text": _responses(_message("Hé… 😀.")),
    "thinking": _responses(_reasoning("Hm. So."), _message("Yes.")),
    "text and a call": _responses(_message("Hé… "), _call("call_A", "Rome")),
    "two calls": _responses(_call("call_A", "Rome"), _call("call_B", "Paris")),
    "two calls under one id": _responses(_call("0", "Rome"), _call("0", "Paris")),
}
OPENAI_RESPONSES_ANSWER = _responses(_message("Sunny."))


def _responses_that_fail(last: dict[str, Any]) -> bytes:
    """Return a text that this event breaks off."""
    head = _responses(_message("Hé… 😀.")).split(b"event: response.output_text.done")[0]
    return head + sse(last)


BROKEN_RESPONSES = {
    "an error": _responses_that_fail(
        {"type": "error", "sequence_number": 9, "code": "server_error", "message": "boom", "param": None}
    ),
    "a failed response": _responses_that_fail(
        {
            "type": "response.failed",
            "sequence_number": 9,
            "response": {
                "id": "r",
                "object": "response",
                "created_at": 1,
                "model": MODEL,
                "parallel_tool_calls": True,
                "tool_choice": "auto",
                "tools": [],
                "output": [],
                "status": "failed",
                "error": {"code": "server_error", "message": "boom"},
            },
        }
    ),
}
"""Responses of OpenAI's Responses API that fail in the middle of the text."""

CUT_ANSWERS: dict[str, dict[str, bytes]] = {
    "OpenAILlm": {
        "length": streamed(delta(role="assistant", content="Hé… 😀."), delta("length")).body,
        "content-filter": streamed(delta(role="assistant", content="Hé… 😀."), delta("content_filter")).body,
        "other": streamed(delta(role="assistant", content="Hé… 😀."), delta("weird")).body,
    },
    "AnthropicLlm": {
        "length": _anthropic(_said("Hé… ", "😀."), stop="max_tokens"),
        "content-filter": _anthropic(_said("Hé… ", "😀."), stop="refusal"),
        "other": _anthropic(_said("Hé… ", "😀."), stop="weird"),
    },
}
"""Adapter -> replies that a provider has truncated, by the finish reason on the page."""
CUT_ANSWERS["LiteLlm of OpenAI"] = {reason: CUT_ANSWERS["OpenAILlm"][reason] for reason in ("length", "content-filter")}
CUT_ANSWERS["LiteLlm of Anthropic"] = {
    reason: CUT_ANSWERS["AnthropicLlm"][reason] for reason in ("length", "content-filter")
}


def _gemini(*parts: dict[str, Any]) -> bytes:
    return _gemini_stream(*map(gemini_replies.said, parts), gemini_replies.done())


def _gemini_stream(*chunks: dict[str, Any]) -> bytes:
    return b"".join(b"data: " + json.dumps(chunk).encode() + b"\r\n\r\n" for chunk in chunks)


def _look(city: str, **more: Any) -> dict[str, Any]:
    return gemini_replies.call(name="look", args={"city": city}, **more)


GEMINI = {
    "text": _gemini({"text": "Hé… "}, {"text": "😀."}),
    "thinking": _gemini({"text": "Hm. ", "thought": True}, {"text": "Yes."}),
    "text and a call": _gemini({"text": "Hé… "}, _look("Rome")),
    "two calls": _gemini(_look("Rome", id="a"), _look("Paris", id="b")),
    "two calls without ids": _gemini(_look("Rome"), _look("Paris")),
}
GEMINI_ANSWER = _gemini({"text": "Sunny."})

CUT_ANSWERS["Gemini"] = {
    told: _gemini_stream(gemini_replies.said({"text": "Hé… 😀."}), gemini_replies.done(reason))
    for told, reason in (("length", "MAX_TOKENS"), ("content-filter", "SAFETY"), ("other", "OTHER"))
}

GEMINI_ONE_ID = _gemini(_look("Rome", id="0"), _look("Paris", id="0"))
"""Replies with two calls of one id. ADK takes the second call for a repetition of the first."""

ADAPTERS: dict[str, tuple[Callable[[Replies], BaseLlm], dict[str, bytes], bytes]] = {
    "OpenAILlm": (openai_chat, OPENAI_CHAT, OPENAI_ANSWER),
    "LiteLlm of OpenAI": (litellm_openai, OPENAI_CHAT, OPENAI_ANSWER),
    "OpenAIResponsesLlm": (openai_responses, OPENAI_RESPONSES, OPENAI_RESPONSES_ANSWER),
    "AnthropicLlm": (anthropic_messages, ANTHROPIC, ANTHROPIC_ANSWER),
    "LiteLlm of Anthropic": (litellm_anthropic, ANTHROPIC, ANTHROPIC_ANSWER),
    "Gemini": (gemini, GEMINI, GEMINI_ANSWER),
}
"""Name -> adapter, possible first responses of its model, and its response after a tool."""
