import math
import random
from typing import Any

import pytest

from stream_protocol.wire import AiSdkVersion, ClientStreamError
from stream_protocol.wire.client._chunk_schema import _data, check_chunk
from tests.batch import batch

BOTH: list[AiSdkVersion] = [6, 7]
CITED: dict[str, Any] = {"type": "source", "sourceType": "url", "id": "s", "url": "u"}


def accepts(chunk: Any, ai_sdk: AiSdkVersion) -> bool:
    try:
        check_chunk(chunk, ai_sdk=ai_sdk)
    except ClientStreamError as error:
        return error.error_class != "AI_TypeValidationError"
    return True


@pytest.mark.parametrize("ai_sdk", BOTH)
@pytest.mark.parametrize(
    "chunk",
    [
        {"type": "start", "messageMetadata": None, "surplus": None},
        {"type": "data-", "data": None},
        {"type": "data-x", "data": 1, "id": "", "transient": False},
        {"type": "text-start", "id": "", "providerMetadata": {"p": {"k": [None]}}},
        {"type": "tool-input-available", "toolCallId": "t", "toolName": "w", "input": None, "toolMetadata": {"a": 1}},
        {"type": "finish", "finishReason": "content-filter"},
    ],
    ids=repr,
)
def test_both_versions_accept(chunk: dict[str, Any], ai_sdk: AiSdkVersion) -> None:
    assert accepts(chunk, ai_sdk)


@pytest.mark.parametrize("ai_sdk", BOTH)
@pytest.mark.parametrize(
    "chunk",
    [
        None,
        [],
        "start",
        {},
        {"type": None},
        {"type": ["start"]},
        {"type": "nonsense"},
        {"type": "data-x"},
        {"type": "data-x", "data": 1, "id": None},
        {"type": "data-x", "data": 1, "transient": 0},
        {"type": "text-start"},
        {"type": "text-start", "id": 1},
        {"type": "text-start", "id": "0", "providerMetadata": None},
        {"type": "text-start", "id": "0", "providerMetadata": {"p": "s"}},
        {"type": "text-start", "id": "0", "providerMetadata": {"p": [1]}},
        {"type": "text-delta", "id": "0", "delta": None},
        {"type": "message-metadata"},
        {"type": "finish", "finishReason": "end_turn"},
        {"type": "finish", "finishReason": None},
        {"type": "tool-input-start", "toolCallId": "t", "toolName": "w", "inputEncoding": "xml"},
        {"type": "tool-input-start", "toolCallId": "t", "toolName": "w", "dynamic": "yes"},
        {"type": "tool-input-available", "toolCallId": "t", "toolName": "w"},
        {"type": "tool-output-available", "toolCallId": "t"},
        {"type": "tool-output-available", "toolCallId": "t", "output": 1, "toolMetadata": []},
    ],
    ids=repr,
)
def test_both_versions_refuse(chunk: Any, ai_sdk: AiSdkVersion) -> None:
    assert not accepts(chunk, ai_sdk)


V7_ONLY: list[dict[str, Any]] = [
    {"type": "reset-step"},
    {"type": "custom", "kind": "x"},
    {"type": "reasoning-file", "url": "u", "mediaType": "m"},
    {"type": "tool-approval-response", "approvalId": "p", "approved": False},
    {"type": "steering-message", "id": "s", "parts": []},
    {"type": "finish", "finishReason": "interrupted"},
]


@pytest.mark.parametrize("chunk", V7_ONLY, ids=repr)
def test_only_v7_accepts(chunk: dict[str, Any]) -> None:
    assert accepts(chunk, 7)
    assert not accepts(chunk, 6)


@pytest.mark.parametrize(
    "keys",
    [
        {"type": "text-end", "id": "0", "citations": None},
        {"type": "text-end", "id": "0", "citations": [{}]},
        {"type": "text-end", "id": "0", "citations": [{"source": {**CITED, "sourceType": "book"}}]},
        {"type": "text-end", "id": "0", "citations": [{"source": {**CITED, "type": "x"}}]},
        {"type": "text-end", "id": "0", "citations": [{"source": CITED, "startIndex": -1}]},
        {"type": "text-end", "id": "0", "citations": [{"source": CITED, "startIndex": 0.5}]},
        {"type": "text-end", "id": "0", "citations": [{"source": CITED, "endIndex": True}]},
        {"type": "tool-approval-request", "approvalId": "p", "toolCallId": "t", "reason": 1},
    ],
    ids=repr,
)
def test_v6_does_not_look_at_what_v7_checks(keys: dict[str, Any]) -> None:
    assert accepts(keys, 6)
    assert not accepts(keys, 7)


@batch(index=[0, -0.0, 1.0, 2**53 - 1, 2.0**53, 10**400, -1, 0.5, math.inf, -math.inf, math.nan, True])
def test_an_index_is_a_whole_number_that_javascript_can_count_to(index: Any) -> None:
    """The client of v7 decides so: its JSON has no ``NaN``, and reads ``1e400`` as an infinity."""
    chunk = {"type": "text-end", "id": "0", "citations": [{"source": CITED, "startIndex": index}]}
    assert accepts(chunk, 7) == (str(index) in {"0", "-0.0", "1.0", "9007199254740991"})


def test_v7_checks_the_parts_of_a_steering_message() -> None:
    file = {"type": "file", "mediaType": "m", "url": "u"}
    good = [{"type": "text", "text": "t"}, {**file, "providerReference": {"p": "r"}}]
    assert accepts({"type": "steering-message", "id": "s", "parts": good}, 7)
    for bad in ("t", {"type": "image"}, {"type": "text"}, {**file, "providerReference": {"p": 1}}):
        assert not accepts({"type": "steering-message", "id": "s", "parts": [bad]}, 7)


def test_the_error_shows_the_chunk_whatever_it_is() -> None:
    with pytest.raises(ClientStreamError) as caught:
        check_chunk({"type": "x", "data": random.Random(1)}, ai_sdk=6)
    assert caught.value.text == 'Type validation failed: Value: {"type":"x","data":null}.'


def test_nothing_is_said_against_a_chunk_that_is_not_refused() -> None:
    with pytest.raises(ValueError, match="not refused"):
        _data.refusal({"data": 1})
