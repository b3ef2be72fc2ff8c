"""Thousands of chats with two workers: the resources that are not released.

``SOAK_MINUTES`` says for how long. One worker stays from the beginning to the end, the other one is killed again and
again. ``SOAK_RECORD`` names a file for what was seen.
"""

import asyncio
import os
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import forkserver
from pathlib import Path
from random import Random
from typing import Final

import psutil
import pytest

from tests.fleet.fault_injector import FaultInjector
from tests.fleet.proxy import Proxy
from tests.fleet.workers import LEASE, Fleet, fleet
from tests.postgres import Postgres
from tests.served import served
from tests.soak.crowd import USER, Crowd, RealClient
from tests.soak.record import MAX_GROWTH, MAX_MORE_BLOCKS, Record, left_behind, recorded
from tests.soak.watch import Look, Watch

MINUTES: Final = float(os.environ.get("SOAK_MINUTES", "10"))
RECORD: Final = os.environ.get("SOAK_RECORD")

PEOPLE: Final = 40
REAL_CLIENTS: Final = 2
"""Of the people at once, those with the ``ai`` package."""

DEATHS: Final = (20.0, 50.0)
"""The least and the most seconds between two deaths of a worker."""

REST_SECONDS: Final = 120.0
"""At most, until all is given back: Redis keeps a log for 60 s after its end."""

MOST_STORES: Final = 1 + 32 + 15 + PEOPLE
"""Connections of a worker: docs/redis.md has those to Redis; SQLAlchemy's pool has 5 and up to 10 more."""

EXPECTED: Final = "the model has failed"
"""Lines in the log for refused users."""

LOGGED: Final = 8000
"""Characters of the workers' logs that are shown."""

pytestmark = [pytest.mark.soak, pytest.mark.node, pytest.mark.timeout(MINUTES * 60 + 600)]


@dataclass(frozen=True)
class Outcome:
    """``wrong``: sentences."""

    record: Record
    wrong: Sequence[str]


async def test_a_soak_leaves_nothing_behind(
    postgres: Postgres, tmp_path: Path, rng: Random, capsys: pytest.CaptureFixture[str]
) -> None:
    forkserver.ensure_running()
    before = processes()
    with fleet(
        tmp_path, postgres.new_database(), 6, "--user-header", USER, agent="tests.soak.agent:root_agent"
    ) as deployment:
        outcome = await soak(deployment, rng)
        wrong = [*outcome.wrong]
        for worker in deployment.workers:
            worker.end()
            if (code := await asyncio.to_thread(worker.ended)) != -signal.SIGTERM:
                wrong.append(f"a worker that is told to end exits with {code}")
        lines = deployment.said().splitlines()
        said = "\n".join(line for line in lines if EXPECTED not in line)[-LOGGED:]
    if left := processes() - before:
        wrong.append(f"processes are left: {left}")
    if RECORD:
        outcome.record.write(Path(RECORD))
    with capsys.disabled():
        print(f"\n{outcome.record.summary()}")  # noqa: T201 - what somebody who starts it wants to see
    assert not wrong, "\n".join([*wrong, said])


async def soak(deployment: Fleet, rng: Random) -> Outcome:
    """Runs the soak, and returns its problems."""
    fault_injector = FaultInjector(
        deployment, rng, kinds=["worker_is_killed"], workers=deployment.workers[1:], pause=DEATHS
    )
    watch = Watch(deployment, fault_injector)
    crowd = Crowd(deployment, fault_injector, watch, rng)
    await crowd.live(time.monotonic(), people=PEOPLE)
    await asyncio.sleep(2 * LEASE)
    first = watch.look().workers[0]
    assert first is not None
    watching = asyncio.create_task(watch.live())
    with served(Proxy(deployment.ports).app) as url:
        until = time.monotonic() + MINUTES * 60
        clients = [RealClient(crowd, url, f"real{number}", rng) for number in range(REAL_CLIENTS)]
        await asyncio.gather(
            fault_injector.live(until),
            crowd.live(until, people=PEOPLE - REAL_CLIENTS),
            *(client.live(until) for client in clients),
        )
    watching.cancel()
    with suppress(asyncio.CancelledError):
        await watching
    deaths = [fault.begun - watch.begun for fault in fault_injector.faults if fault.name == "worker_is_killed"]
    record = recorded(watch.moments, deaths)
    wrong = [*crowd.broken, *await at_rest(watch, first)]
    if record.growth > MAX_GROWTH:
        wrong.append(
            f"memory has grown by {record.growth:.1f} MiB, of at most {MAX_GROWTH}: {record.windows('memory')}"
        )
    if record.more_blocks > MAX_MORE_BLOCKS:
        wrong.append(f"Python's objects are {record.more_blocks:.0%} more: {record.windows('blocks')}")
    return Outcome(record, wrong)


async def at_rest(watch: Watch, first: Look) -> list[str]:
    """The resources that are not released in time."""
    deadline = time.monotonic() + REST_SECONDS
    while (wrong := unrest(watch, first)) and time.monotonic() < deadline:  # noqa: ASYNC110 - nobody tells of it
        await asyncio.sleep(1)
    return wrong


def unrest(watch: Watch, first: Look) -> list[str]:
    now = watch.look()
    wrong = [f"{now.keys} keys are left in Redis: {watch.some_keys()}"] if now.keys else []
    for number, look in enumerate(now.workers):
        if look is None:
            wrong.append(f"worker {number} is gone")
            continue
        wrong += [f"worker {number} has {left}" for left in left_behind(first, look)]
        if look.stores > MOST_STORES:
            wrong.append(f"worker {number} has {look.stores} connections to its stores")
    return wrong


def processes() -> set[psutil.Process]:
    """The processes that this process has started, with their children."""
    return {*psutil.Process().children(recursive=True)}
