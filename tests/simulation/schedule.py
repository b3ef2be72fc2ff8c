"""Draws a schedule from a seed: the users' actions in a chat, and faults of workers and stores.

All times are seconds from the beginning, by the true time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from tests.simulation.agent import KINDS, Script
from tests.simulation.network import MANNERS, STORES, Outage

if TYPE_CHECKING:
    from collections.abc import Sequence

WORKERS: Final = 3

LEASE: Final = 3.0

COALESCE_ABOVE: Final = 600
"""Bytes of a response above which its worker joins events: few, so that events are joined."""

FIRST_STEERED: Final = 4_000_000
"""First seed whose schedule has steering messages. Earlier seeds keep their schedules."""

FIRST_REPEATED: Final = 6_000_000
"""First seed whose schedule stops the first run, sends its message again, and kills the second run at its beginning."""

AIMED_SHARE: Final = 0.5
"""Share of the faults that meet the first run, and of the long faults after which another message comes."""

OnLoss: TypeAlias = Literal["repeats the request", "resumes", "leaves"]

ON_LOSS: Final[Sequence[OnLoss]] = ("repeats the request", "resumes", "leaves")


@dataclass(frozen=True)
class Answer:
    """Action: the user answers the agent's question after ``after`` seconds."""

    approves: bool
    worker: int
    after: float


@dataclass(frozen=True)
class Send:
    """Action: the user sends a message.

    ``leaves``: seconds until the page closes; ``None``: it stays open. ``on_loss``: the page's action after a refusal
    or a lost connection, ``back_after`` seconds later, at the next worker. ``answer``: answer to the agent's question;
    ``None``: there is none.
    """

    at: float
    worker: int
    script: Script
    leaves: float | None
    on_loss: OnLoss
    back_after: float
    answer: Answer | None


@dataclass(frozen=True)
class Steer:
    """Action: the user sends a message to the running agent.

    ``script``: the reply, if the message begins a run. ``sends``: True if the page sends the message as a new message
    when the run does not take it.
    """

    at: float
    worker: int
    script: Script
    sends: bool


@dataclass(frozen=True)
class Repeat:
    """Action: another page sends the newest message again."""

    at: float
    worker: int


@dataclass(frozen=True)
class Stop:
    """Action: the user stops the chat."""

    at: float
    worker: int


@dataclass(frozen=True)
class Read:
    """Action: another page opens the running response, and closes after some seconds; ``None``: it stays open."""

    at: float
    worker: int
    leaves: float | None


@dataclass(frozen=True)
class Look:
    """Action: a page loads the history."""

    at: float
    worker: int


Action: TypeAlias = Send | Steer | Repeat | Stop | Read | Look


@dataclass(frozen=True)
class Kill:
    """Fault: a worker is killed. ``back_after``: seconds until a new process replaces it; ``None``: at the end."""

    at: float
    worker: int
    back_after: float | None


@dataclass(frozen=True)
class Pause:
    """Fault: a worker is frozen for some seconds."""

    at: float
    worker: int
    seconds: float


@dataclass(frozen=True)
class Retire:
    """Fault: a worker is stopped. It has ``drain`` seconds for its runs."""

    at: float
    worker: int
    drain: float


@dataclass(frozen=True)
class FailOver:
    """Fault: a replica replaces the store of the run log.

    It lacks the writes of the last ``forgets`` seconds, and is unreachable for ``away`` seconds.
    """

    at: float
    forgets: float
    away: float


Fault: TypeAlias = Kill | Pause | Retire | FailOver | Outage


@dataclass(frozen=True)
class Schedule:
    """Actions and faults. ``engine``: recover the runs of dead workers. ``rates``: speed of each worker's clock."""

    seed: int
    engine: bool
    rates: tuple[float, ...]
    actions: tuple[Action, ...]
    faults: tuple[Fault, ...]

    @property
    def end(self) -> float:
        """Time when the last action and the last fault have begun, and the faults have ended."""
        ends = [action.at for action in self.actions]
        for fault in self.faults:
            match fault:
                case Outage() | Pause():
                    ends.append(fault.at + fault.seconds)
                case Kill():
                    ends.append(fault.at + (fault.back_after or 0))
                case Retire():
                    ends.append(fault.at + fault.drain)
                case FailOver():
                    ends.append(fault.at + fault.away)
        return max(ends, default=0.0)


def drawn(seed: int) -> Schedule:
    """Return the schedule of this seed."""
    rng = Random(f"simulation {seed}")
    rates = tuple(rng.choice([1.0, 1.0, rng.uniform(0.9, 1.1)]) for _ in range(WORKERS))
    first = _send(rng, rng.uniform(0, 0.3))
    actions: list[Action] = [first, *(_action(rng) for _ in range(rng.choice([0, 1, 1, 2, 2, 3])))]
    faults = [_fault(rng) for _ in range(rng.choice([0, 1, 1, 2, 2, 3]))]
    faults = [_aimed(rng, fault, first) if rng.random() < AIMED_SHARE else fault for fault in faults]
    losses = [fault for fault in faults if isinstance(fault, (Kill, Pause)) and rng.random() < AIMED_SHARE]
    actions += [_send(rng, fault.at + LEASE * rng.uniform(0.9, 1.6)) for fault in losses]
    if seed >= FIRST_REPEATED:
        return _repeated(Random(f"repeated {seed}"), seed, rates, first)
    if seed >= FIRST_STEERED:
        actions += _steering(Random(f"steering {seed}"), [each for each in actions if isinstance(each, Send)])
    return Schedule(
        seed=seed,
        engine=rng.random() < 0.5,
        rates=rates,
        actions=tuple(sorted(actions, key=_begin)),
        faults=tuple(sorted(faults, key=_begin)),
    )


