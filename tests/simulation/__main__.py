"""Executes many schedules: ``python -m tests.simulation 0:100000``, or some seeds: ``python -m tests.simulation 7 8``.

Prints the number of schedules, and the story of the first schedule that breaks each promise.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from typing import TYPE_CHECKING

from tests.simulation.many import execute_all, smallest, story_of
from tests.simulation.schedule import drawn

if TYPE_CHECKING:
    from collections.abc import Sequence


def _seeds(texts: Sequence[str]) -> list[int]:
    found: list[int] = []
    for text in texts:
        first, colon, last = text.partition(":")
        found += range(int(first), int(last)) if colon else [int(first)]
    return found


def main(arguments: Sequence[str]) -> int:
    """Run the schedules of the arguments. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("seeds", nargs="+", help="seeds, or ranges such as 0:1000")
    parser.add_argument("--minutes", type=float, default=10.0, help="no schedule begins after these")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--story", action="store_true", help="tell the story of each schedule, as it was drawn")
    given = parser.parse_args(arguments)
    seeds = _seeds(given.seeds)
    if given.story:
        print(*(story_of(drawn(seed)) for seed in seeds), sep="\n\n")
        return 0
    begun = time.perf_counter()
    executed, found = execute_all(seeds, processes=given.processes, minutes=given.minutes)
    seconds = time.perf_counter() - begun
    print(f"{executed:,} schedules in {seconds:.0f} seconds: {60 * executed / seconds:,.0f} a minute.")
    first: dict[str, int] = {}
    for seed, promise, how in found:
        print(f"seed {seed}: {promise.replace('_', ' ')}: {how}")
        first.setdefault(promise, seed)
    for promise, seed in first.items():
        print(f"\n{story_of(smallest(drawn(seed), promise))}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
