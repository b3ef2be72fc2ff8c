"""An agent behind A2A, as ADK's own ``to_a2a`` serves it. More of them are in ``tests/samples/test_a2a.py``."""

from types import ModuleType
from typing import Any

import pytest
from google.genai import types

from stream_protocol.server import bind_socket
from stream_protocol.serving import create_app
from stream_protocol.testing import Call, Thought
from tests.comparable_messages import comparable
from tests.conformance.tool_agent import ToolAgent
from tests.serving.chat_client import Message, Page
from tests.serving.instrumented import InstrumentedService
from tests.serving.support import chat, chunks, post, said


@pytest.fixture
def peers() -> ModuleType:
    """The module ``tests.a2a_peers``. To import A2A is slow."""
    from tests import a2a_peers  # noqa: PLC0415

    return a2a_peers


def shown(message: Message) -> list[tuple[str, str]]:
    """Each part as its kind, and its text or state."""
    return [(part["type"], part.get("text", part.get("state", ""))) for part in message["parts"]]


def words(contents: list[types.Content]) -> list[str]:
    """The texts and calls in a model's request."""
    parts = [part for content in contents for part in content.parts or ()]
    return [part.text or str(part.function_response or part.function_call) for part in parts]


def tool_agent(peers: ModuleType, *turns: Any) -> ToolAgent:
    made = ToolAgent(turns)
    made.agent.name = peers.NAME
    return made


async def test_each_thing_is_shown_once_live_and_after_a_reload_and_the_next_turn_works(peers: ModuleType) -> None:
    far = tool_agent(peers, [Thought("Hm."), "I pay. ", Call("pay", {"amount": 5})], "Paid.", "Bye.")
    async with peers.peer(far.agent) as remote:
        page = Page(create_app(InstrumentedService(remote)))
        await page.send("pay")
        asked = [("step-start", ""), ("reasoning", "Hm."), ("text", "I pay. "), ("tool-pay", "approval-requested")]
        assert shown(page.messages[-1]) == asked
        assert "errorText" not in page.messages[-1]["parts"][-1]
        assert comparable(await page.stored()) == comparable(page.messages)
        page.approve(True)
        await page.submit()
        paid = [*asked[:-1], ("tool-pay", "output-available"), ("step-start", ""), ("text", "Paid.")]
        assert shown(page.messages[-1]) == paid
        await page.send("bye")
        assert shown(page.messages[-1]) == [("step-start", ""), ("text", "Bye.")]
        assert comparable(await page.stored()) == comparable(page.messages)
    assert far.ran == ["pay 5"]


async def test_messages_in_place_of_an_answer_reach_the_peer_alone(peers: ModuleType) -> None:
    far = tool_agent(peers, Call("where", {"question": "city"}), "Never mind.")
    async with peers.peer(far.agent) as remote:
        page = Page(create_app(InstrumentedService(remote)))
        await page.send("go")
        await page.send("wait")
        assert shown(page.messages[-1]) == [("step-start", ""), ("text", "Never mind.")]
    assert words(far.model.requests[-1].contents)[-1] == "wait"


async def test_a_denial_that_comes_with_a_message_is_superseded_by_it(peers: ModuleType) -> None:
    """ADK would send the peer both together, and an ADK agent refuses that."""
    far = tool_agent(peers, Call("pay", {"amount": 5}), "Never mind.")
    async with peers.peer(far.agent) as remote:
        page = Page(create_app(InstrumentedService(remote)))
        await page.send("pay")
        page.approve(False)
        await page.send("wait")
        assert shown(page.messages[-1]) == [("step-start", ""), ("text", "Never mind.")]
        assert shown((await page.stored())[1])[-1] == ("tool-pay", "output-error")
    assert words(far.model.requests[-1].contents)[-1] == "wait"
    assert far.ran == []


async def test_a_failure_of_the_peer_is_an_error_and_the_next_turn_works(peers: ModuleType) -> None:
    far = tool_agent(peers, ["I try. ", Call("explode")], "Fine.")
    async with peers.peer(far.agent) as remote:
        page = Page(create_app(InstrumentedService(remote)))
        await page.send("go")
        failed = [("step-start", ""), ("text", "I try. "), ("tool-explode", "output-error")]
        assert shown(page.messages[-1]) == failed
        assert comparable(await page.stored()) == comparable(page.messages)
        assert "hunter2" not in str(page.messages)
        await page.send("again")
        assert shown(page.messages[-1]) == [("step-start", ""), ("text", "Fine.")]
    assert words(far.model.requests[-1].contents)[-1] == "again"


async def test_a_peer_that_cannot_be_reached_is_an_error(peers: ModuleType) -> None:
    with bind_socket("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
    remote = peers.RemoteA2aAgent(name=peers.NAME, agent_card=f"http://127.0.0.1:{port}/.well-known/agent-card.json")
    app = create_app(InstrumentedService(remote))
    answer = chunks((await post(app, chat(said("hi")))).text)
    assert answer[-1] == {"type": "error", "errorText": "An error occurred."}
    await remote.cleanup()
