"""A conversation in which all happens that can happen, in every store: each reading of it gives the same messages."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents.run_config import StreamingMode
from google.adk.sessions import BaseSessionService

from stream_protocol.testing import Call, Thought, Wait
from tests.properties.conversations import Act, Chat, Surroundings, with_ids


def turns() -> list[tuple[Act, list[list[Any]]]]:
    """The page's actions, and the model's answers."""
    never = Wait(asyncio.Event())
    return [
        ("say", [["Half an answer ", RuntimeError("the model failed")]]),
        (
            "regenerate",
            [[Thought("Hm."), "Let me look. ", Call("look", {"city": "Oslo"}, streamed=True)], ["It rains."]],
        ),
        ("correct", [["I pay. ", Call("pay", {"amount": 1}), Call("where", {"question": "?"})], ["Paid."]]),
        ("deny", []),
        ("say", [["So?", Call("where", {"question": "?"})]]),
        ("say", [[Call("pay", {"amount": 2})]]),
        ("approve", [["Paid at last."]]),
        (("stop", 4), [["A long ", "story", never]]),
        (("stop", 3), [["Another ", never]]),
        ("say", [["I make one. ", Call("report")], ["It takes a while."]]),
        ("say", [["A table, then. ", Call("booker", {"request": "a table"})]]),
        ("report", []),
        ("say", [["Booked."]]),
        ("regenerate", []),
        ("correct", [["Changed."]]),
        ("edit", [["All anew."]]),
        ("say", [["And on."]]),
    ]


@pytest.mark.parametrize(
    "new_sessions",
    ["memory", "postgres", *(pytest.param(store, marks=pytest.mark.samples) for store in ("sqlite", "sqlalchemy"))],
    indirect=True,
)
@pytest.mark.filterwarnings(r"ignore:\[EXPERIMENTAL\]:UserWarning")  # of ADK's compaction
async def test_every_reading_of_a_conversation_agrees(sessions: BaseSessionService, tmp_path: Path) -> None:
    about = Surroundings(ai_sdk=6, mode=StreamingMode.SSE, keeps=True, compacts=True)
    conversation = turns()
    script = with_ids([said for _, answers in conversation for said in answers])
    chat = Chat(script, about, [sessions, sessions])
    for act, _ in conversation:
        await chat.act(act)
        await chat.assert_readings_agree(tmp_path)
    await chat.aclose()
