"""Runs of ADK's live (bidirectional) mode. Its connection to Gemini gets the messages of the test."""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.agents.live_request_queue import LiveRequestQueue
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.events import Event
from google.adk.models.base_llm import BaseLlm
from google.adk.models.gemini_llm_connection import GeminiLlmConnection
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.sessions import Session
from google.adk.utils.variant_utils import GoogleLLMVariant
from google.genai import types
from typing_extensions import override

Message = types.LiveServerMessage

NATIVE_AUDIO = "gemini-2.5-flash-native-audio-preview-12-2025"
GEMINI_3 = "gemini-3.1-flash-live-preview"


def content(**fields: Any) -> Message:
    return Message(server_content=types.LiveServerContent(**fields))


def heard(text: str, *, finished: bool | None = None) -> Message:
    """Return a message with the user's text."""
    return content(input_transcription=types.Transcription(text=text, finished=finished))


def spoken(text: str, *, finished: bool | None = None) -> Message:
    """Return a message with the agent's text."""
    return content(output_transcription=types.Transcription(text=text, finished=finished))


def written(text: str, **fields: Any) -> Message:
    return content(model_turn=types.Content(role="model", parts=[types.Part(text=text)]), **fields)


def called(call_id: str) -> Message:
    call = types.FunctionCall(id=call_id, name="look", args={"city": "Oslo"})
    return Message(tool_call=types.LiveServerToolCall(function_calls=[call]))


SOUND = content(
    model_turn=types.Content(
        role="model", parts=[types.Part(inline_data=types.Blob(data=b"\1\0" * 8, mime_type="audio/pcm;rate=24000"))]
    )
)
USED = Message(usage_metadata=types.UsageMetadata(prompt_token_count=5, response_token_count=3, total_token_count=8))
GENERATED = content(generation_complete=True)
INTERRUPTED = content(interrupted=True)
DONE = content(turn_complete=True)


def look(city: str) -> dict[str, Any]:
    """The weather in a city."""
    return {"city": city, "celsius": 18}


class _Connection:
    """Replacement for google-genai's session with the Live API."""

    session_id = "live-1"

    def __init__(self, messages: Sequence[Message]) -> None:
        self._left = list(messages)

    async def receive(self) -> AsyncGenerator[Message, None]:
        while self._left:
            message = self._left.pop(0)
            yield message
            if message.server_content is not None and message.server_content.turn_complete:
                return

    async def send_tool_response(self, **_: Any) -> None:
        """Do nothing: the output of a tool changes no later event."""

    async def close(self) -> None:
        """Do nothing: there is no connection."""


class _LiveLlm(BaseLlm):
    messages: list[Message]

    @override
    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        yield LlmResponse(error_code="LIVE_ONLY")

    @asynccontextmanager
    async def connect(self, _: LlmRequest) -> AsyncIterator[GeminiLlmConnection]:
        session: Any = _Connection(self.messages)
        yield GeminiLlmConnection(session, api_backend=GoogleLLMVariant.GEMINI_API, model_version=self.model)


async def live_run(*messages: Message, model: str = NATIVE_AUDIO) -> tuple[list[Event], Session]:
    """Run the agent in live mode. Returns the run's events, and the stored session."""
    agent = LlmAgent(name="root", model=_LiveLlm(model=model, messages=list(messages)), tools=[look])
    runner = InMemoryRunner(agent, app_name="app")
    await runner.session_service.create_session(app_name="app", user_id="ann", session_id="s")
    config = RunConfig(
        streaming_mode=StreamingMode.BIDI, response_modalities=[types.Modality.AUDIO], save_live_blob=True
    )
    queue = LiveRequestQueue()
    run = runner.run_live(user_id="ann", session_id="s", live_request_queue=queue, run_config=config)
    events = [event async for event in run]
    session = await runner.session_service.get_session(app_name="app", user_id="ann", session_id="s")
    assert session is not None
    return events, session
