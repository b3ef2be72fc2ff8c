"""OpenAI-compatible server on loopback, and an agent that uses it with ADK's LiteLlm."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.tools.base_tool import BaseTool

MODEL = "gpt-x"


@dataclass(frozen=True)
class Reply:
    """Server's reply to one request."""

    body: bytes
    status: str = "200 OK"
    content_type: str = "application/json"
    broken: bool = False
    """True if the connection is closed before the end of the body."""


def delta(finish: str | None = None, **fields: Any) -> dict[str, Any]:
    """Return one ``chat.completion.chunk``."""
    choice = {"index": 0, "delta": fields, "finish_reason": finish}
    return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": MODEL, "choices": [choice]}


def piece(
    arguments: str,
    *,
    index: int = 0,
    call_id: str | None = None,
    name: str | None = None,
    finish: str | None = None,
) -> dict[str, Any]:
    """Return a chunk with a piece of one tool call's arguments."""
    function = {"arguments": arguments} | ({} if name is None else {"name": name})
    call: dict[str, Any] = {"index": index, "function": function}
    if call_id is not None:
        call |= {"id": call_id, "type": "function"}
    return delta(finish, tool_calls=[call])


def usage(prompt: int, completion: int) -> dict[str, Any]:
    """Return the chunk after the last chunk, which ``stream_options`` can request for the usage."""
    tokens = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
    return {**delta(), "choices": [], "usage": tokens}


def streamed(*chunks: dict[str, Any], broken: bool = False) -> Reply:
    lines = [b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks]
    end = b"" if broken else b"data: [DONE]\n\n"
    return Reply(b"".join([*lines, end]), content_type="text/event-stream", broken=broken)


def whole(finish: str, *, broken: bool = False, **message: Any) -> Reply:
    """Return a ``chat.completion``, the reply to a request without streaming."""
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    tokens = {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}
    body = {"id": "c", "object": "chat.completion", "created": 1, "model": MODEL, "choices": [choice], "usage": tokens}
    return Reply(json.dumps(body).encode(), broken=broken)


def refused(status: str, message: str) -> Reply:
    return Reply(json.dumps({"error": {"message": message, "type": "invalid_request_error"}}).encode(), status)


@asynccontextmanager
async def openai_agent(
    *tools: Callable[..., Any] | BaseTool, replies: list[Reply], requests: list[dict[str, Any]] | None = None
) -> AsyncIterator[LlmAgent]:
    """Yield an agent whose model sends these replies, one for each request. All of them must be used.

    ``requests`` collects the model's requests.
    """
    from google.adk.models.lite_llm import LiteLlm  # noqa: PLC0415 - a slow import

    waiting = list(replies)
    asked = [] if requests is None else requests

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        sent = next(line for line in head.splitlines() if line.startswith("content-length:")).partition(":")[2]
        asked.append(json.loads(await reader.readexactly(int(sent))))
        reply = waiting.pop(0)
        length = len(reply.body) + reply.broken
        fields = f"content-type: {reply.content_type}\r\ncontent-length: {length}\r\nconnection: close"
        writer.write(f"HTTP/1.1 {reply.status}\r\n{fields}\r\n\r\n".encode() + reply.body)
        await writer.drain()
        writer.close()
        await writer.wait_closed()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        model = LiteLlm(
            model=f"openai/{MODEL}",
            api_base=f"http://127.0.0.1:{port}/v1",
            api_key="no-key",
            max_retries=0,
            _skip_mcp_handler=True,  # else litellm wants the `mcp` package to look for tools of its own gateway
        )
        yield LlmAgent(name="assistant", model=model, tools=list(tools))
    assert not waiting
