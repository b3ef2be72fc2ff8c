"""Scenarios for ADK 1.24 and later, and their recorder.

Old Runners do not yield the user's own event, and use their own ids and times. So the stored user event is put first,
where newer Runners yield it. Ids and times are replaced afterwards, counted in the order of their first use.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from google.adk.agents import LlmAgent, ParallelAgent
from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.run_config import RunConfig
from google.adk.events.event import Event
from google.adk.runners import InMemoryRunner
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool

from recorder.credential import calendar, sign_in
from recorder.fixture import JsonEvent, RecordedTurn
from recorder.functions import book, explode, get_weather, order, pay, pick_colour, transfer
from recorder.user import Send, answer, decide, say
from recorder.vertex import (
    SIGNATURE,
    Reply,
    VertexScript,
    call,
    calls,
    end,
    failure,
    parts,
    streamed_call,
    streamed_string,
    text,
)

USER = "ann"
CHAT = "chat"
EPOCH = 1_700_000_000.0
UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True, kw_only=True)
class OldScenario:
    name: str
    """Part of the fixture's name after the version."""
    description: str
    build: Callable[[], BaseAgent]
    turns: Sequence[Send]
    fails: bool = False


async def record(scenario: OldScenario) -> list[RecordedTurn]:
    """Run the scenario with the installed ADK."""
    runner = InMemoryRunner(agent=scenario.build(), app_name="app")
    await runner.session_service.create_session(app_name="app", user_id=USER, session_id=CHAT)
    events: list[Event] = []
    turns = [await _record_turn(runner, send, events) for send in scenario.turns]
    if any(turn.raised for turn in turns) is not scenario.fails:
        raise AssertionError(f"{scenario.name}: {[turn.raised for turn in turns]}")
    return _counted(turns)


async def _record_turn(runner: InMemoryRunner, send: Send, events: list[Event]) -> RecordedTurn:
    sent = send(events)
    lines: list[JsonEvent] = []
    raised = None
    run = runner.run_async(
        user_id=USER,
        session_id=CHAT,
        new_message=sent.message,
        run_config=RunConfig.model_validate({"streaming_mode": "sse"}),
    )
    try:
        async with aclosing(run):
            async for event in run:
                events.append(event)
                lines.append(
                    _json(event)
                )  # copied immediately: a later event changes the actions object that both events share
    except Exception as error:  # noqa: BLE001  # what a failing run raises differs from ADK to ADK
        raised = f"{type(error).__name__}: {error}"
    return RecordedTurn(sent.actions, [await _stored_message(runner), *lines], raised)


async def _stored_message(runner: InMemoryRunner) -> JsonEvent:
    session = await runner.session_service.get_session(app_name="app", user_id=USER, session_id=CHAT)
    if session is None:
        raise AssertionError("the session is gone")
    return _json(next(event for event in reversed(session.events) if event.author == "user"))


def _json(event: Event) -> JsonEvent:
    dumped: JsonEvent = json.loads(event.model_dump_json(by_alias=True, exclude_none=True))
    return dumped


def _counted(turns: Sequence[RecordedTurn]) -> list[RecordedTurn]:
    """Return the turns with ids numbered in the order of their first use, and with counted times."""
    numbers: dict[str, str] = {}

    def number(found: re.Match[str]) -> str:
        return numbers.setdefault(found[0], f"{len(numbers) + 1:04d}")

    def counted(value: Any) -> Any:
        return json.loads(UUID.sub(number, json.dumps(value)))

    ticks = iter(range(1, sum(len(turn.events) for turn in turns) + 1))
    return [
        RecordedTurn(counted(turn.actions), [_timed(counted(event), ticks) for event in turn.events], turn.raised)
        for turn in turns
    ]


def _timed(event: JsonEvent, ticks: Iterator[int]) -> JsonEvent:
    return {**event, "timestamp": EPOCH + next(ticks) / 1000}


def _agent(*replies: Reply, **config: Any) -> LlmAgent:
    return LlmAgent(name="root", model=VertexScript(*replies), **config)


def _named(name: str, *replies: Reply, **config: Any) -> LlmAgent:
    return LlmAgent(name=name, model=VertexScript(*replies), description=f"Does {name}.", **config)


def _thinker() -> LlmAgent:
    thoughts = [parts({"text": piece, "thought": True}) for piece in ("They ", "greet me.")]
    words = [parts({"text": piece}) for piece in ("Grüße, ", "Ann.")]
    return _agent([*thoughts, *words, end(thoughtSignature=SIGNATURE)])


def _weather(*replies: Reply) -> LlmAgent:
    return _agent(*replies, tools=[get_weather])


def _streamed_weather(*pieces: str) -> Reply:
    return streamed_call("get_weather", *streamed_string("$.city", *pieces))


def _trip() -> Reply:
    return streamed_call(
        "book",
        *streamed_string("$.trip.city", "Os", "lo"),
        {"jsonPath": "$.trip.hotel.nights", "numberValue": 3},
        {"jsonPath": "$.trip.hotel.late", "boolValue": True},
        {"jsonPath": "$.trip.train", "nullValue": "NULL_VALUE"},
        *streamed_string("$.note", "quiet, ", "please"),
    )


