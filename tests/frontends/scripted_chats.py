"""Agent for any frontend. Its reply depends on the user's message. Also records its requests and the stored chats."""

import asyncio
import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias
from uuid import uuid4

import httpx
from google.adk.agents import LlmAgent
from google.adk.models.llm_request import LlmRequest
from google.adk.tools import FunctionTool, ToolContext, request_input
from google.genai.types import FileData, Part
from starlette.types import ASGIApp, Receive, Scope, Send

from stream_protocol.agents import client_tool
from stream_protocol.demo._question import Question, read_question
from stream_protocol.serving import ChatService, create_app
from stream_protocol.session import TruncatedHistory
from stream_protocol.testing import Call, ScriptedLlm, Step, Thought, Wait, token_usage, web_sources
from stream_protocol.wire import AiSdkVersion
from tests.frontends.foreign_site import naming
from tests.served import served

Said: TypeAlias = tuple[str, str]
"""Author (``user`` or ``assistant``) and text."""

STORY: Final = ("Once upon a time there was a stream,", " and it reached the sea.")
"""Texts before and after the test lets the model continue."""

LONG: Final = "".join(f"Paragraph {number}: the train stood longer than it should.\n\n" for number in range(40))


async def pay(amount: float) -> dict[str, float]:
    """Pays. The user is asked for approval first."""
    return {"paid": amount}


async def reserve_seat(tool_context: ToolContext) -> dict[str, Any]:
    """Reserves a seat. The user is asked which."""
    answer = tool_context.tool_confirmation
    if answer is None:
        tool_context.request_confirmation(hint="Which seat?", payload={"seat": "12A"})
        return {"status": "The user is choosing a seat."}
    return {"reserved": answer.payload if answer.confirmed else None}


@dataclass
class Script:
    """Script of the agent."""

    asked: list[list[Said]] = field(default_factory=list)
    """Texts in each request to the model."""
    held: asyncio.Event = field(default_factory=asyncio.Event)
    loop: asyncio.AbstractEventLoop | None = None
    failed: set[str] = field(default_factory=set)

    def go_on(self) -> None:
        """Let each unfinished story end. The next story waits again."""
        held, self.held = self.held, asyncio.Event()
        if self.loop is not None:
            self.loop.call_soon_threadsafe(held.set)

    def respond(self, request: LlmRequest) -> list[Step]:
        self.loop = asyncio.get_running_loop()
        self.asked.append(
            [
                ("user" if content.role == "user" else "assistant", part.text)
                for content in request.contents
                for part in content.parts or []
                if part.text and not part.thought
            ]
        )
        return [*self._answer(read_question(request)), token_usage(prompt=10, answer=5)]

    def _answer(self, question: Question) -> Sequence[Step]:
        answers = question.results
        match question.text.split()[0].lower() if question.text else "":
            case "story":
                return [STORY[0], Wait(self.held), STORY[1]]
            case "think":
                thought = Thought("Let me think about it.", signature=b"s")
                return [thought, "I have thought.", web_sources({"https://rivers.example/": "All rivers"})]
            case "pay" if "pay" in answers:
                return [f"Done: {answers['pay'].get('paid')}."]
            case "pay":
                return [Call("pay", {"amount": 5.0})]
            case "seat" if answers.get("reserve_seat", {}).get("reserved"):
                return [f"You sit on {answers['reserve_seat']['reserved']['seat']}."]
            case "seat":
                return [] if answers else [Call("reserve_seat", {})]
            case "time" if "get_time_zone" in answers:
                return [f"Your zone is {answers['get_time_zone'].get('timeZone')}."]
            case "time":
                return [Call("get_time_zone", {})]
            case "ask" if answers:
                return ["A good choice."]
            case "ask":
                return [Call("adk_request_input", {"message": "Which city?", "response_schema": {"type": "string"}})]
            case "files":
                return ["; ".join(f"{file.mime_type}, {len(file.data or b'')} bytes" for file in question.files)]
            case "fail" if question.text not in self.failed:
                self.failed.add(question.text)
                return ["I begin", ConnectionError("The model is not there.")]
            case "long":
                return [LONG]
            case "name":
                site = question.text.split()[1]
                picture = FileData(file_uri=f"{site}/file.png", mime_type="image/png")
                return [Thought(naming(site)), naming(site), Part(file_data=picture), "Named."]
        return [f"You said: {question.text}"]


@dataclass
class Histories:
    """The app, which holds requests for stored chats while ``released`` is not set."""

    app: ASGIApp
    released: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.released.set()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the requests for stored chats until the end of the block."""
        self.released.clear()
        try:
            yield
        finally:
            self.released.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] == "GET" and re.fullmatch("/api/chat/[^/]+", scope["path"]):
            await asyncio.to_thread(self.released.wait)
        await self.app(scope, receive, send)


@dataclass(frozen=True)
class Backend:
    """Server of this agent."""

    url: str
    script: Script
    histories: Histories

    def begin_chat(self, words: str) -> None:
        """Begin a chat with this message, as another tab."""
        message = {"id": "u1", "role": "user", "parts": [{"type": "text", "text": words}]}
        chat = {"id": str(uuid4()), "messages": [message]}
        httpx.post(f"{self.url}/api/chat", json=chat).raise_for_status()

    def stored(self, chat_id: str) -> list[Said]:
        """Return the texts of each message in the chat's history."""
        return [
            (message["role"], "".join(part["text"] for part in message["parts"] if part["type"] == "text"))
            for message in self._history(chat_id)
        ]

    def stored_calls(self, chat_id: str) -> list[str]:
        """Return the states of the calls in the chat's history."""
        parts = [part for message in self._history(chat_id) for part in message["parts"]]
        return [part["state"] for part in parts if "toolCallId" in part]

    def _history(self, chat_id: str) -> list[dict[str, Any]]:
        messages: list[dict[str, Any]] = (
            httpx.get(f"{self.url}/api/chat/{chat_id}").raise_for_status().json()["messages"]
        )
        return messages


@contextmanager
def serving_scripted_chats(
    *, truncated_history: TruncatedHistory = "append", ai_sdk: AiSdkVersion = 7
) -> Iterator[Backend]:
    """Serve the agent with the options of a new project, or with those of a kit's guide."""
    script = Script()
    agent = LlmAgent(
        name="guide",
        model=ScriptedLlm(respond=script.respond),
        tools=[
            FunctionTool(pay, require_confirmation=True),
            reserve_seat,
            client_tool("get_time_zone", "Tells the user's time zone."),
            request_input,
        ],
    )
    service = ChatService(agent, truncated_history=truncated_history, ai_sdk=ai_sdk)
    histories = Histories(create_app(service, page=False))
    with served(histories) as url:
        yield Backend(url, script, histories)
        script.go_on()
