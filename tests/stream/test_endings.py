import pytest
from google.adk.events import Event
from google.genai.types import FinishReason, GenerateContentResponseUsageMetadata

from stream_protocol import adk
from stream_protocol.adk import FINISH_REASONS
from stream_protocol.stream import AgentRunError
from stream_protocol.stream._endings import Usage
from stream_protocol.wire.client._chunk_schema import check_chunk


def test_every_finish_reason_of_google_genai_is_in_the_table() -> None:
    assert {reason.value for reason in FinishReason} <= set(FINISH_REASONS)


@pytest.mark.parametrize("reason", sorted(set(FINISH_REASONS.values())))
def test_every_reason_is_one_that_all_clients_know(reason: str) -> None:
    check_chunk({"type": "finish", "finishReason": reason}, ai_sdk=6)


@pytest.mark.parametrize(
    ("code", "message", "text"),
    [
        ("UNAVAILABLE", "try later", "UNAVAILABLE: try later"),
        ("UNAVAILABLE", None, "UNAVAILABLE"),
        ("UNAVAILABLE", "", "UNAVAILABLE"),
        (None, "try later", "try later"),
    ],
)
def test_a_failure_says_its_code_and_message(code: str | None, message: str | None, text: str) -> None:
    error = AgentRunError(code, message)
    assert str(error) == text
    assert (error.code, error.message) == (code, message)


def told_by(**counts: int) -> adk.TokenUsage:
    """The usage that an event with these counts tells."""
    event = Event(author="a", usage_metadata=GenerateContentResponseUsageMetadata.model_validate(counts))
    usage = adk.read(event).report(adk.TokenUsage)
    assert usage is not None
    return usage


def test_usage_that_nobody_told_is_none() -> None:
    assert Usage().as_metadata() is None


def test_usage_has_the_ai_sdks_names() -> None:
    usage = Usage()
    usage.add(
        told_by(
            prompt_token_count=10,
            tool_use_prompt_token_count=2,
            cached_content_token_count=4,
            candidates_token_count=3,
            thoughts_token_count=5,
            total_token_count=20,
        )
    )
    assert usage.as_metadata() == {
        "inputTokens": 12,
        "inputTokenDetails": {"cacheReadTokens": 4},
        "outputTokens": 8,
        "outputTokenDetails": {"reasoningTokens": 5},
        "totalTokens": 20,
    }


def test_a_total_that_was_not_told_is_the_sum() -> None:
    usage = Usage()
    usage.add(told_by(prompt_token_count=1, candidates_token_count=2))
    usage.add(told_by())
    told = usage.as_metadata()
    assert told is not None
    assert told["totalTokens"] == 3
