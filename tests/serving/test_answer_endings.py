"""The ending of an answer by an adapter's finish reason or error: live, in history, in a replay, and for the app's
``on_error``.
"""

import json
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types
from pydantic import SkipValidation
from typing_extensions import override

from stream_protocol.recording import ChatRecorder, load_recording, replay
from stream_protocol.serving import ChatService, create_app, explain_error
from stream_protocol.stream import AgentRunError
from stream_protocol.wire.client import parse_sse
from tests.comparable_messages import comparable
from tests.serving.chat_client import Page
from tests.serving.support import chat, said, stream

Reason = types.FinishReason


class SaidLlm(BaseLlm):
    """A model whose adapter yields these responses."""

    model: str = "said"
    responses: SkipValidation[Sequence[LlmResponse]] = ()

    @override
    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        for response in self.responses:
            yield response.model_copy(deep=True)


def content(text: str) -> types.Content:
    return types.Content(role="model", parts=[types.Part(text=text)])


HALF = LlmResponse(content=content("Half a text"), partial=True)
FAILED_EVENT = json.dumps({"type": "response.failed", "response": {"error": {"code": "x", "message": "boom"}}})


def whole(**fields: Any) -> list[LlmResponse]:
    """An answer whose aggregate has the text."""
    return [HALF, LlmResponse(content=content("Half a text"), partial=False, **fields)]


def cut(**fields: Any) -> list[LlmResponse]:
    """An answer that no aggregate repeats: the last response has no content."""
    return [HALF, LlmResponse(**fields)]


def reported(reason: Reason, message: str | None) -> dict[str, Any]:
    return {"finish_reason": reason, "error_code": reason.value, "error_message": message}


@dataclass(frozen=True)
class Ending:
    """``ends``: the finish reason, or ``error``. ``sentence``: what ``explain_error`` makes of the error."""

    responses: Sequence[LlmResponse]
    ends: str
    sentence: str = ""


MAX = "Maximum tokens reached"
BROKE = "The model did not finish its answer (boom). Try again."
ENDINGS = {
    # Gemini: the aggregate has the reason as its code, with the candidate's finish message if there is one.
    "Gemini stops": Ending(whole(finish_reason=Reason.STOP), "stop"),
    "Gemini reaches its limit": Ending(whole(**reported(Reason.MAX_TOKENS, None)), "length"),
    "Gemini reaches its limit and says so": Ending(whole(**reported(Reason.MAX_TOKENS, "limit")), "length"),
    "Gemini filters": Ending(whole(**reported(Reason.SAFETY, "unsafe")), "content-filter"),
    "Gemini filters without a word": Ending(whole(**reported(Reason.SAFETY, None)), "content-filter"),
    "Gemini recites": Ending(whole(**reported(Reason.RECITATION, "a poem")), "content-filter"),
    "Gemini cuts for no reason": Ending(whole(**reported(Reason.OTHER, None)), "other"),
    "Gemini breaks off": Ending(whole(**reported(Reason.OTHER, "boom")), "error", BROKE),
    "Gemini writes a bad call": Ending(whole(**reported(Reason.MALFORMED_FUNCTION_CALL, "call(")), "error-reason"),
    "Gemini answers in an unknown language": Ending(whole(**reported(Reason.LANGUAGE, "not yet")), "other"),
    "Gemini gives no reason": Ending(whole(), "stop"),
    # LiteLLM: a reason that it does not know has a message of ADK's.
    "LiteLLM reaches its limit": Ending(whole(**reported(Reason.MAX_TOKENS, MAX)), "length"),
    "LiteLLM filters": Ending(whole(**reported(Reason.SAFETY, "Finished with SAFETY")), "content-filter"),
    "LiteLLM ends otherwise": Ending(
        whole(**reported(Reason.OTHER, "Finished with OTHER")),
        "error",
        "The model did not finish its answer (Finished with OTHER). Try again.",
    ),
    # OpenAI's Responses: the stream ends in an event that says what failed, or in a status.
    "Responses fail": Ending(cut(**reported(Reason.OTHER, FAILED_EVENT)), "error", BROKE),
    "Responses fail in whole": Ending(whole(**reported(Reason.OTHER, '{"message": "boom"}')), "error", BROKE),
    "Responses are cancelled": Ending(whole(**reported(Reason.OTHER, None)), "other"),
    "Responses reach their limit": Ending(
        whole(**reported(Reason.MAX_TOKENS, '{"reason": "max_output_tokens"}')), "length"
    ),
    # OpenAI's chat and Apigee: no code where there is content.
    "chat reaches its limit": Ending(whole(finish_reason=Reason.MAX_TOKENS), "length"),
    "chat filters": Ending(whole(finish_reason=Reason.SAFETY), "content-filter"),
    "chat ends otherwise": Ending(whole(finish_reason=Reason.FINISH_REASON_UNSPECIFIED), "other"),
    "chat has no choices": Ending(
        cut(**reported(Reason.OTHER, "OpenAI response contained no choices.")),
        "error",
        "The model did not finish its answer (OpenAI response contained no choices.). Try again.",
    ),
    "chat ends otherwise and without content": Ending(
        cut(**reported(Reason.FINISH_REASON_UNSPECIFIED, "boom")), "error", BROKE
    ),
    # Anthropic: no code at all.
    "Anthropic reaches its limit": Ending(whole(finish_reason=Reason.MAX_TOKENS), "length"),
    "Anthropic refuses": Ending(whole(finish_reason=Reason.SAFETY), "content-filter"),
    # Interactions and live connections: codes of their own.
    "an interaction fails": Ending(
        cut(error_code="UNKNOWN_ERROR", error_message="boom"),
        "error",
        "The agent reported an error: UNKNOWN_ERROR: boom.",
    ),
    "an interaction writes bad arguments": Ending(
        cut(error_code="JSON_PARSE_ERROR", error_message="boom", finish_reason=Reason.STOP),
        "error",
        "The agent reported an error: JSON_PARSE_ERROR: boom.",
    ),
    "a live turn fails": Ending(
        cut(error_code="CASCADE_TURN_FAILED", error_message="boom", turn_complete=True),
        "error",
        "The agent reported an error: CASCADE_TURN_FAILED: boom.",
    ),
    "a live turn is interrupted": Ending(whole(interrupted=True), "other"),
    # Adapters of apps.
    "a message without a code": Ending(whole(error_message="boom"), "error", "The agent reported an error: boom."),
    "a message beside a stop": Ending(whole(finish_reason=Reason.STOP, error_message="boom"), "error", BROKE),
    "a message beside a limit": Ending(whole(finish_reason=Reason.MAX_TOKENS, error_message=MAX), "length"),
    "a code without a message": Ending(
        cut(error_code="OVERLOADED"), "error", "The agent reported an error: OVERLOADED."
    ),
}
each_ending = pytest.mark.parametrize("ending", ENDINGS.values(), ids=ENDINGS)


