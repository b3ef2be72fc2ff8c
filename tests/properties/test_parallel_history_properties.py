"""Parallel agents: history equals the client's folded messages, except for the order of the agents' texts."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from google.adk.agents import LlmAgent, ParallelAgent, SequentialAgent
from google.adk.tools.tool_context import ToolContext
from google.genai import types
from hypothesis import given, strategies as st

from stream_protocol.agents import emit_data
from stream_protocol.serving import ChatService, create_app
from stream_protocol.testing import Call, ScriptedLlm, Wait
from tests.comparable_messages import comparable
from tests.examples import examples
from tests.properties.conversations import OWN_IDS, with_ids
from tests.serving.chat_client import Page

pytestmark = pytest.mark.filterwarnings("ignore:(Parallel|Sequential)Agent is deprecated:DeprecationWarning")

IMAGE = types.Part.from_bytes(data=b"\xfb\xff", mime_type="image/png")


async def look(city: str, tool_context: ToolContext) -> dict[str, str]:
    """Looks."""
    await asyncio.sleep(0)
    emit_data(tool_context, "weather", {"city": city})
    return {"city": city}


async def draw(name: str, returned: bool, tool_context: ToolContext) -> types.Part | None:
    """Draws."""
    await tool_context.save_artifact(name, IMAGE)
    await asyncio.sleep(0)
    return IMAGE if returned else None


texts = st.lists(st.sampled_from(["one ", "two ", "three "]), min_size=1, max_size=4).map("".join)
calls = st.one_of(
    st.builds(lambda city: Call("look", {"city": city}), st.sampled_from(["Rome", "Oslo"])),
    st.builds(
        lambda name, returned: Call("draw", {"name": name, "returned": returned}),
        st.sampled_from(["a.png", "b.png"]),
        st.booleans(),
    ),
)
turns = st.builds(
    lambda said, called: [*said, *called],
    st.lists(st.one_of(texts, texts, st.just(Wait(0)), st.just(IMAGE)), max_size=4),
    st.lists(calls, min_size=1, max_size=2),
)
scripts = st.lists(turns, max_size=2)


def speaker(name: str, script: list[Any]) -> LlmAgent:
    left: Iterator[Any] = iter(with_ids(script, name + OWN_IDS))
    model = ScriptedLlm(respond=lambda _request: next(left, "That is all."))
    return LlmAgent(name=name, model=model, tools=[look, draw])


async def check(script: list[list[Any]]) -> None:
    first, *several, last = [speaker(f"a{number}", turns) for number, turns in enumerate(script)]
    together = ParallelAgent(name="together", sub_agents=[*several])
    page = Page(create_app(ChatService(SequentialAgent(name="root", sub_agents=[first, together, last]))))
    for words in ("go", "again"):
        await page.send(words)
        assert comparable(await page.stored()) == comparable(page.messages)


@examples(30)
@given(script=st.lists(scripts, min_size=4, max_size=5))
def test_history_of_agents_in_parallel_equals_the_folded_stream(script: list[list[Any]]) -> None:
    asyncio.run(check(script))
