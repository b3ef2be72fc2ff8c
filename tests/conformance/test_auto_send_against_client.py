"""Compares the auto-send decision of ``wire/client`` with the helpers of the real ``ai`` package."""

import random
from typing import Any

import pytest

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
