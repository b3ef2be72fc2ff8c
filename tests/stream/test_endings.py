from typing import Any

import pytest
from google.adk.events import Event
from google.genai.types import FinishReason, GenerateContentResponseUsageMetadata

from stream_protocol import adk
from stream_protocol.adk import FINISH_REASONS
from stream_protocol.stream import AgentRunError
from stream_protocol.stream._endings import RunSummary
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


def told_by(**counts: int) -> adk.EventFacts:
    """The facts of an event with these counts."""
    event = Event(author="a", usage_metadata=GenerateContentResponseUsageMetadata.model_validate(counts))
    return adk.read(event)


def usage_of(*told: adk.EventFacts) -> dict[str, Any] | None:
    summary = RunSummary()
    for facts in told:
        summary.add(facts, has_content=False, any_shown=False)
    return summary.usage


def test_usage_that_nobody_told_is_none() -> None:
    assert usage_of() is None


def test_usage_has_the_ai_sdks_names() -> None:
    usage = usage_of(
        told_by(
            prompt_token_count=10,
            tool_use_prompt_token_count=2,
            cached_content_token_count=4,
            candidates_token_count=3,
            thoughts_token_count=5,
            total_token_count=20,
        )
    )
    assert usage == {
        "inputTokens": 12,
        "inputTokenDetails": {"cacheReadTokens": 4},
        "outputTokens": 8,
        "outputTokenDetails": {"reasoningTokens": 5},
        "totalTokens": 20,
    }


def test_a_total_that_was_not_told_is_the_sum() -> None:
    usage = usage_of(told_by(prompt_token_count=1, candidates_token_count=2), told_by())
    assert usage is not None
    assert usage["totalTokens"] == 3
