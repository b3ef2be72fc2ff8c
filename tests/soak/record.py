"""Measurements of a soak as columns of numbers, and their assessment."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any, Final

from tests.soak.watch import BUSY, Look, Moment

WARM_UP: Final = 0.25
"""Share of the time in which memory may grow: lazy imports, pools, arenas."""

WINDOWS: Final = 5
"""Number of equal windows in the rest of the time. Their medians are compared: single measurements vary."""

MAX_GROWTH: Final = 10.0
"""Maximum growth in MiB from the first window to the last."""

MAX_MORE_BLOCKS: Final = 0.05
"""Maximum relative growth of Python's memory blocks from the first window to the last."""

NUMBERS: Final = ("memory", "blocks", "clients", "stores", "files", "threads", "lag")
"""Numbers of a worker at each moment: see ``Look``."""

Column = Sequence[float | None]
"""A number for each moment; ``None`` if the worker did not exist."""


@dataclass(frozen=True)
class Record:
    """Measurements of a soak. The columns are as long as ``seconds``.

    ``workers``: one that stays, and one that is killed at each of ``deaths`` (seconds).
    """

    seconds: Sequence[float]
    chats: Sequence[int]
    load: Sequence[float]
    keys: Sequence[int]
    workers: Sequence[Mapping[str, Column]]
    deaths: Sequence[float]

    def windows(self, number: str) -> list[float]:
        """Return the median of a number in each window, for the worker that stays."""
        column = [each for each in self.workers[0][number] if each is not None]
        judged = column[int(len(column) * WARM_UP) :]
        bounds = [len(judged) * window // WINDOWS for window in range(WINDOWS + 1)]
        return [median(judged[begin:end]) for begin, end in pairwise(bounds)]

    @property
    def growth(self) -> float:
        """Growth in MiB from the first window to the last."""
        first, *_, last = self.windows("memory")
        return last - first

    @property
    def more_blocks(self) -> float:
        """Relative growth of Python's memory blocks from the first window to the last."""
        first, *_, last = self.windows("blocks")
        return last / first - 1

    def summary(self) -> str:
        """Return a summary for the terminal."""
        lags = [each for worker in self.workers for each in worker["lag"] if each is not None]
        memory = ", ".join(f"{each:.1f}" for each in self.windows("memory"))
        blocks = ", ".join(f"{each / 1000:.0f}" for each in self.windows("blocks"))
        return (
            f"{self.chats[-1]:,} chats in {self.seconds[-1] / 60:.1f} minutes, {len(self.deaths)} deaths of a worker.\n"
            f"Memory of the worker that stays, MiB, medians of {WINDOWS} windows after the warm-up: {memory}.\n"
            f"Its Python objects, thousands of pieces of memory: {blocks}.\n"
            f"Loop late by, in the worst moment of each second, ms: median {median(lags):.0f}, most {max(lags):.0f}.\n"
            f"Load of the machine: median {median(self.load):.1f}. Worst lag above {BUSY:.0f} ms, when broken promises"
            f" are not counted: in {sum(each > BUSY for each in lags) / len(lags):.0%} of the seconds."
        )

    def write(self, file: Path) -> None:
        """Write the record as JSON, with a line for each column."""
        lines = [
            f'"{name}": {json.dumps(getattr(self, name))}' for name in ("seconds", "chats", "load", "keys", "deaths")
        ]
        workers = [
            "{" + ",\n".join(f'"{name}": {json.dumps(each[name])}' for name in NUMBERS) + "}" for each in self.workers
        ]
        file.write_text("{\n" + ",\n".join([*lines, '"workers": [' + ",\n".join(workers) + "]"]) + "\n}\n")


def recorded(moments: Sequence[Moment], deaths: Sequence[float]) -> Record:
    """Return the moments as columns."""
    return Record(
        seconds=[moment.seconds for moment in moments],
        chats=[moment.chats for moment in moments],
        load=[round(moment.load, 1) for moment in moments],
        keys=[moment.keys for moment in moments],
        workers=[
            {name: [_number(moment.workers[which], name) for moment in moments] for name in NUMBERS} for which in (0, 1)
        ],
        deaths=[round(death, 1) for death in deaths],
    )


def load_record(file: Path) -> Record:
    """Return the record in a file of ``write``."""
    told: dict[str, Any] = json.loads(file.read_text())
    return Record(**told)


def left_behind(before: Look, after: Look) -> list[str]:
    """Return the resources that a worker has at its end, and did not have at its beginning.

    ``stores`` and ``threads`` are pools with their own limits, so they do not count.
    """
    more = {name: count for name, count in after.tasks.items() if count > before.tasks.get(name, 0)}
    wrong = [f"tasks: {more}"] if more else []
    if after.clients:
        wrong.append(f"{after.clients} connections to clients")
    if after.files > before.files:
        wrong.append(f"{after.files} open files, {before.files} before")
    return wrong


def _number(look: Look | None, name: str) -> float | None:
    return None if look is None else getattr(look, name)
