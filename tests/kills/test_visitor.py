"""The visitors of random kills, and their pages."""

import asyncio
from typing import Any
from unittest.mock import Mock

import pytest

from tests.kills.schedule import Chat
from tests.kills.visitor import CLOSED_QUESTION, NO_QUESTION, Reading, Visitor

pytestmark = pytest.mark.kills


async def test_a_page_that_opens_while_its_chat_is_deleted_is_left_as_it_is() -> None:
    """It has loaded calls that are gone a moment later: each of its answers is refused."""
    asked, answers = asyncio.Event(), asyncio.Event()

    async def ask(**_: Any) -> None:
        asked.set()
        await answers.wait()

    visitor = Visitor(1, Chat(0.0, 7, ()), (80,), Mock(ask=ask))
    opening = asyncio.create_task(visitor.open(0, stored=True))
    await asked.wait()
    visitor.supersede()
    answers.set()
    tab = await opening
    assert tab.superseded
    later = await visitor.open(0)
    assert not later.superseded


@pytest.mark.parametrize(
    ("method", "status", "text", "is_outdated"),
    [
        ("POST", 409, f'{{"error":"{NO_QUESTION}"}}', True),
        ("POST", 409, CLOSED_QUESTION, True),
        ("POST", 409, "The chat was stopped before this was stored. Send it again.", False),
        ("POST", 503, NO_QUESTION, False),
    ],
)
def test_an_answer_to_what_nobody_asks_any_more_is_not_sent_again(
    method: str, status: int, text: str, is_outdated: bool
) -> None:
    reading = Reading(method, "/api/chat", "{}", 0.0, 1.0, 1.0, status, 80, text, None)
    assert reading.is_outdated == is_outdated
