"""Compares the auto-send decision of ``wire/client`` with the helpers of the real ``ai`` package."""

import random
from typing import Any

import pytest

from stream_protocol.wire import SSE_DONE, encode_sse
from stream_protocol.wire.client import may_resend
from tests.conformance.node_scripts import run_script
from tests.serving.eager_page import PREDICATES

CASES = 600
STATES = [
    "input-streaming",
    "input-available",
    "approval-requested",
    "approval-responded",
    "output-available",
    "output-available",
    "output-error",
    "output-denied",
]


def random_part(rng: random.Random) -> dict[str, Any]:
    match rng.randrange(5):
        case 0:
            return {"type": "step-start"}
        case 1:
            return {"type": rng.choice(["text", "reasoning"]), "text": "", "state": rng.choice(["streaming", "done"])}
    part: dict[str, Any] = {"type": rng.choice(["tool-w", "dynamic-tool"]), "toolName": "w", "toolCallId": "t"}
    part["state"] = state = rng.choice(STATES)
    if state.startswith("approval") or rng.random() < 0.2:
        part["approval"] = {"id": "a", **({"approved": rng.random() < 0.7} if state != "approval-requested" else {})}
    for flag in ("providerExecuted", "preliminary"):
        if rng.random() < 0.15:
            part[flag] = True
    return part


@pytest.mark.node
def test_a_message_is_sent_when_the_real_predicates_send_it(rng: random.Random) -> None:
    parts = [[random_part(rng) for _ in range(rng.randrange(6))] for _ in range(CASES)]
    asked: list[dict[str, Any]] = [
        {"ai": version, "messages": [{"id": "m", "role": "assistant", "parts": some}]}
        for version in (6, 7)
        for some in parts
    ]
    for case, theirs in zip(asked, run_script("auto-send.mjs", asked), strict=True):
        assert {name: sends(case["messages"][0]["parts"]) for name, sends in PREDICATES.items()} == theirs, case


CALLED: list[Any] = [
    {"type": "start", "messageId": "m"},
    {"type": "start-step"},
    {"type": "tool-input-available", "toolCallId": "t", "toolName": "f", "input": {}},
    {"type": "tool-output-available", "toolCallId": "t", "output": 1},
    {"type": "finish-step"},
]
ENDINGS: list[Any] = [
    {"type": "finish"},
    {"type": "finish", "finishReason": "tool-calls"},
    {"type": "finish", "finishReason": "interrupted"},
    {"type": "abort"},
    {"type": "error", "errorText": "no"},
    None,
]


@pytest.mark.node
def test_the_real_clients_send_again_after_the_endings_of_the_rule() -> None:
    bodies = [b"".join([*map(encode_sse, [*CALLED, *([ending] if ending else [])]), SSE_DONE]) for ending in ENDINGS]
    sent = run_script("send-again.mjs", [{"body": body.decode()} for body in bodies])
    for ending, by_client in zip(ENDINGS, sent, strict=True):
        kind, reason = (ending["type"], ending.get("finishReason")) if ending else (None, None)
        assert set(by_client.values()) == {may_resend(kind, reason)}, ending