def _repeated(rng: Random, seed: int, rates: tuple[float, ...], first: Send) -> Schedule:
    """Return a schedule in which a worker dies while its run rewinds the chat, or soon after."""
    stop = Stop(round(first.at + rng.uniform(0.1, 0.5), 4), rng.randrange(WORKERS))
    repeat = Repeat(round(stop.at + rng.uniform(0.3, 0.6), 4), rng.randrange(WORKERS))
    kill = Kill(round(repeat.at + rng.uniform(0, 0.1), 4), repeat.worker, rng.choice([None, rng.uniform(0, 3.0)]))
    actions = (replace(first, leaves=0.05, on_loss="leaves"), stop, repeat)
    return Schedule(seed=seed, engine=True, rates=rates, actions=actions, faults=(kill,))


def _steering(rng: Random, sends: Sequence[Send]) -> list[Steer]:
    """Return random steering messages, in most cases during a run."""
    steering: list[Steer] = []
    for _ in range(rng.choice([1, 1, 2])):
        send = rng.choice(sends)
        script = send.script
        seconds = rng.choice([0.1, 0.1 + script.words * script.pause + script.tool_seconds])
        steering.append(
            Steer(
                at=round(send.at + rng.uniform(0, 1.1 * seconds), 4),
                worker=rng.randrange(WORKERS),
                script=Script(rng.choice(KINDS[:2]), rng.choice([1, 2]), rng.choice([0.0, 0.1]), 0.0),
                sends=rng.random() < 0.4,
            )
        )
    return steering


def _aimed(rng: Random, fault: Fault, first: Send) -> Fault:
    """Return the fault moved to the first run, at its worker."""
    script = first.script
    seconds = rng.choice([0.06, 0.1 + script.words * script.pause + script.tool_seconds])
    at = first.at + rng.uniform(0, seconds)
    if isinstance(fault, FailOver) or (isinstance(fault, Outage) and fault.worker is None):
        return replace(fault, at=round(at, 4))
    return replace(fault, at=round(at, 4), worker=first.worker)


def _begin(one: Action | Fault) -> float:
    return one.at


def _time(rng: Random) -> float:
    """Return a random time, in most cases during the first run."""
    return round(rng.choice([rng.uniform(0, 0.1), rng.uniform(0, 1.5), rng.uniform(0, 4.0)]), 4)


def _send(rng: Random, at: float) -> Send:
    kind = rng.choice(KINDS)
    answer = Answer(rng.random() < 0.7, rng.randrange(WORKERS), rng.uniform(0, 1.0))
    return Send(
        at=round(at, 4),
        worker=rng.randrange(WORKERS),
        script=Script(kind, rng.choice([1, 2, 4]), rng.choice([0.0, 0.1, 0.4]), rng.choice([0.0, 0.3, 2.0, 5.0])),
        leaves=rng.choice([None, None, rng.uniform(0, 1.0)]),
        on_loss=rng.choice(ON_LOSS),
        back_after=rng.choice([0.05, 0.5, 2.0]),
        answer=answer if kind == "pay" and rng.random() < 0.9 else None,
    )


def _action(rng: Random) -> Action:
    at, worker = _time(rng), rng.randrange(WORKERS)
    match rng.choice(["send", "send", "repeat", "stop", "stop", "read", "read", "look"]):
        case "send":
            return _send(rng, at)
        case "repeat":
            return Repeat(at, worker)
        case "stop":
            return Stop(at, worker)
        case "read":
            return Read(at, worker, rng.choice([None, rng.uniform(0, 1.0)]))
        case _:
            return Look(at, worker)


def _fault(rng: Random) -> Fault:
    at, worker = _time(rng), rng.randrange(WORKERS)
    match rng.choice(["kill", "kill", "pause", "pause", "retire", "fail over", "fail over", *["outage"] * 4]):
        case "kill":
            return Kill(at, worker, rng.choice([None, rng.uniform(0, 3.0)]))
        case "pause":
            longer = LEASE * rng.choice([rng.uniform(0.05, 0.7), rng.uniform(0.6, 1.5), rng.uniform(1, 4)])
            return Pause(at, worker, round(longer, 3))
        case "retire":
            return Retire(at, worker, rng.choice([0.0, rng.uniform(0, 2.0)]))
        case "fail over":
            return FailOver(at, rng.choice([0.0, rng.uniform(0, 0.3), rng.uniform(0, 1.5)]), rng.choice([0.0, 0.5]))
        case _:
            store = rng.choice(["run log", *STORES])
            seconds = rng.choice([rng.uniform(0, 0.5), rng.uniform(0, LEASE), rng.uniform(0, 2 * LEASE)])
            return Outage(
                store=store,
                worker=rng.choice([None, rng.randrange(WORKERS)]),
                manner=rng.choice(MANNERS),
                at=at,
                seconds=round(seconds, 3),
            )
