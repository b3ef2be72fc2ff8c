"""A model repeats its recorded responses."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import BaseAgent, LlmAgent, ParallelAgent, SequentialAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.events import Event
from google.adk.models.base_llm import BaseLlm
from google.adk.runners import Runner
from google.adk.sessions import BaseSessionService, InMemorySessionService
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.genai import types
from pydantic import BaseModel

from stream_protocol import StreamProtocolError, parse_chat_request
from stream_protocol.recording import Recording, load_recording
from stream_protocol.serving import create_app
from stream_protocol.testing import Call, ScriptedLlm, Thought, Wait, token_usage
from tests.serving.instrumented import InstrumentedService
from tests.serving.support import begin, chat, said


class Forecast(BaseModel):
    celsius: int


async def look_up(city: str) -> dict[str, Any]:
    """Looks the weather up."""
    return {"city": city, "celsius": 21}


def pay(amount: int) -> dict[str, Any]:
    """Pays."""
    return {"paid": amount}


async def talk(
    agent: BaseAgent, *texts: str, store: BaseSessionService | None = None, streaming: bool = True
) -> list[Event]:
    runner = Runner(
        agent=agent, app_name="test", session_service=store or InMemorySessionService(), auto_create_session=True
    )
    config = RunConfig(streaming_mode=StreamingMode.SSE if streaming else StreamingMode.NONE)
    events: list[Event] = []
    for text in texts:
        message = types.Content(role="user", parts=[types.Part(text=text)])
        events.append(Event(author="user", content=message, invocation_id=f"turn{len(events)}"))
        run = runner.run_async(user_id="u", session_id="s", new_message=message, run_config=config)
        events += [event async for event in run]
    return events


def record(path: Path, events: list[Event]) -> Recording:
    path.write_text("".join(event.model_dump_json(exclude_none=True, by_alias=True) + "\n" for event in events))
    return load_recording(path)


def told(events: list[Event], *, fragments: bool = True) -> list[Any]:
    """Return the content of each event, without ids and times, which differ in each run."""
    return [
        (
            event.author,
            event.partial,
            event.finish_reason,
            event.usage_metadata,
            event.content and event.content.model_dump(),
        )
        for event in events
        if fragments or not event.partial
    ]


def guide(llm: BaseLlm, **options: Any) -> LlmAgent:
    return LlmAgent(name="guide", model=llm, tools=[look_up], **options)


TURNS: list[Any] = [
    [Thought("Hm, ", b"sig"), Call("look_up", {"city": "Oslo"}, streamed=True), Call("look_up", {"city": "Bergen"})],
    ["It is 21 °C in both.", token_usage(prompt=12, answer=7)],
    types.Part.from_bytes(data=b"png", mime_type="image/png"),
]


async def test_an_agent_says_again_what_was_recorded(tmp_path: Path) -> None:
    events = await talk(guide(ScriptedLlm(turns=TURNS)), "Weather?", "A picture?")
    model = ScriptedLlm.from_recording(record(tmp_path / "weather.jsonl", events))
    again = await talk(guide(model), "Weather?", "A picture?")
    assert told(again) == told(events)
    assert len(model.requests) == 3
    assert [call.id for event in again for call in event.get_function_calls()] == [
        call.id for event in events for call in event.get_function_calls()
    ]


async def test_without_streaming_only_the_whole_answers_are_given(tmp_path: Path) -> None:
    events = await talk(guide(ScriptedLlm(turns=TURNS)), "Weather?", "A picture?")
    model = ScriptedLlm.from_recording(record(tmp_path / "weather.jsonl", events))
    again = await talk(guide(model), "Weather?", "A picture?", streaming=False)
    assert not any(event.partial for event in again)
    assert told(again) == told(events, fragments=False)


async def test_a_changed_tool_is_seen(tmp_path: Path) -> None:
    """The model's responses come from the recording, and the tools' results from the present agent."""
    events = await talk(guide(ScriptedLlm(turns=TURNS[:2])), "Weather?")
    model = ScriptedLlm.from_recording(record(tmp_path / "weather.jsonl", events))

    def look_up(city: str) -> str:
        """Looks the weather up."""
        return f"rain in {city}"

    again = await talk(LlmAgent(name="guide", model=model, tools=[look_up]), "Weather?")
    assert [response.response for event in again for response in event.get_function_responses()] == [
        {"result": "rain in Oslo"},
        {"result": "rain in Bergen"},
    ]


def team(kind: Callable[..., BaseAgent], first: BaseLlm, second: BaseLlm) -> BaseAgent:
    agents = [LlmAgent(name=name, model=llm, tools=[look_up]) for name, llm in (("north", first), ("south", second))]
    return kind(name="team", sub_agents=agents)


@pytest.mark.parametrize("kind", [ParallelAgent, SequentialAgent])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
async def test_each_agent_gets_its_own_answers(kind: Callable[..., BaseAgent], tmp_path: Path) -> None:
    north = ScriptedLlm(turns=[Call("look_up", {"city": "Oslo"}), "Cold and clear."], delay=0.001)
    south = ScriptedLlm(turns=[Call("look_up", {"city": "Rome"}), "Warm and dry."], delay=0.001)
    events = await talk(team(kind, north, south), "Weather?")
    recording = record(tmp_path / "weather.jsonl", events)
    models = [ScriptedLlm.from_recording(recording, author=name) for name in ("north", "south")]
    again = await talk(team(kind, *models), "Weather?")
    for name in ("north", "south"):
        assert told([each for each in again if each.author == name]) == told(
            [each for each in events if each.author == name]
        )


async def test_what_adk_makes_itself_is_no_answer_of_the_model(tmp_path: Path) -> None:
    """The agent has a tool and an output schema: ADK calls ``set_model_response`` and repeats its result as text."""
    turns: list[Any] = [Call("look_up", {"city": "Oslo"}), Call("set_model_response", {"celsius": 21}), "Then goodbye."]
    events = await talk(guide(ScriptedLlm(turns=turns[:2]), output_schema=Forecast), "Weather?")
    recording = record(tmp_path / "weather.jsonl", events)
    model = ScriptedLlm.from_recording(recording)
    assert told(await talk(guide(model, output_schema=Forecast), "Weather?")) == told(events)
    assert len(model.turns) == len(model.requests)


async def test_a_question_of_adk_is_no_answer_of_the_model() -> None:
    recording = load_recording("examples/frontend-tests/recordings/payment.jsonl")
    assert len(ScriptedLlm.from_recording(recording).turns) == 2


async def test_a_stopped_run_keeps_its_place_in_the_order(tmp_path: Path) -> None:
    """The store has the partial response of the stopped run as an event that ADK did not write."""
    store = SqliteSessionService(str(tmp_path / "chats.db"))
    agent = LlmAgent(name="guide", model=ScriptedLlm(turns=[["Half ", Wait(3600), "whole."], "Next."]))
    service = InstrumentedService(agent, session_service=store)
    app = create_app(service)
    async with begin(app, chat(said("hi"))) as exchange:
        await exchange.status()
        await exchange.until("text-delta")
        service.runs.run.stop()
        await exchange.until("abort")
    await service.runs.free()
    events = await service.respond(parse_chat_request(chat(said("and?", "u2"))), user_id="local")
    async for _ in events:
        pass
    model = ScriptedLlm.from_recording(load_recording(tmp_path / "chats.db"))
    again = await talk(LlmAgent(name="guide", model=model), "hi", "and?")
    texts = [part["text"] for each in told(again) if each[0] == "guide" for part in each[-1]["parts"] if part["text"]]
    assert texts == ["Half ", "Next."]


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"recording": "weather"}, '`recording` must be a Recording, not "weather": load_recording'),
        ({"author": 5}, "`author` must be text, or None"),
        ({"author": "nobody"}, "holds no answer of a model of the agent 'nobody'; it holds some of guide."),
        ({"pace": 1}, "pace"),
    ],
)
async def test_wrong_values_are_refused(wrong: dict[str, Any], text: str, tmp_path: Path) -> None:
    recording = record(tmp_path / "weather.jsonl", await talk(guide(ScriptedLlm(turns=["Fine."])), "Weather?"))
    with pytest.raises((StreamProtocolError, ValueError), match=text.replace("(", r"\(")):
        ScriptedLlm.from_recording(**{"recording": recording, **wrong})
