"""Workers with an engine that die one after the other, are paused, or killed in a storm."""

import asyncio
import re
import time
from random import Random
from typing import Final
from uuid import uuid4

import httpx
import pytest

from stream_protocol.serving.runs._auto_resend import NOTHING_NEW_TEXT
from tests.fleet.browser import browser
from tests.fleet.chat_user import ChatUser, Reading
from tests.fleet.crash_scenarios import LEASE, LOOK_SECONDS, NEVER, comes_back, open_scenario, wrong
from tests.fleet.fault_injector import FaultInjector
from tests.fleet.guarantees import asked_to_fail, at_rest, describe, violations
from tests.fleet.proxy import Proxy
from tests.fleet.workers import Fleet
from tests.processes import HANG
from tests.served import served

pytestmark = [pytest.mark.fleet, pytest.mark.node]

STORM_SECONDS: Final = 20
CHATS: Final = 4


def was_stopped_before_recovery(reading: Reading) -> bool:
    """Return True if a message has interrupted the run of an approval before the recovery of the run began.

    The response shows nothing then. Its error keeps the client from sending the approval again.
    """
    ending = [(chunk["type"], chunk.get("errorText")) for chunk in reading.chunks]
    return ending == [("start", None), ("error", NOTHING_NEW_TEXT)]


@pytest.mark.timeout(240)
@pytest.mark.parametrize(
    ("durable_house", "kind"),
    [("durable_agent:root_agent", "two"), ("durable_agent:loop_agent", "loop")],
    indirect=["durable_house"],
)
async def test_a_third_worker_finishes_what_a_second_could_not(durable_house: Fleet, kind: str) -> None:
    async with open_scenario(durable_house, kind) as scenario:
        whole = await scenario.conversation(NEVER)
        for boundary in range(1, whole.boundaries, 2):
            deaths = boundary, boundary + 1
            found = wrong(await scenario.conversation(deaths), whole, deaths=2)
            assert not found, "\n".join([f"{kind}, boundaries {deaths}", *found, durable_house.said()])


@pytest.mark.parametrize("durable_house", ["eager_agent:root_agent"], indirect=True)
@pytest.mark.parametrize("kind", ["slow", "dig"])
async def test_a_worker_that_was_only_paused_writes_nothing(durable_house: Fleet, kind: str) -> None:
    deployment, key = durable_house, uuid4().hex
    with served(Proxy(deployment.ports).app) as url:
        async with browser(url, 6) as pages:
            page = await pages.page(key, worker=0)
            await page.send(f"{kind} {key}")
            await page.until(
                **({"type": "text"} if kind == "slow" else {"type": "tool-dig", "state": "input-available"})
            )
            await asyncio.sleep(0.5)  # no transaction of its own is open: the database would wait for that
            deployment.workers[0].freeze()
            lost = deployment.said().count("is lost: the run ends")
            coming = asyncio.create_task(comes_back(pages, key, worker=1))
            await asyncio.sleep(LEASE)
            deployment.tool_log.open(key)
            page, shown = await coming
            assert await page.stored_as(shown)
            deployment.workers[0].thaw()
            async with asyncio.timeout(HANG):
                while deployment.said().count("is lost: the run ends") == lost:  # noqa: ASYNC110 - another process says so
                    await asyncio.sleep(LOOK_SECONDS)
            await asyncio.sleep(1)
            assert await page.stored_as(shown)
            assert len(deployment.tool_log.tool_runs(key)) == (kind == "dig")


@pytest.mark.parametrize("durable_house", ["eager_agent:root_agent"], indirect=True)
@pytest.mark.parametrize("kinds", [["worker_is_killed"], []], ids=["workers are killed", "whatever fails"])
async def test_no_run_ends_in_an_error_because_a_worker_was_killed(
    durable_house: Fleet, kinds: list[str], rng: Random
) -> None:
    deployment = durable_house
    deployment.mend()
    fault_injector = FaultInjector(deployment, rng, kinds=kinds)
    limits = httpx.Limits(max_keepalive_connections=0)
    async with httpx.AsyncClient(timeout=HANG, limits=limits, trust_env=False) as http:
        names = [f"{len(kinds)}-{number}" for number in range(CHATS)]
        people = [ChatUser(name, deployment.ports, http, Random(rng.getrandbits(64))) for name in names]
        until = time.monotonic() + STORM_SECONDS
        await asyncio.gather(fault_injector.live(until), *(chat_user.live(until) for chat_user in people))
        broken = [
            said
            for chat_user in people
            for said in violations(chat_user, fault_injector, deployment.tool_log.tool_runs(chat_user.chat))
        ]
        # A run that three of the kills have met is taken for their cause.
        given_up = {*re.findall(r"of chat (\S+) is given up: 3 workers have crashed", deployment.said())}
        assert not given_up or len(fault_injector.faults) >= 3
        broken += [
            f"{chat_user.chat}: ends in an error: {describe(reading)}"
            for chat_user in people
            for reading in chat_user.readings
            if kinds
            and reading.ends_in == "error"
            and not (asked_to_fail(reading) or was_stopped_before_recovery(reading))
            and chat_user.chat not in given_up
        ]
        for chat_user in people:
            broken += await at_rest(chat_user, fault_injector)
    assert fault_injector.faults
    assert not broken, "\n".join([*broken, deployment.said()[-8000:]])
