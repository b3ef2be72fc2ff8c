"""The check of steering messages finds those that are lost, doubled or not answered."""

from random import Random
from typing import Any

import httpx
import pytest

from tests.fleet.chat_user import ChatUser, Reading, SteeringMessage
from tests.fleet.guarantees import steering

SAID = {"id": "u2", "role": "user", "parts": [{"type": "text", "text": "say c.1"}]}
PART = {"type": "data-adk-steering", "data": {"id": "u2", "parts": SAID["parts"]}}


def reply(*parts: Any, message_id: str = "a1") -> dict[str, Any]:
    return {"id": message_id, "role": "assistant", "parts": [*parts]}


def text(said: str) -> dict[str, str]:
    return {"type": "text", "text": said}


@pytest.mark.parametrize(
    ("stored", "wrong"),
    [
        ([reply(text("Step. "), PART, text("Said c.1."))], None),
        ([reply(text("Step. ")), SAID, reply(text("Said c.1."), message_id="a2")], None),
        ([reply(text("Step. ")), SAID], None),
        ([reply(text("Step. "))], "is 0 times"),
        ([reply(PART, text("Said c.1.")), SAID], "is 2 times"),
        ([reply(PART, text("Said c.1."), text("Said c.1."))], "is answered twice"),
        ([reply(text("Said c.1."), PART)], "is not answered"),
    ],
    ids=["read", "next turn", "stopped turn", "lost", "doubled", "answered twice", "not answered"],
)
async def test_a_steering_message_is_stored_and_answered_once(stored: list[Any], wrong: str | None) -> None:
    async with httpx.AsyncClient() as http:
        user = ChatUser("c", [1], http, Random(0))
    user.steered.append(SteeringMessage("u2", "c.1", is_accepted=True))
    user.readings.append(
        Reading("send", 0, "stroll c.0", done=True, chunks=[{"type": "finish"}], message=reply(message_id="a1"))
    )
    found = "".join(steering(user, stored))
    assert bool(found) == bool(wrong)
    assert wrong is None or wrong in found
