"""Table of bench/reports/attacks.md. The rows are registered attacks, the figures come from one run."""

from collections.abc import Iterable, Mapping
from typing import Final

from tests.attacks.attack_run import Row
from tests.attacks.registry import ATTACKS

HEAD: Final = (
    "| Attack | Server | Responses | Longest delay, ms | Memory, MiB | Open files |\n|---|---|---|---:|---:|---:|"
)
LONG: Final = 100.0
"""Milliseconds. A longer delay of another chat is marked."""

CLOSED: Final[Mapping[int, str]] = {0: "closed", -1: "none in time"}


def keys() -> list[tuple[str, str]]:
    """Return the first two cells of each row, in order."""
    return [(attack.sentence, deployment) for attack in ATTACKS for deployment in attack.deployments]


def table(rows: Iterable[Row]) -> str:
    by_key = {(row.attack.sentence, row.deployment): row for row in rows}
    return "\n".join([HEAD, *(_line(by_key[key]) for key in keys() if key in by_key)])


def _line(row: Row) -> str:
    answers = ", ".join(f"{CLOSED.get(status, status)}: {count}" for status, count in sorted(row.statuses.items()))
    delay = f"**{row.delay:,.0f}**" if row.delay > LONG else f"{row.delay:.0f}"
    return f"| {row.attack.sentence} | {row.deployment} | {answers} | {delay} | {max(row.memory, 0)} | {row.files} |"
