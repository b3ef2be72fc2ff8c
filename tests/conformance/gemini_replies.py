"""Gemini's HTTP API with recorded bytes, for google-genai, and agents that use it."""

import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import respx
from google.adk.agents import LlmAgent
from google.adk.models.google_llm import Gemini
from google.adk.tools.base_tool import BaseTool
from google.genai import Client
from google.genai.types import (
    AutomaticFunctionCallingConfig,
    FunctionCallingConfig,
    GenerateContentConfig,
    HttpOptions,
    ToolConfig,
)
from google.oauth2.credentials import Credentials

MODEL = "gemini-3-pro-preview"
WHOLE = 1 << 20
"""Piece size larger than each reply: the reply comes in one piece."""


def said(*parts: dict[str, Any], finish: str | None = None, **more: Any) -> dict[str, Any]:
    """Return one ``GenerateContentResponse`` of a stream."""
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    if finish is not None:
        candidate["finishReason"] = finish
    usage = {"promptTokenCount": 3, "candidatesTokenCount": 4, "totalTokenCount": 7}
    return {"candidates": [candidate | more], "usageMetadata": usage, "modelVersion": MODEL, "responseId": "r"}


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"text": words, **more}


def call(**fields: Any) -> dict[str, Any]:
    return {"functionCall": fields}


def done(finish: str = "STOP", **part: Any) -> dict[str, Any]:
    """Return the last chunk of a recorded stream."""
    return said(text("", **part), finish=finish)


def reply(*chunks: dict[str, Any], cut: int = WHOLE, broken: bool = False) -> httpx.Response:
    """Return a streamed reply in network pieces of ``cut`` bytes. ``broken``: the connection is reset at its end."""
    body = b"".join(b"data: " + json.dumps(chunk).encode() + b"\r\n\r\n" for chunk in chunks)
    return _response("text/event-stream", body, cut=cut, broken=broken)


def whole(*parts: dict[str, Any], broken: bool = False) -> httpx.Response:
    """Return a reply without streaming. ``broken``: the connection is reset before its end."""
    body = json.dumps(said(*parts, finish="STOP")).encode()
    return _response("application/json", body, broken=broken)


def _response(content_type: str, body: bytes, *, cut: int = WHOLE, broken: bool) -> httpx.Response:
    async def pieces() -> AsyncIterator[bytes]:
        for start in range(0, len(body), cut):
            yield body[start : start + cut]
        if broken:
            raise httpx.ReadError("Connection reset by peer")

    return httpx.Response(200, headers={"content-type": content_type}, content=pieces())


@contextmanager
def gemini(*replies: httpx.Response) -> Iterator[respx.Router]:
    """Send these replies to the model's requests, one for each."""
    with respx.mock(assert_all_called=False) as router:
        router.post(url__regex=r".*:(streamG|g)enerateContent.*").mock(side_effect=list(replies))
        yield router
        assert len(router.calls) == len(replies)


def developer_agent(*tools: Callable[..., Any] | BaseTool) -> LlmAgent:
    """Return an agent that uses the Developer API."""
    return _agent(Client(api_key="no-key", http_options=_httpx()), tools)


def vertex_agent(*tools: Callable[..., Any]) -> LlmAgent:
    """Return an agent on Vertex with streamed arguments."""
    client = Client(
        vertexai=True,
        project="p",
        location="us-central1",
        credentials=Credentials("no-token"),  # type: ignore[no-untyped-call]  # google.oauth2 is not annotated
        http_options=_httpx(),
    )
    config = GenerateContentConfig(
        tool_config=ToolConfig(function_calling_config=FunctionCallingConfig(stream_function_call_arguments=True)),
        automatic_function_calling=AutomaticFunctionCallingConfig(disable=True),
    )
    return _agent(client, tools, config)


def _httpx() -> HttpOptions:
    # google-genai prefers aiohttp, whose requests respx cannot intercept.
    return HttpOptions(httpx_async_client=httpx.AsyncClient())


def _agent(
    client: Client, tools: tuple[Callable[..., Any] | BaseTool, ...], config: GenerateContentConfig | None = None
) -> LlmAgent:
    return LlmAgent(
        name="assistant", model=Gemini(model=MODEL, client=client), tools=list(tools), generate_content_config=config
    )
