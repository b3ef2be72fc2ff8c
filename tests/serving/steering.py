"""App whose tools and models wait for the test, and its client that steers."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.events import Event
from google.adk.models import LlmRequest, LlmResponse
from google.adk.tools.function_tool import FunctionTool
from starlette.types import ASGIApp
from typing_extensions import override

from stream_protocol.serving import Target, create_app
from stream_protocol.testing import ScriptedLlm
from stream_protocol.wire.client import MessageReducer
from tests.serving.instrumented import InstrumentedService
from tests.serving.support import HANG, Exchange, chunks, client, said


class ReadLlm(ScriptedLlm):
    """Scripted model that records its inputs: for each call the texts and results, in order."""

    read: list[list[str]] = []  # noqa: RUF012 - pydantic copies it

    @override
    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        read = [_text(part) for content in llm_request.contents for part in content.parts or ()]
        self.read.append([text for text in read if text])
        async for response in super().generate_content_async(llm_request, stream):
            yield response


def _text(part: Any) -> str:
    if part.function_call is not None:
        return f"call {part.function_call.name}"
    if part.function_response is not None:
        return f"result {part.function_response.name}"
    return str(part.text)


class SteeredApp:
    """Service, its model, and a tool that waits for the test."""

    def __init__(self, *turns: Any, **options: Any) -> None:
        self.digging, self.may_end = asyncio.Event(), asyncio.Event()
        self.model = ReadLlm(turns=turns)
        tools: list[Any] = [self.dig, FunctionTool(self.pay, require_confirmation=True)]
        self.agent = LlmAgent(name="root", model=self.model, tools=tools)
        self._options = options
        self.use(self.agent)

    def use(self, target: Target) -> None:
        """Serve another agent."""
        self.service = InstrumentedService(target, **self._options)
        self.app = create_app(self.service)

    async def accepted(self, number: int) -> None:
        """Wait until so many messages are stored as accepted."""
        async with asyncio.timeout(HANG):
            while sum("accepted" in str(event.custom_metadata) for event in await self.stored()) < number:  # noqa: ASYNC110 - in the store
                await asyncio.sleep(0.01)

    async def dig(self) -> str:
        """Digs."""
        self.digging.set()
        await self.may_end.wait()
        return "dug"

    async def pay(self, amount: int) -> dict[str, int]:
        """Pays."""
        return {"paid": amount}

    async def steer(self, text: str, message_id: str = "s1", chat_id: str = "c1") -> dict[str, Any]:
        return await steer(self.app, text, message_id, chat_id)

    async def stored(self, chat_id: str = "c1") -> list[Event]:
        service = self.service.runner.session_service
        session = await service.get_session(app_name="root", user_id="local", session_id=chat_id)
        assert session is not None
        return session.events

    async def history(self, chat_id: str = "c1") -> list[dict[str, Any]]:
        async with client(self.app) as http:
            messages: list[dict[str, Any]] = (await http.get(f"/api/chat/{chat_id}")).json()["messages"]
            return messages


async def steer(app: ASGIApp, text: str, message_id: str = "s1", chat_id: str = "c1") -> dict[str, Any]:
    """Steer, and return the outcome, which must not be a refusal."""
    async with client(app) as http:
        response = await http.post(f"/api/chat/{chat_id}/steer", json=said(text, message_id))
    assert response.status_code == 200, response.text
    outcome: dict[str, Any] = response.json()
    return outcome


async def rest(answer: Exchange) -> list[dict[str, Any]]:
    """Return the chunks of a response up to its end."""
    events = []
    while event := await answer.event():
        events.append(event)
    return chunks("\n\n".join([*events, ""]))


def folded(stream: list[Any], ai_sdk: Any = 6) -> Any:
    reducer = MessageReducer(ai_sdk=ai_sdk)
    for chunk in stream:
        reducer.apply(chunk)
    return reducer.message
