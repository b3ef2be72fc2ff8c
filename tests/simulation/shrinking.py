"""Shrinks a failing schedule: fewer and simpler actions and faults that still break the same promise."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from tests.simulation.schedule import Read, Schedule, Send, Steer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.simulation.schedule import Action

MAX_EXECUTIONS: Final = 500


def shrunk(schedule: Schedule, fails: Callable[[Schedule], bool]) -> Schedule:
    """Return the smallest schedule that fails. ``fails``: executes a schedule."""
    left = MAX_EXECUTIONS
    is_smaller = True
    while is_smaller and left:
        is_smaller = False
        for smaller in _smaller(schedule):
            if not left:
                break
            left -= 1
            if fails(smaller):
                schedule, is_smaller = smaller, True
                break
    return schedule


def _smaller(schedule: Schedule) -> Iterator[Schedule]:
    """Yield simpler schedules, the much simpler first."""
    faults, actions = schedule.faults, schedule.actions
    for number in range(len(faults)):
        yield replace(schedule, faults=(*faults[:number], *faults[number + 1 :]))
    for number in range(len(actions)):
        yield replace(schedule, actions=(*actions[:number], *actions[number + 1 :]))
    if schedule.engine:
        yield replace(schedule, engine=False)
    if any(rate != 1.0 for rate in schedule.rates):
        yield replace(schedule, rates=(1.0,) * len(schedule.rates))
    for number, action in enumerate(actions):
        for simpler in _simpler(action):
            yield replace(schedule, actions=(*actions[:number], simpler, *actions[number + 1 :]))


def _simpler(action: Action) -> Iterator[Action]:
    if isinstance(action, (Send, Read)) and action.leaves is not None:
        yield replace(action, leaves=None)
    if isinstance(action, Steer) and action.sends:
        yield replace(action, sends=False)
    if isinstance(action, Send):
        if action.answer is not None:
            yield replace(action, answer=None)
        if action.on_loss != "leaves":
            yield replace(action, on_loss="leaves")
        script = action.script
        if script.kind != "talk":
            yield replace(action, script=replace(script, kind="talk"))
        if script.words > 1:
            yield replace(action, script=replace(script, words=script.words // 2))
        if script.tool_seconds:
            yield replace(action, script=replace(script, tool_seconds=0.0))
