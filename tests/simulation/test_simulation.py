"""A fixed set of schedules, and the simulation itself: its clock, its store, its stories."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stream_protocol.serving.run_logs._run_store import LeaseTimes
from stream_protocol.serving.run_logs._shared_run_log import SharedRunLog
from stream_protocol.testing.run_log_conformance import RunLogConformance, Workers
from tests.simulation.agent import Script
from tests.simulation.execution import simulate
from tests.simulation.many import smallest, story_of
from tests.simulation.model import PROMISES, broken
from tests.simulation.mutants import MUTANTS, applied, table
from tests.simulation.run_store import SimulatedStore, StoreServer
from tests.simulation.schedule import FIRST_REPEATED, FIRST_STEERED, Look, Schedule, Send, Stop, drawn
from tests.simulation.views import wrong_words
from tests.simulation.virtual_time import EndlessError, Process, VirtualLoop, run

FIXED = (*range(100), *range(FIRST_STEERED, FIRST_STEERED + 40), *range(FIRST_REPEATED, FIRST_REPEATED + 20))

FOUND = (
    1605,
    7004,
    13676,
    14938,
    16652,
    21379,
    23688,
    31765,
    38887,
    40709,
    71127,
    96130,
    101380,
    101650,
    107182,
    107995,
    108796,
    209717,
    218925,
    220020,
    220623,
    226842,
    228764,
    230346,
    243074,
    3015092,
    3015708,
    3100291,
    3500777,
    4000277,
    4000739,
    4001559,
    4001576,
    4001661,
    4003780,
    4009084,
    4013766,
    4020717,
    4024193,
    5000511,
    5002844,
)
"""Schedules that have found faults, of ours or of the simulation: see `docs/decisions/simulation.md`."""

FEW = range(6, 12)


def test_the_fixed_schedules_keep_all_promises() -> None:
    assert [(seed, *how) for seed in (*FIXED, *FOUND) for how in broken(simulate(drawn(seed)))] == []


def test_a_seed_tells_the_same_story_each_time() -> None:
    assert [story_of(drawn(seed)) for seed in FEW] == [story_of(drawn(seed)) for seed in FEW]


@pytest.mark.simulate
def test_a_seed_tells_the_same_story_in_another_process() -> None:
    here = "\n\n".join(story_of(drawn(seed)) for seed in FEW)
    command = [sys.executable, "-m", "tests.simulation", "--story", f"{FEW.start}:{FEW.stop}"]
    root = Path(__file__).parents[2]
    for hash_seed in ("1", "2"):
        told = subprocess.run(
            command,
            cwd=root,
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        )
        assert told.stdout == f"{here}\n"


def test_a_failing_schedule_shrinks_to_what_matters() -> None:
    work = Script("work", 4, 0.4, 0.3)
    schedule = Schedule(
        seed=1,
        engine=True,
        rates=(1.0, 1.05, 1.0),
        actions=(Send(0.1, 0, work, 3.0, "resumes", 0.5, None), Look(0.2, 1), Stop(0.3, 2)),
        faults=(),
    )
    with applied(next(mutant for mutant in MUTANTS if mutant.function == "Run.stop")):
        small = smallest(schedule, "an_acknowledged_stop_holds")
        story = story_of(small)
    assert small == replace(
        schedule,
        engine=False,
        rates=(1.0, 1.0, 1.0),
        actions=(Send(0.1, 0, replace(work, words=1, tool_seconds=0.0), None, "leaves", 0.5, None), Stop(0.3, 2)),
    )
    assert story.startswith("Seed 1, without an engine.\n   0.100  A page sends a message to w0: work, 1 words")
    assert "BROKEN  an acknowledged stop holds: the stop was acknowledged at" in story


def test_the_page_has_the_table_of_the_broken_code() -> None:
    page = (Path(__file__).parents[2] / "docs/decisions/simulation.md").read_text()
    assert page.partition("<!-- mutants -->\n")[2].partition("\n<!-- /mutants -->")[0] == table()


def test_each_promise_says_what_it_promises() -> None:
    assert all(promise.__doc__ for promise in PROMISES)


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        ([], ""),
        ([(1, 0), (1, 1), (3, 0)], ""),
        ([(1, 1)], "m1.1 comes after m-1.-1"),
        ([(1, 0), (1, 0)], "m1.0 comes after m1.0"),
        ([(3, 0), (1, 0)], "m1.0 comes after m3.0"),
        ([(1, 0), (1, 1), (1, 2)], "m1.2 was never said"),
    ],
)
def test_wrong_words_are_found(words: list[tuple[int, int]], wrong: str) -> None:
    assert wrong_words(words, {1: 2, 3: 1}) == wrong


def executed(work: Callable[[VirtualLoop], Any]) -> list[Any]:
    """Runs this on a virtual loop. Returns what it has noted."""
    loop = VirtualLoop()
    noted: list[Any] = []

    async def nothing() -> None:
        pass

    async def do() -> None:
        noted.extend(await work(loop))

    run(loop, do(), nothing())
    return noted


def test_the_clock_jumps_to_the_next_timer() -> None:
    async def work(loop: VirtualLoop) -> list[float]:
        await asyncio.sleep(3600)
        return [loop.now]

    assert executed(work) == [3600.0]


def test_a_process_has_a_clock_of_its_own() -> None:
    async def work(loop: VirtualLoop) -> list[float]:
        fast = Process("fast", rate=2.0, offset=100.0)

        async def sleep() -> list[float]:
            await asyncio.sleep(10)
            return [loop.time(), loop.now]

        found: list[float] = await loop.start_in(fast, sleep())
        return found

    assert executed(work) == [110.0, 5.0]


def test_no_timer_comes_early_by_the_clock_of_its_process() -> None:
    async def work(loop: VirtualLoop) -> list[float]:
        fast = Process("fast", rate=1.1, offset=1000.0)

        async def too_early() -> list[float]:
            found = []
            for number in range(200):
                when = loop.time() + number / 7
                reached = asyncio.Event()
                loop.call_at(when, reached.set)
                await reached.wait()
                found.append(max(0.0, when - loop.time()))
            return found

        found: list[float] = await loop.start_in(fast, too_early())
        return found

    assert {*executed(work)} == {0.0}


def test_a_frozen_process_does_nothing_until_it_wakes() -> None:
    async def work(loop: VirtualLoop) -> list[float]:
        process, woken = Process("frozen"), []

        async def sleep() -> None:
            await asyncio.sleep(1)
            woken.append(loop.now)

        task = loop.start_in(process, sleep())
        await asyncio.sleep(0.5)
        process.freeze()
        await asyncio.sleep(5)
        loop.thaw(process)
        await task
        return woken

    assert executed(work) == [5.5]


def test_a_schedule_without_an_end_is_an_error() -> None:
    async def work(_: VirtualLoop) -> list[Any]:
        while True:  # noqa: ASYNC110 - it has no end
            await asyncio.sleep(1)

    with pytest.raises(EndlessError, match="callbacks"):
        executed(work)

    async def wait(loop: VirtualLoop) -> list[Any]:
        await loop.create_future()
        return []

    with pytest.raises(EndlessError, match="Nothing"):
        executed(wait)


class _FlawlessNetwork:
    async def ask(self, store: str, worker: int, name: str, command: Callable[[], Any], failure: object) -> Any:
        result = command()
        return await result if isinstance(result, asyncio.Future) else result


@pytest.mark.simulate
class TestSimulatedRunLog(RunLogConformance):
    """The simulated store is a run log like those over Redis and PostgreSQL."""

    @pytest.fixture
    async def workers(self) -> AsyncIterator[Workers]:
        times = LeaseTimes(lease=3.0, log_retention=60.0)
        server = StoreServer(times, asyncio.get_running_loop().time)
        network: Any = _FlawlessNetwork()
        first, second = (
            SharedRunLog(SimulatedStore(server, network, number, f"w{number}"), times, None) for number in range(2)
        )
        yield first, second
        await first.aclose()
        await second.aclose()
