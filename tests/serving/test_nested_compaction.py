"""ADK summarizes a chat while an agent inside a call works: the card and the message lose nothing."""

from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.apps import App
from google.adk.apps.app import EventsCompactionConfig
from google.adk.apps.llm_event_summarizer import LlmEventSummarizer
from google.adk.runners import InMemoryRunner
from google.adk.tools import AgentTool
from google.genai import types

from stream_protocol import reduce_chunks, stream_chunks
from stream_protocol.serving import ChatService, create_app, run_events
from stream_protocol.session import session_to_messages
from stream_protocol.testing import Call, ScriptedLlm, token_usage
from tests.serving.chat_client import Page

pytestmark = [
    pytest.mark.filterwarnings("ignore:The `plugins` argument is deprecated:DeprecationWarning"),  # of ADK's AgentTool
    pytest.mark.filterwarnings(r"ignore:\[EXPERIMENTAL\]:UserWarning"),  # of ADK's compaction
]

MANY = token_usage(prompt=100, answer=1)
KINDS: dict[str, dict[str, Any]] = {"tool": {}, "single_turn": {"mode": "single_turn"}, "task": {"mode": "task"}}


def look(city: str) -> dict[str, str]:
    """Tells the weather."""
    return {"city": city}


def planner(kind: str) -> App:
    """Return an app that summarizes after each model response with a function call."""
    end: Any = [Call("finish_task", {"result": "Seen."}), MANY] if kind == "task" else ["Seen.", MANY]
    turns: list[Any] = [[Call("look", {"city": city}), MANY] for city in ("Oslo", "Rome")]
    inner = LlmAgent(
        name="inner", description="inner", model=ScriptedLlm(turns=[*turns, end]), tools=[look], **KINDS[kind]
    )
    calls: dict[str, Any] = {"tools": [AgentTool(inner)]} if kind == "tool" else {"sub_agents": [inner]}
    model = ScriptedLlm(turns=[["Hello.", MANY], [Call("inner", {"request": "go"}), MANY], ["Done.", MANY]])
    summarizer = LlmEventSummarizer(llm=ScriptedLlm(respond=lambda request: "A summary."))
    config = EventsCompactionConfig(summarizer=summarizer, token_threshold=50, event_retention_size=1)
    return App(name="app", root_agent=LlmAgent(name="root", model=model, **calls), events_compaction_config=config)


@pytest.mark.parametrize("kind", KINDS)
async def test_the_card_has_all_work_of_a_summarized_chat_live_and_stored(kind: str) -> None:
    page = Page(create_app(ChatService(InMemoryRunner(app=planner(kind)))))
    await page.send("hi")
    await page.send("go")
    parts: Any = page.messages[-1]["parts"]
    [card] = [part for part in parts if part["type"] == "tool-inner"]
    cities = [part["input"]["city"] for part in card["output"]["parts"] if part["type"] == "tool-look"]
    assert cities == ["Oslo", "Rome"]
    assert card["output"]["metadata"]["result"] == {"result": "Seen."}
    assert "data-adk-compaction" in [part["type"] for part in parts]
    assert await page.stored() == page.messages


@pytest.mark.parametrize("kind", KINDS)
async def test_a_route_without_a_service_shows_where_the_chat_was_summarized(kind: str) -> None:
    runner = InMemoryRunner(app=planner(kind))
    runner.auto_create_session = True
    for text in ("hi", "go"):
        events = run_events(
            runner,
            user_id="u",
            session_id="c1",
            new_message=types.UserContent([types.Part(text=text)]),
            run_config=RunConfig(streaming_mode=StreamingMode.SSE),
        )
        message: Any = reduce_chunks([chunk async for chunk in stream_chunks(events)])
        session = await runner.session_service.get_session(app_name="app", user_id="u", session_id="c1")
        assert session is not None
        assert "data-adk-compaction" in [part["type"] for part in message["parts"]]
        assert session_to_messages(session)[-1]["parts"] == message["parts"]
