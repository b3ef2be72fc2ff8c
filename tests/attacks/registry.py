"""Type of an attack, and the list of all attacks."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from tests.attacks.attacker import Attacker
from tests.attacks.deployment import DeploymentName

MEMORY: Final[Sequence[DeploymentName]] = ("memory",)
SHARED: Final[Sequence[DeploymentName]] = ("memory", "Redis")
"""Stores of runs. Most attacks do not depend on other settings."""
STORES: Final[Sequence[DeploymentName]] = ("memory", "SQLite", "Redis")


@dataclass(frozen=True)
class Attack:
    """An attack. ``sentence``: its description.

    ``memory`` (MiB), ``files`` and ``log`` (KiB) limit the server's growth during the attack. Apart from the attack,
    only one chat of another user runs.
    """

    name: str
    kind: str
    sentence: str
    run: Callable[[Attacker], None]
    deployments: Sequence[DeploymentName]
    memory: int
    files: int
    log: int


ATTACKS: Final[list[Attack]] = []


def attack(
    sentence: str,
    deployments: Sequence[DeploymentName] = MEMORY,
    *,
    memory: int = 256,
    files: int = 100,
    log: int = 32,
) -> Callable[[Callable[[Attacker], None]], Callable[[Attacker], None]]:
    """Register an attack. Its name is the name of the function, and its kind is the name of the module."""

    def put(run: Callable[[Attacker], None]) -> Callable[[Attacker], None]:
        kind = run.__module__.rpartition(".")[2]
        ATTACKS.append(Attack(run.__name__, kind, sentence, run, deployments, memory, files, log))
        return run

    return put
