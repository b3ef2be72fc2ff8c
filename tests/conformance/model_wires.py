"""A chat with a real model adapter, for any provider: the page's messages, and the model's requests."""

import copy
import json
from base64 import b64encode
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Protocol, cast

import httpx
from google.adk.agents import LlmAgent
from google.adk.tools import FunctionTool, LongRunningFunctionTool
from google.genai import types

from stream_protocol import ChatRequest, UIMessage, reduce_chunks
from stream_protocol.serving import ChatService
from stream_protocol.testing import Call, Thought
from stream_protocol.wire.client import parse_sse
from tests.conformance import gemini_replies, openai_replies
from tests.conformance.openai_replies import Reply


class Broken:
    """Marker for a broken connection to the model."""


Item = str | Thought | Call | bytes | Broken
Said = Sequence[Item]
"""One model response. Bytes are a signature in the empty text at the end of a Gemini stream. OpenAI has no signatures.
"""


def get_weather(city: str) -> str:
    """Tells the weather."""
    return f"Sunny in {city}"


def fail() -> dict[str, str]:
    """Fails."""
    return {"error": "No such city."}


def pay(amount: int) -> dict[str, int]:
    """Pays."""
    return {"paid": amount}


def ask_page(question: str) -> None:
    """Is answered by the page."""


def draw() -> types.Part:
    """Draws."""
    return types.Part.from_bytes(data=b"\xfb\xffpixels", mime_type="image/png")


def tools() -> list[Any]:
    gated = FunctionTool(pay, require_confirmation=True)
    return [get_weather, fail, gated, LongRunningFunctionTool(ask_page), draw]


class Wire(Protocol):
    """API of a provider in this process."""

    def agent(
        self, answers: Sequence[Said], requests: list[dict[str, Any]], *, streaming: bool = True
    ) -> AbstractAsyncContextManager[LlmAgent]:
        """Yield an agent whose model sends these responses. ``requests`` collects the model's requests."""

    def history(self, request: dict[str, Any]) -> list[Any]:
        """Return the conversation in a request, with call ids replaced by their order."""

    def check(self, request: dict[str, Any]) -> None:
        """Check that the provider accepts the conversation in a request: results follow their calls directly."""