def _trip_in_arrays() -> Reply:
    return streamed_call(
        "book",
        *streamed_string("$.trip.stops[0].city", "Os", "lo"),
        {"jsonPath": "$.trip.stops[0]['nights at most']", "numberValue": 2.5},
        *streamed_string("$.trip.stops[1].city", "Rome"),
    )


def _payer(words: str) -> LlmAgent:
    gated = FunctionTool(pay, require_confirmation=True)
    return _agent(calls(call("pay", amount=5)), text(words), tools=[gated])


def _hand_over() -> LlmAgent:
    return _agent(
        calls(call("transfer_to_agent", agent_name="helper")),
        sub_agents=[_named("helper", text("Here ", "to help."), text("Still ", "here."))],
    )


def _branches() -> ParallelAgent:
    talker = _named("talker", text("T1 ", "T2 ", "T3"))
    caller = _named("caller", [*_streamed_weather("Par", "is"), end()], text("21 °C."), tools=[get_weather])
    return ParallelAgent(name="par", sub_agents=[talker, caller])


OLD_SCENARIOS = (
    OldScenario(
        name="thoughts",
        description="Thoughts and text in fragments, the signature on a last empty text.",
        build=_thinker,
        turns=[say("hi")],
    ),
    OldScenario(
        name="text_tool_text",
        description="Text and a call in one response, its output, text in a second step.",
        build=lambda: _weather(
            [parts({"text": "Let me "}), parts({"text": "look."}), parts(call("get_weather", city="Paris")), end()],
            text("21 ", "°C."),
        ),
        turns=[say("weather?")],
    ),
    OldScenario(
        name="parallel_calls",
        description="Two whole calls of one tool at once: each has its own output.",
        build=lambda: _weather(
            calls(call("get_weather", city="Paris"), call("get_weather", city="Oslo")), text("The same.")
        ),
        turns=[say("weather?")],
    ),
    OldScenario(
        name="streamed_arguments",
        description="Streamed arguments: nested paths, strings in pieces, a number, a bool, a null.",
        build=lambda: _agent([*_trip(), end()], text("Booked."), tools=[book]),
        turns=[say("book")],
    ),
    OldScenario(
        name="streamed_arguments_in_arrays",
        description="Streamed array elements and quoted keys, which ADK then took for keys of these very names.",
        build=lambda: _agent([*_trip_in_arrays(), end()], text("Booked."), tools=[book]),
        turns=[say("book")],
    ),
    OldScenario(
        name="streamed_arguments_two_calls",
        description="Two streamed calls of one tool, one behind the other.",
        build=lambda: _weather(
            [*_streamed_weather("Bos", "ton"), *_streamed_weather("San ", "Francisco"), end()], text("The same.")
        ),
        turns=[say("weather?")],
    ),
    OldScenario(
        name="approval_approved",
        description="A gated call waits; approved, it runs and the same message goes on.",
        build=lambda: _payer("Paid."),
        turns=[say("pay 5"), decide(True)],
    ),
    OldScenario(
        name="approval_denied",
        description="A gated call is denied.",
        build=lambda: _payer("Not paid."),
        turns=[say("pay 5"), decide(False)],
    ),
    OldScenario(
        name="approval_dynamic",
        description="A tool asks by itself; the model speaks before the answer; the tool's second output counts.",
        build=lambda: _agent(
            calls(call("transfer", amount=5)), text("I asked."), text("All ", "settled."), tools=[transfer]
        ),
        turns=[say("transfer 5"), decide(True)],
    ),
    OldScenario(
        name="credential",
        description="A tool needs a credential. The client secret may be in the events; it is not in the stream.",
        # At least up to ADK 2.0, the model is called again before the user signs in. Later versions use one reply less.
        build=lambda: _agent(calls(call("calendar")), text("That is all."), text("That is all."), tools=[calendar]),
        turns=[say("what is next?"), sign_in],
    ),
    OldScenario(
        name="client_tool",
        description="A tool that runs in the browser: the call stays open until the page gives its output.",
        build=lambda: _agent(
            calls(call("pick_colour", colours=["red", "blue"])),
            text("Blue it is."),
            tools=[LongRunningFunctionTool(pick_colour)],
        ),
        turns=[say("a colour"), answer("pick_colour", {"colour": "blue"})],
    ),
    OldScenario(
        name="long_running_tool",
        description="A long-running tool with an interim output: the model goes on.",
        build=lambda: _agent(
            calls(call("order", item="tea")), text("Ordered."), tools=[LongRunningFunctionTool(order)]
        ),
        turns=[say("tea")],
    ),
    OldScenario(
        name="error_in_text",
        description="The server fails in the middle of the text.",
        build=lambda: _agent([parts({"text": "Once upon "}), failure("hunter2 is overloaded")]),
        turns=[say("a story")],
        fails=True,
    ),
    OldScenario(
        name="tool_raises",
        description="A tool raises: the run dies, the open call ends.",
        build=lambda: _agent(calls(call("explode")), tools=[explode]),
        turns=[say("go")],
        fails=True,
    ),
    OldScenario(
        name="transfer",
        description="The root hands over; the next user message is answered by the other agent.",
        build=_hand_over,
        turns=[say("help"), say("and now?")],
    ),
    OldScenario(
        name="parallel_agents",
        description="Two branches side by side, one of them with a streamed call: texts never mix.",
        build=_branches,
        turns=[say("go")],
    ),
)
