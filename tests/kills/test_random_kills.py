"""Workers are killed at random moments, and real clients come back: nothing is lost, and nothing is done twice.

Run with ``make suite NAME=kills``. ``SEED=7`` or ``SEEDS="7 8"`` draws other schedules than the fixed ones.
``KILLS_RECORD=FILE`` appends a line of JSON about each schedule to that file.
"""

import asyncio
import json
import os
import time
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final, get_args

import httpx
import pytest

from tests.durable.test_every_event import AGENTS
from tests.fleet.browser import pages_of
from tests.kills.checker import Checker, errors_logged
from tests.kills.deployment import GIVEN_UP, Deployment, deployed
from tests.kills.kinds import KINDS
from tests.kills.schedule import ACTIONS, FIXED, ROOTS, WORLDS, Fault, Harm, Schedule, drawn, printed, seeds
from tests.kills.visitor import Visitor
from tests.postgres import Postgres
from tests.processes import HANG
from tests.tools import missing

pytestmark = [pytest.mark.kills, pytest.mark.node, pytest.mark.timeout(400)]

LOOK_SECONDS: Final = 0.25


def test_all_kinds_of_conversations_are_there() -> None:
    assert {kind.is_like for kind in KINDS.values()} - {""} == {*AGENTS}


def test_the_fixed_seeds_have_every_world_agent_kind_deed_and_fault() -> None:
    schedules = [drawn(seed) for seed in FIXED]
    visits = [visit for schedule in schedules for chat in schedule.chats for visit in chat.visits]
    assert {schedule.world for schedule in schedules} == {*WORLDS}
    assert {schedule.root for schedule in schedules} == {*ROOTS, "desk"}
    assert {visit.kind for visit in visits} == {*KINDS}
    assert {visit.action for visit in visits} == {*ACTIONS}
    assert {fault.harm for schedule in schedules for fault in schedule.faults} == {*get_args(Harm)}


@pytest.mark.parametrize("seed", seeds())
async def test_nothing_is_lost_and_nothing_is_done_twice(seed: int, tmp_path: Path, postgres: Postgres) -> None:
    if find_spec("dbos") is None:
        missing("DBOS is not installed: pip install 'adk-ui-stream[durable]'")
    schedule = drawn(seed)
    async with deployed(schedule, tmp_path, postgres) as deployment, pages_of("kill-pages.mjs") as pages:
        visitors = [Visitor(number, chat, deployment.ports, pages) for number, chat in enumerate(schedule.chats)]
        lives = [asyncio.create_task(visitor.live()) for visitor in visitors]
        harms = [asyncio.create_task(harm(deployment, visitors, fault)) for fault in schedule.faults]
        ended = await asyncio.gather(*lives, return_exceptions=True)
        await asyncio.gather(*harms)
        await deployment.mend()
        failed = {visitor.id: error for visitor, error in zip(visitors, ended, strict=True) if error}
        found = [f"{chat}: {error!r}" for chat, error in failed.items()]
        found += await at_rest(deployment, visitors)
        deployment.notice_business()
        told: list[str] = []
        for visitor in visitors:
            readings = await visitor.readings()
            wrong = [*Checker(deployment, visitor, readings, await stored(deployment, visitor)).wrong()]
            found += wrong
            if wrong or visitor.id in failed:
                told += ["", visitor.id, *(reading.told() for reading in readings)]
                deployment.dump(visitor.id)
        found += errors_logged(deployment)
    told += [
        f"{fault_seen.begun % 1000:.3f} {fault_seen.harm} {fault_seen.worker} until {fault_seen.ended % 1000:.3f}"
        for fault_seen in deployment.fault_records
    ]
    again = f"again: make suite NAME=kills SEED={seed}"
    report = "\n".join([*found, *told, "", printed(schedule), again, str(tmp_path)])
    record(schedule, deployment, found, report)
    assert not found, report


async def harm(deployment: Deployment, visitors: Sequence[Visitor], fault: Fault) -> None:
    visitor = visitors[fault.chat]
    await visitor.moments[fault.visit][fault.since].wait()
    await asyncio.sleep(fault.after)
    await deployment.harm(fault, visitor.chat.visits[fault.visit].worker)


async def at_rest(deployment: Deployment, visitors: Sequence[Visitor]) -> list[str]:
    """Work that continues, or that the engine still stores, long after all runs have ended."""
    found: list[str] = []
    deadline = time.monotonic() + HANG
    async with httpx.AsyncClient(timeout=HANG, trust_env=False) as http:
        for visitor in visitors:
            for port in deployment.ports:
                url = f"http://127.0.0.1:{port}/api/chat/{visitor.id}/stream"
                while (answer := await http.get(url)).status_code != 204:
                    if time.monotonic() > deadline:
                        found.append(f"{visitor.id}: still runs: {answer.status_code} {answer.text[-200:]}")
                        break
                    await asyncio.sleep(LOOK_SECONDS)
    while left := await asyncio.to_thread(deployment.left_over):
        if time.monotonic() > deadline:
            return [*found, f"left in the engine: {left}"]
        await asyncio.sleep(LOOK_SECONDS)
    return found


async def stored(deployment: Deployment, visitor: Visitor) -> object:
    """The history that all workers give."""
    histories: list[object] = []
    async with httpx.AsyncClient(timeout=HANG, trust_env=False) as http:
        for port in deployment.ports:
            answer = await http.get(f"http://127.0.0.1:{port}/api/chat/{visitor.id}")
            histories.append(answer.json()["messages"] if answer.status_code == 200 else None)
    if any(history != histories[0] for history in histories):
        visitor.wrong.append(f"two histories: {histories}")
    return histories[0]


def record(schedule: Schedule, deployment: Deployment, found: Sequence[str], report: str) -> None:
    if (file := os.environ.get("KILLS_RECORD")) is not None:
        kills = sum(fault_seen.harm == "kill" for fault_seen in deployment.fault_records)
        line = {
            "seed": schedule.seed,
            "world": schedule.world,
            "root": schedule.root,
            "kills": kills,
            "given up": sum(GIVEN_UP in each["message"] for each in deployment.logged()),
            "faults": [fault_seen.harm for fault_seen in deployment.fault_records],
            "found": [*found],
            "report": report if found else "",
        }
        with Path(file).open("a") as lines:
            lines.write(json.dumps(line) + "\n")