class GeminiWire:
    """google-genai with the Developer API."""

    @asynccontextmanager
    async def agent(
        self, answers: Sequence[Said], requests: list[dict[str, Any]], *, streaming: bool = True
    ) -> AsyncIterator[LlmAgent]:
        reply = self._streamed if streaming else self._whole
        with gemini_replies.gemini(*map(reply, answers)) as router:
            yield gemini_replies.developer_agent(*tools())
            requests.extend(json.loads(call.request.content) for call in router.calls)

    def _streamed(self, said: Said) -> httpx.Response:
        broken = is_broken(said)
        chunks = [gemini_replies.said(self._part(item)) for item in said if not isinstance(item, Broken)]
        return gemini_replies.reply(*chunks, *([] if broken else [gemini_replies.done()]), broken=broken)

    def _whole(self, said: Said) -> httpx.Response:
        parts = [self._part(item) for item in said if not isinstance(item, Broken)]
        return gemini_replies.whole(*parts, broken=is_broken(said))

    @staticmethod
    def _part(item: str | Thought | Call | bytes) -> dict[str, Any]:
        if isinstance(item, str):
            return {"text": item}
        if isinstance(item, bytes):
            return {"text": "", "thoughtSignature": b64encode(item).decode()}
        signed = {} if item.signature is None else {"thoughtSignature": b64encode(item.signature).decode()}
        if isinstance(item, Thought):
            return {"text": item.text, "thought": True, **signed}
        return {"functionCall": {"name": item.name, "args": dict(item.args or {})}, **signed}

    def history(self, request: dict[str, Any]) -> list[Any]:
        """Return the request's history, without parts that no stream has.

        The empty text at the end of each Gemini stream, and names of files, are missing. The signature of the empty
        text goes to the text before it.
        """
        contents = cast("list[Any]", without(request["contents"], "displayName"))
        for content in contents:
            content["parts"] = self._without_empty_texts(content["parts"])
        return contents

    def check(self, request: dict[str, Any]) -> None:
        """Check calls and results by name, in any order: the Developer API gets no ids."""
        contents = request["contents"]
        assert contents[0]["role"] == "user"
        for before, content in pairwise([{"role": "user", "parts": []}, *contents, {"role": "user", "parts": []}]):
            calls = [part["functionCall"]["name"] for part in before["parts"] if "functionCall" in part]
            results = [part["functionResponse"]["name"] for part in content["parts"] if "functionResponse" in part]
            assert sorted(calls) == sorted(results)
            assert not results or content["role"] == "user"
            if any("functionCall" in part for part in content["parts"]):
                assert (before["role"], content["role"]) == ("user", "model")
        assert not [part for content in contents for part in content["parts"] if "id" in next(iter(part.values()))]

    @staticmethod
    def _without_empty_texts(parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
        kept: list[dict[str, Any]] = []
        for part in parts:
            if part.get("text") == "":
                kept[-1] |= {key: value for key, value in part.items() if key != "text"}
            else:
                kept.append(part)
        return kept


class OpenAiWire:
    """LiteLlm with an OpenAI-compatible server."""

    @asynccontextmanager
    async def agent(
        self, answers: Sequence[Said], requests: list[dict[str, Any]], *, streaming: bool = True
    ) -> AsyncIterator[LlmAgent]:
        reply = self._streamed if streaming else self._whole
        replies = [reply(said, str(number)) for number, said in enumerate(answers)]
        async with openai_replies.openai_agent(*tools(), replies=replies, requests=requests) as agent:
            yield agent

    @staticmethod
    def _streamed(said: Said, name: str) -> Reply:
        chunks = []
        calls = 0
        for item in said:
            match item:
                case str():
                    chunks.append(openai_replies.delta(content=item))
                case Thought():
                    chunks.append(openai_replies.delta(reasoning_content=item.text))
                case Call():
                    args = json.dumps(dict(item.args or {}))
                    call_id = f"call_{name}_{calls}"
                    chunks.append(openai_replies.piece(args, index=calls, call_id=call_id, name=item.name))
                    calls += 1
        if is_broken(said):
            return openai_replies.streamed(*chunks, broken=True)
        return openai_replies.streamed(*chunks, openai_replies.delta("tool_calls" if calls else "stop"))

    @staticmethod
    def _whole(said: Said, name: str) -> Reply:
        calls = [
            {"name": item.name, "arguments": json.dumps(dict(item.args or {}))}
            for item in said
            if isinstance(item, Call)
        ]
        message: dict[str, Any] = {"content": "".join(item for item in said if isinstance(item, str))}
        if calls:
            message["tool_calls"] = [
                {"id": f"call_{name}_{index}", "type": "function", "function": call} for index, call in enumerate(calls)
            ]
        return openai_replies.whole("tool_calls" if calls else "stop", broken=is_broken(said), **message)

    def history(self, request: dict[str, Any]) -> list[Any]:
        messages = json.dumps(request["messages"])
        ids = [call["id"] for message in request["messages"] for call in message.get("tool_calls") or ()]
        for number, call_id in enumerate(ids):
            messages = messages.replace(f'"{call_id}"', f'"call {number}"')
        history: list[Any] = json.loads(messages)
        return history

    def check(self, request: dict[str, Any]) -> None:
        waiting: list[str] = []
        for message in request["messages"]:
            if message["role"] == "tool":
                waiting.remove(message["tool_call_id"])
                continue
            assert not waiting, "a call without a result"
            waiting = [call["id"] for call in message.get("tool_calls") or ()]
        assert not waiting, "a call without a result"


def is_broken(said: Said) -> bool:
    return any(isinstance(item, Broken) for item in said)


WIRES: dict[str, Wire] = {"google-genai": GeminiWire(), "litellm": OpenAiWire()}


@dataclass
class Page:
    """Client of a chat service: its messages and its requests."""

    service: ChatService
    messages: list[UIMessage] = field(default_factory=list)

    async def say(self, text: str, *files: dict[str, Any]) -> None:
        parts = [*files, {"type": "text", "text": text}]
        self.messages.append(cast("UIMessage", {"id": f"u{len(self.messages)}", "role": "user", "parts": parts}))
        await self._send()

    async def decide(self, *, approved: bool) -> None:
        """Approve or deny the calls that wait for approval."""
        for part in self._tool_parts("approval-requested"):
            part["state"] = "approval-responded"
            part["approval"] |= {"approved": approved}
        await self._send()

    async def answer(self, output: Any) -> None:
        """Send outputs of the page's client tools."""
        for part in self._tool_parts("input-available"):
            part |= {"state": "output-available", "output": output}
        await self._send()

    def _tool_parts(self, state: str) -> list[dict[str, Any]]:
        found = [cast("dict[str, Any]", part) for part in self.messages[-1]["parts"]]
        waiting = [part for part in found if part.get("state") == state and part["type"].startswith("tool-")]
        assert waiting
        return waiting

    async def _send(self) -> None:
        # A copy, since a browser's messages come as JSON, and share no objects.
        request = ChatRequest(id="c1", messages=tuple(copy.deepcopy(self.messages)))
        stream = [event async for event in await self.service.respond(request, user_id="u")]
        continued = self.messages.pop() if self.messages[-1]["role"] == "assistant" else None
        self.messages.append(reduce_chunks(parse_sse(stream), message=continued))


def without(value: Any, key: str) -> Any:
    """Return the JSON value without this key, on all levels."""
    if isinstance(value, dict):
        return {name: without(item, key) for name, item in value.items() if name != key}
    return [without(item, key) for item in value] if isinstance(value, list) else value
