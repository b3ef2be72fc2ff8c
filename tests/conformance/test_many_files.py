"""Chats of the real client that are larger, with all their files, than a request may be."""

from typing import Any, Final, TypeAlias

import pytest

from tests.conformance.chat_apps import ChatApp, combined_app, shown
from tests.conformance.node_scripts import run_script
from tests.conformance.tool_agent import ToolAgent
from tests.conformance.visits.visit import WHERE, approve, deny, pay, text
from tests.documents import block
from tests.served import served
from tests.serving.instrumented import InstrumentedService

pytestmark = pytest.mark.node

LIMIT: Final = 100_000
FILE: Final = {"type": "file", "mediaType": "text/plain", "url": f"data:text/plain;base64,{'QUJD' * 20_000}"}
"""80 kB: one fits into a request, two do not."""

TURNS: Final = ["one", "two", "two again", "three", pay(5), "Paid.", pay(6), "As you like.", WHERE, "There."]
STEPS: Final = [
    text("first", files=[FILE]),
    text("second", files=[FILE]),
    {"regenerate": None},
    {"edit": 2, "text": "third"},
    text("pay"),
    approve(),
    text("pay more"),
    deny(),
    text("where?"),
    {"answer": "where", "output": "Oslo"},
]
SHOWN: Final = [
    "text/plain, first",
    "one",
    "third",
    "three",
    "pay",
    "pay output-available, Paid.",
    "pay more",
    "pay output-denied, As you like.",
    "where?",
    "where output-available, There.",
]


Seen: TypeAlias = list[dict[str, Any]]
"""The state at the end of each step, as ``visit-chats.mjs`` reports it."""


@pytest.fixture(scope="module")
def visits() -> tuple[list[Seen], list[Seen]]:
    """The view of v6 and v7 clients of a chat, with the README's transport and with their own."""
    options = [{"transport": block("docs/large-chats.md", "prepareSendMessagesRequest")}, {}]
    visitors = [{"ai": ai_sdk, **transport} for transport in options for ai_sdk in (6, 7)]
    agents = [ToolAgent(TURNS if "transport" in visitor else TURNS[:1]) for visitor in visitors]
    apps = [
        ChatApp(InstrumentedService(tool_agent.agent), tool_agent.ran, max_body_bytes=LIMIT) for tool_agent in agents
    ]
    with served(combined_app(apps)) as url:
        asked = [
            {**visitor, "url": f"{url}/{number}", "steps": STEPS if "transport" in visitor else STEPS[:2]}
            for number, visitor in enumerate(visitors)
        ]
        told = run_script("visit-chats.mjs", asked)
    return told[:2], told[2:]


def test_a_page_that_sends_one_message_goes_on_in_a_chat_that_is_too_large_to_send(
    visits: tuple[list[Seen], list[Seen]],
) -> None:
    for seen in visits[0]:
        assert [step["error"] for step in seen] == [None] * len(STEPS)
        assert [len(step["posts"]) for step in seen] == [1] * len(STEPS)
        assert [shown(message) for message in seen[-1]["messages"]] == SHOWN
        assert [shown(message) for message in seen[-1]["stored"]] == SHOWN


def test_a_page_that_sends_all_of_it_is_told_what_to_do(visits: tuple[list[Seen], list[Seen]]) -> None:
    for first, second in visits[1]:
        assert (first["status"], second["status"]) == ("ready", "error")
        assert second["error"].startswith("The request is larger than 100000 bytes: send only the last message")
        assert [shown(message) for message in second["stored"]] == SHOWN[:2]
