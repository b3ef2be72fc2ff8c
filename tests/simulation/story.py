"""Prints a schedule, and the events of its execution, as a story."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from tests.simulation.network import Outage
from tests.simulation.schedule import FailOver, Kill, Look, Pause, Read, Repeat, Retire, Schedule, Send, Steer, Stop

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.simulation.schedule import Action, Fault
    from tests.simulation.seen import Seen

_READS: Final = re.compile(r"(run log: (peek|entries|watch|snapshot|newest)|sessions: get|engine: unfinished)")
"""The lines of commands that change nothing."""


def told(seen: Seen, broken: Sequence[tuple[str, str]]) -> str:
    """Return the story of an execution that recorded one."""
    lines = [*_of_schedule(seen.schedule), ""]
    lines += [f"{at:8.3f}  {who:8}  {what}" for at, who, what in seen.story if not _READS.match(what)]
    lines += ["", *(f"BROKEN  {promise.replace('_', ' ')}: {how}" for promise, how in broken)]
    return "\n".join(lines)


def _of_schedule(schedule: Schedule) -> Iterator[str]:
    yield f"Seed {schedule.seed}, {'with' if schedule.engine else 'without'} an engine."
    drifting = [f"w{number} {rate:.2f}" for number, rate in enumerate(schedule.rates) if rate != 1.0]
    if drifting:
        yield f"Clocks: {', '.join(drifting)} of the true speed."
    planned = sorted((*schedule.actions, *schedule.faults), key=lambda one: one.at)
    for one in planned:
        yield f"{one.at:8.3f}  {_sentence(one)}"


def _sentence(one: Action | Fault) -> str:
    match one:
        case Send(script=script):
            answer = ""
            if one.answer is not None:
                answer = f" It {'approves' if one.answer.approves else 'denies'} a question at w{one.answer.worker}."
            leaves = "" if one.leaves is None else f" It leaves after {one.leaves:.3f} s."
            return (
                f"A page sends a message to w{one.worker}: {script.kind}, {script.words} words, {script.pause} s each,"
                f" the tool takes {script.tool_seconds} s. After a loss it {one.on_loss}.{leaves}{answer}"
            )
        case Steer(script=script):
            sends = " If the run does not take it, the page sends it as a new message." if one.sends else ""
            return f"The user steers at w{one.worker}: {script.kind}, {script.words} words.{sends}"
        case Repeat():
            return f"Another page repeats the newest message at w{one.worker}."
        case Stop():
            return f"The user stops the chat at w{one.worker}."
        case Read():
            return f"Another page resumes at w{one.worker}."
        case Look():
            return f"A page loads the history at w{one.worker}."
        case Kill():
            return f"w{one.worker} is killed."
        case Pause():
            return f"w{one.worker} is frozen for {one.seconds:.3f} s."
        case Retire():
            return f"w{one.worker} is told to end within {one.drain:.3f} s."
        case FailOver():
            return f"A replica of the run log's store takes over. It lacks {one.forgets:.3f} s."
        case Outage():
            whom = "everybody" if one.worker is None else f"w{one.worker}"
            return f"The store of the {one.store} {one.manner}, for {whom}, for {one.seconds:.3f} s."
