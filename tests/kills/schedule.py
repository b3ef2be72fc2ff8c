"""Draws the schedule of a test from a seed: the users' actions, and the failures of workers and stores.

All times are seconds. Times of actions and faults count from the moment when a page sends its message, or gets its
response.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass
from random import Random
from typing import Any, Final, Literal

from tests.kills.kinds import KINDS

World = Literal["redis", "postgres", "files"]

WORLDS: Final[Sequence[World]] = ("files", "redis", "postgres")

ROOTS: Final = tuple(dict.fromkeys(kind.root for kind in KINDS.values() if kind.root != "desk"))

LEASE: Final = 3.0
"""Seconds of a lease. Short, because tests wait for it, and long enough for a busy machine."""

LOOK: Final = 2.0
"""Seconds between a worker's searches for orphaned runs."""

CHATS: Final = 6

Action = Literal["", "stop", "words", "regenerate", "edit", "delete", "leave", "tab"]

ACTIONS: Final[Sequence[Action]] = ("", "", "", "stop", "words", "regenerate", "edit", "delete", "leave", "tab")

Way = Literal["repeat", "reload"]

From = Literal["sent", "answered"]

Harm = Literal[
    "kill", "pause", "redis restarts", "postgres restarts", "sessions read-only", "engine read-only", "log read-only"
]

STORES: Final[dict[World, Sequence[Harm]]] = {
    "files": (),
    "redis": ("redis restarts", "postgres restarts", "sessions read-only", "engine read-only"),
    "postgres": ("postgres restarts", "sessions read-only", "engine read-only", "log read-only"),
}


@dataclass(frozen=True)
class Visit:
    """A message of the user, and what the user does while the agent answers.

    ``action``: that action; it begins ``after`` seconds, counted ``since`` a moment.
    ``then``: the kind of the new message, or of the message that an edit puts in place of the first.
    ``worker``, ``other_worker``: the workers that the page asks, and that a second tab asks.
    ``ways``, ``pauses``: the ways and the delays of reconnects after a lost worker. Each reconnect uses the next way
    and the next delay, from the first again after the last.
    """

    kind: str
    file: bool
    action: Action
    since: From
    after: float
    then: str
    approves: bool
    early: bool
    worker: int
    other_worker: int
    ways: tuple[Way, ...]
    pauses: tuple[float, ...]


@dataclass(frozen=True)
class Chat:
    begins: float
    ai: Literal[6, 7]
    visits: tuple[Visit, ...]


@dataclass(frozen=True)
class Fault:
    """Fault of a worker or a store.

    ``after``: the visit whose message or response starts it. ``worker``: number of the affected worker; ``None``: the
    page's worker. ``seconds``: time until it is repaired.
    """

    harm: Harm
    chat: int
    visit: int
    since: From
    after: float
    worker: int | None
    seconds: float


@dataclass(frozen=True)
class Schedule:
    seed: int
    world: World
    root: str
    workers: int
    chats: tuple[Chat, ...]
    faults: tuple[Fault, ...]

    @property
    def breaks_stores(self) -> bool:
        return any(fault.harm not in {"kill", "pause"} for fault in self.faults)


def drawn(seed: int) -> Schedule:
    rng = Random(f"kills {seed}")
    world = WORLDS[seed % len(WORLDS)]
    root = "desk" if seed % 2 == 0 else ROOTS[seed // 2 % len(ROOTS)]
    workers = 1 if world == "files" else rng.choice([2, 2, 3])
    kinds = [name for name, kind in KINDS.items() if kind.root == root]
    chats = tuple(_chat(rng, kinds, workers) for _ in range(CHATS))
    return Schedule(seed, world, root, workers, chats, _faults(rng, world, workers, chats))


def _chat(rng: Random, kinds: Sequence[str], workers: int) -> Chat:
    visits = tuple(_visit(rng, kinds, workers) for _ in range(rng.choice([1, 1, 2])))
    return Chat(rng.uniform(0, 1.5), rng.choice([6, 7]), visits)


def _visit(rng: Random, kinds: Sequence[str], workers: int) -> Visit:
    return Visit(
        kind=rng.choice(kinds),
        file=rng.random() < 0.3,
        action=rng.choice(ACTIONS),
        since=rng.choice(["sent", "answered"]),
        after=rng.choice([rng.uniform(0, 0.2), rng.uniform(0, 2.0), rng.uniform(1.0, 8.0)]),
        then=rng.choice(kinds),
        approves=rng.random() < 0.7,
        early=rng.random() < 0.5,
        worker=rng.randrange(workers),
        other_worker=rng.randrange(workers),
        ways=tuple(rng.choice(["repeat", "reload"]) for _ in range(4)),
        pauses=tuple(rng.choice([rng.uniform(0, 0.2), rng.uniform(0, 3.0)]) for _ in range(4)),
    )


def _faults(rng: Random, world: World, workers: int, chats: Sequence[Chat]) -> tuple[Fault, ...]:
    found: list[Fault] = []
    # A single server has all runs: with more kills than these, most of its runs are given up.
    for _ in range(rng.choice([1, 2, 2] if workers == 1 else [2, 3, 3])):
        chat = rng.randrange(len(chats))
        visit = rng.randrange(len(chats[chat].visits))
        # From before the first byte on, to some time after the end.
        since: From = rng.choice(["sent", "answered", "answered"])
        after = rng.choice([rng.uniform(0, 0.15), rng.uniform(0, 1.2), rng.uniform(0, 3.0)])
        found.append(Fault("kill", chat, visit, since, after, None, rng.uniform(0, 1.0)))
        if rng.random() < 0.7:  # another one, in the recovery
            soon = after + (0.5 if world == "files" else LEASE) + rng.uniform(0, LOOK + 2.0)
            found.append(Fault("kill", chat, visit, since, soon, rng.randrange(workers), rng.uniform(0, 1.0)))
    extra: Sequence[Harm] = rng.choice([(), (), ("pause",), STORES[world]])
    if extra and world != "files":
        harm, chat = rng.choice(extra), rng.randrange(len(chats))
        seconds = rng.uniform(LEASE * 1.2, LEASE * 2.5)
        found.append(Fault(harm, chat, 0, "answered", rng.uniform(0, 2.5), None, seconds))
    return tuple(found)


def printed(value: Any, indent: str = "") -> str:
    """Return the schedule as text, with a line for each visit and each fault."""
    if isinstance(value, tuple) and value and is_dataclass(value[0]):
        return "".join(f"\n{indent}{number}: {printed(each, indent + '  ')}" for number, each in enumerate(value))
    if is_dataclass(value):
        return " ".join(f"{each.name}={printed(getattr(value, each.name), indent + '  ')}" for each in fields(value))
    if isinstance(value, tuple):
        return "(" + ", ".join(map(printed, value)) + ")"
    return f"{value:.3f}" if isinstance(value, float) else str(value)


FIXED: Final = (1, 11, 13, 115, 168, 329, 331, 383, 389, 728)
"""Seeds that together have every kind of store, agent, conversation, action and fault."""


def seeds() -> list[int]:
    """Return the seeds of ``KILLS_SEEDS="1 2 3"``, or else the fixed seeds."""
    said = os.environ.get("KILLS_SEEDS", "")
    return [int(seed) for seed in said.split()] or [*FIXED]
