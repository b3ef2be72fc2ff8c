"""Executes many schedules in several processes, and reports the failures."""

from __future__ import annotations

import gc
import logging
import multiprocessing
import time
from typing import TYPE_CHECKING, Final, TypeAlias

from tests.simulation.execution import simulate
from tests.simulation.model import broken
from tests.simulation.schedule import Schedule, drawn
from tests.simulation.shrinking import shrunk
from tests.simulation.story import told

if TYPE_CHECKING:
    from collections.abc import Sequence

CHUNK: Final = 200

Failure: TypeAlias = tuple[int, str, str]
"""A seed, the promise that it breaks, and the details."""


def failures_of(seeds: Sequence[int]) -> list[Failure]:
    """Return the broken promises of some schedules."""
    found = [(seed, promise, how) for seed in seeds for promise, how in broken(simulate(drawn(seed)))]
    gc.collect()
    return found


def story_of(schedule: Schedule) -> str:
    """Return the story of one schedule."""
    seen = simulate(schedule, tells=True)
    return told(seen, broken(seen))


def smallest(schedule: Schedule, promise: str) -> Schedule:
    """Return the smallest similar schedule that breaks the promise."""
    return shrunk(schedule, lambda other: any(name == promise for name, _ in broken(simulate(other))))


def execute_all(seeds: Sequence[int], *, processes: int | None, minutes: float) -> tuple[int, list[Failure]]:
    """Execute schedules until all are done or the time is over. Returns the number of executed schedules, and the
    failures.
    """
    begun, executed, found = time.perf_counter(), 0, list[Failure]()
    chunks = [seeds[begin : begin + CHUNK] for begin in range(0, len(seeds), CHUNK)]
    with multiprocessing.get_context("spawn").Pool(processes, _begin_process) as pool:
        for chunk, failures in zip(chunks, pool.imap(failures_of, chunks), strict=True):
            found += failures
            executed += len(chunk)
            if time.perf_counter() - begun > 60 * minutes:
                break
    return executed, found


def _begin_process() -> None:
    gc.collect()
    gc.freeze()  # what was imported is never garbage
    logging.disable(logging.CRITICAL)  # once: it clears the caches of all loggers
