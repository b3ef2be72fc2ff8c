"""What an attack is, and all of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from tests.attacks.attacker import Attacker
from tests.attacks.house import HouseName

MEMORY: Final[Sequence[HouseName]] = ("memory",)
SHARED: Final[Sequence[HouseName]] = ("memory", "Redis")
"""Where what runs is kept, which is all that matters to most."""
STORES: Final[Sequence[HouseName]] = ("memory", "SQLite", "Redis")


@dataclass(frozen=True)
class Attack:
    """``sentence``: what is tried. ``memory``, in MiB, ``files`` and ``log``, in KiB: the most that the server may take
    for it: on top of what it had before, and while nothing but the victim goes on beside."""

    name: str
    kind: str
    sentence: str
    run: Callable[[Attacker], None]
    houses: Sequence[HouseName]
    memory: int
    files: int
    log: int


ATTACKS: Final[list[Attack]] = []


def attack(
    sentence: str,
    houses: Sequence[HouseName] = MEMORY,
    *,
    memory: int = 256,
    files: int = 100,
    log: int = 32,
) -> Callable[[Callable[[Attacker], None]], Callable[[Attacker], None]]:
    """Names an attack by its function, and its kind by the module."""

    def put(run: Callable[[Attacker], None]) -> Callable[[Attacker], None]:
        kind = run.__module__.rpartition(".")[2]
        ATTACKS.append(Attack(run.__name__, kind, sentence, run, houses, memory, files, log))
        return run

    return put
