"""In any conversation three readings are the same messages, turn after turn. They are the client's folded stream, the
history of any worker, and the replay of the stored events.

The allowed differences: ``docs/decisions/what-history-equals.md``.
"""

import asyncio
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents.run_config import StreamingMode
from google.adk.sessions import BaseSessionService, DatabaseSessionService, InMemorySessionService
from hypothesis import example, given, strategies as st

from stream_protocol.testing import Call
from tests.examples import examples
from tests.properties.conversations import Act, Chat, Surroundings, actions, scripts, surroundings
from tests.readings import STORES
from tests.warned import warned

pytestmark = pytest.mark.filterwarnings(r"ignore:\[EXPERIMENTAL\]:UserWarning")  # of ADK's compaction

stores = st.sampled_from(["memory", "memory", *STORES])


async def converse(script: list[Any], about: Surroundings, acts: list[Act], store: str) -> None:
    with tempfile.TemporaryDirectory() as folder, warned() as warnings:
        file = Path(folder, "chat.db") if store in STORES else None
        services = _services(store, Path(folder, "chat.db"))
        chat = Chat(script, about, services, recordings=Path(folder, "runs"))
        try:
            for action in acts if file is None else filter(is_decided_by_seed, acts):
                await chat.act(action)
                await chat.assert_readings_agree(Path(folder), file)
            await chat.page.send("again")
            assert not any(chat.half_asked)
            assert warnings == [], "nothing of this is unexpected"
        finally:
            await chat.aclose()
            for service in services:
                if isinstance(service, DatabaseSessionService):
                    await service.close()


def is_decided_by_seed(action: Act) -> bool:
    """True if an action has the same effect in every run, though a thread writes to the store: the end of a run has
    not.
    """
    return isinstance(action, str)


def _services(store: str, file: Path) -> list[BaseSessionService]:
    """The session services of two workers on one store."""
    return [STORES[store](file) for _ in range(2)] if store in STORES else [InMemorySessionService()] * 2


PLAIN = Surroundings(ai_sdk=6, mode=StreamingMode.SSE, keeps=False, compacts=False)

ANSWERED_BESIDE_A_TASK = [
    [Call("adk_request_input", {"message": "Who?"}, id="c0-1"), Call("look", {"city": "Oslo"}, id="c0-2")],
    Call("booker", {"request": "a table"}, id="c1-1"),
]
"""A question is answered while an agent in task mode talks: ADK stores the answer where the caller does not read it."""

ONE_OF_TWO_ASKS = [[Call("pay", {"amount": 1}, id="0"), Call("look", {"city": "Oslo"}, id="0")]]
"""Under one id. A store that sorts by time has ADK's question after the event which says that its call waits."""

ENDED_BEFORE_IT_WAITS = [["."], [".", Call("report", id="c1-1", streamed=False)]]
"""A run reaches its limit after its tool has begun to wait, and before the page knows."""

TWO_WAIT_UNDER_ONE_ID = [
    [Call("pay_if_small", {"amount": 1}, id="1")],
    [Call("pay_if_small", {"amount": 2}, id="1")],
    [Call("booker", {"request": "a table"}, id="1")],
]
"""Two calls of one tool wait for an approval each when the run fails: ADK wants no number for an agent in task mode."""


@examples(60)
@given(script=scripts, acts=actions, about=surroundings, store=stores)
@example(ANSWERED_BESIDE_A_TASK, ["say", "answer"], PLAIN, "memory")
@example(ONE_OF_TWO_ASKS, ["say"], replace(PLAIN, mode=StreamingMode.NONE), "sqlite")
@example(TWO_WAIT_UNDER_ONE_ID, ["say"], PLAIN, "memory")
@example(ENDED_BEFORE_IT_WAITS, ["say", ("expire", 2)], PLAIN, "memory")
@example(ENDED_BEFORE_IT_WAITS, ["say", ("stop", 2)], PLAIN, "memory")
def test_every_reading_of_a_conversation_agrees(
    script: list[Any], acts: list[Act], about: Surroundings, store: str
) -> None:
    asyncio.run(converse(script, about, acts, store))
