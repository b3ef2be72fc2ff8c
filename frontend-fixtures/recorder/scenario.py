"""A scenario and its recorder: the user's actions in each turn, and the events that ADK's Runner yields."""

import asyncio
import contextlib
import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.run_config import RunConfig
from google.adk.apps import App
from google.adk.events.event import Event
from google.adk.platform import time as platform_time, uuid as platform_uuid
from google.adk.runners import InMemoryRunner
from google.adk.workflow import BaseNode

from recorder.fixture import JsonEvent, RecordedTurn
from recorder.user import Send

USER = "ann"
CHAT = "chat"
EPOCH = 1_700_000_000.0


@dataclass(frozen=True)
class Turn:
    send: Send
    abort_after: int | None = None
    """Number of events after which the run's abort signal is set."""


@dataclass(frozen=True, kw_only=True)
class Scenario:
    name: str
    description: str
    build: Callable[[], BaseAgent | BaseNode | App]
    turns: Sequence[Turn | Send] = ()
    streaming: bool = True
    options: Mapping[str, Any] = field(default_factory=dict)
    """Options of the converter, as JSON."""
    raises: type[Exception] | tuple[()] = ()
    """Expected error that ends the run. Any other error is a mistake in the scenario."""
    edit: Callable[[list[JsonEvent]], list[JsonEvent]] | None = None
    """Rewrites each turn's recorded events, for forms that the current ADK does not write any more."""


async def record(scenario: Scenario) -> list[RecordedTurn]:
    """Run the scenario with counted ids and times, so that each run gives the same recording."""
    ids, ticks = itertools.count(1), itertools.count(1)
    platform_uuid.set_id_provider(lambda: f"{next(ids):04d}")
    platform_time.set_time_provider(lambda: EPOCH + next(ticks) / 1000)
    runner = _runner(scenario.build())
    await runner.session_service.create_session(app_name=runner.app_name, user_id=USER, session_id=CHAT)
    events: list[Event] = []
    turns = []
    for turn in scenario.turns:
        step = turn if isinstance(turn, Turn) else Turn(turn)
        recorded = await _record_turn(scenario, runner, step, events)
        turns.append(recorded)
    return turns


def _runner(root: BaseAgent | BaseNode | App) -> InMemoryRunner:
    match root:
        case App():
            return InMemoryRunner(app=root)
        case BaseAgent():
            return InMemoryRunner(agent=root, app_name="app")
        case _:
            return InMemoryRunner(node=root, app_name="app")


async def _record_turn(scenario: Scenario, runner: InMemoryRunner, turn: Turn, events: list[Event]) -> RecordedTurn:
    sent = turn.send(events)
    abort = asyncio.Event()
    lines: list[JsonEvent] = []
    raised = None
    run = runner.run_async(
        user_id=USER,
        session_id=CHAT,
        new_message=sent.message,
        run_config=RunConfig.model_validate({"streaming_mode": "sse" if scenario.streaming else None}),
        yield_user_message=True,
        abort_signal=abort,
    )
    try:
        async with contextlib.aclosing(run):
            async for event in run:
                events.append(event)
                # Copied immediately: a later event changes the actions object that both events share.
                lines.append(_json(event))
                if len(lines) == turn.abort_after:
                    abort.set()
    except scenario.raises as error:
        raised = f"{type(error).__name__}: {error}"
    if not lines or lines[0]["author"] != "user":
        lines.insert(0, await _stored_message(runner))
    edited = scenario.edit(lines) if scenario.edit else lines
    return RecordedTurn(sent.actions, edited, raised)


async def _stored_message(runner: InMemoryRunner) -> JsonEvent:
    """Return the stored event of the user's message. Older kinds of root agents do not yield it."""
    session = await runner.session_service.get_session(app_name=runner.app_name, user_id=USER, session_id=CHAT)
    if session is None:
        raise AssertionError("the session is gone")
    return _json(next(event for event in reversed(session.events) if event.author == "user"))


def _json(event: Event) -> JsonEvent:
    dumped: JsonEvent = json.loads(event.model_dump_json(by_alias=True, exclude_none=True))
    return dumped
