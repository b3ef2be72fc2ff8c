"""The type of an attack, and the list of all attacks."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from tests.attacks.attacker import Attacker
from tests.attacks.house import HouseName

MEMORY: Final[Sequence[HouseName]] = ("memory",)
SHARED: Final[Sequence[HouseName]] = ("memory", "Redis")
"""The stores of runs. Most attacks depend on nothing else."""
STORES: Final[Sequence[HouseName]] = ("memory", "SQLite", "Redis")


@dataclass(frozen=True)
class Attack:
    """An attack. ``sentence``: describes it. ``memory`` in MiB, ``files`` and ``log`` in KiB: limits of the server's
    growth. They apply while only the victim's chat goes on beside the attack.
    """

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