def terminal(chunks: Sequence[Any]) -> str:
    last = chunks[-1]
    if last["type"] != "finish":
        return str(last["type"])
    reason = last["finishReason"]
    return "error-reason" if reason == "error" else str(reason)


@each_ending
async def test_an_answer_ends_alike_in_each_reading(ending: Ending, tmp_path: Path) -> None:
    seen: list[BaseException] = []

    def on_error(error: BaseException) -> str:
        seen.append(error)
        return explain_error(error)

    agent = LlmAgent(name="root", model=SaidLlm(responses=ending.responses))
    service = ChatService(agent, on_error=on_error, recorder=ChatRecorder(tmp_path / "recorded"))
    app = create_app(service)
    page = Page(app)
    live = await stream(app, chat(said("Hi")))
    page.messages = [said("Hi")]
    page.take(live)

    assert terminal(live) == ending.ends
    assert [type(error) for error in seen] == ([AgentRunError] if ending.ends == "error" else [])
    assert live[-1].get("errorText", "") == ending.sentence
    assert [part["text"] for part in page.messages[-1]["parts"] if part["type"] == "text"] == ["Half a text"]
    assert comparable(await page.stored()) == comparable(page.messages)

    (recorded,) = (tmp_path / "recorded").iterdir()
    assert terminal(list(parse_sse(replay(load_recording(recorded))))) == ending.ends
    session = await service.runner.session_service.get_session(app_name="root", user_id="local", session_id="c1")
    assert session is not None
    (tmp_path / "session.json").write_text(session.model_dump_json(by_alias=True, exclude_none=True))
    stored = load_recording(tmp_path / "session.json")
    assert terminal(list(parse_sse(replay(stored)))) == ending.ends


async def test_what_follows_a_broken_answer_is_a_turn_like_any_other() -> None:
    broken = ENDINGS["Responses fail"].responses
    agent = LlmAgent(name="root", model=SaidLlm(responses=broken))
    app = create_app(ChatService(agent))
    page = Page(app)
    await page.send("Hi")
    await page.send("Again")
    assert [message["role"] for message in page.messages] == ["user", "assistant"] * 2
    assert comparable(await page.stored()) == comparable(page.messages)


@pytest.mark.parametrize("quoting", [True, False])
def test_the_message_of_a_provider_is_found_in_what_its_adapter_gives(*, quoting: bool) -> None:
    explain: Callable[[str], str] = lambda message: explain_error(AgentRunError("OTHER", message), quoting=quoting)  # noqa: E731
    told = "boom" if quoting else "OTHER"
    for message in ("boom", FAILED_EVENT, '{"message": "boom"}', '{"error": {"message": "boom"}}'):
        assert explain(message) == f"The model did not finish its answer ({told}). Try again."
    deep = '{"a":' * 5000
    assert explain(deep).startswith("The model did not finish its answer (")
    assert explain('{"message": 3}').startswith("The model did not finish its answer (")
