"""A fleet in trouble: whatever is killed, frozen or away, no promise about a chat is broken.

``FLEET_SECONDS`` makes it longer.
"""

import asyncio
import os
import time
from random import Random

import httpx
import pytest

from tests.fleet.chat_user import ChatUser
from tests.fleet.fault_injector import FaultInjector
from tests.fleet.guarantees import at_rest, violations
from tests.fleet.workers import Fleet
from tests.processes import HANG

SECONDS = float(os.environ.get("FLEET_SECONDS", "35"))
CHATS = 4

LOGGED = 8000
"""Characters of the workers' logs that are shown."""

pytestmark = pytest.mark.fleet


@pytest.mark.parametrize("deployment", [6], ids=["ai@6"], indirect=True)
async def test_no_promise_is_broken_whatever_fails(deployment: Fleet, rng: Random) -> None:
    deployment.mend()
    broken = await trouble(deployment, rng)
    assert not broken, "\n".join([f"FLEET_SECONDS={SECONDS}", *broken, deployment.said()[-LOGGED:]])


async def trouble(deployment: Fleet, rng: Random) -> list[str]:
    """The broken promises."""
    fault_injector = FaultInjector(deployment, Random(rng.getrandbits(64)))
    limits = httpx.Limits(max_keepalive_connections=0)
    async with httpx.AsyncClient(timeout=HANG, limits=limits, trust_env=False) as http:
        people = [ChatUser(f"chat{n}", deployment.ports, http, Random(rng.getrandbits(64))) for n in range(CHATS)]
        until = time.monotonic() + SECONDS
        await asyncio.gather(fault_injector.live(until), *(chat_user.live(until) for chat_user in people))
        broken = [
            said
            for chat_user in people
            for said in [*violations(chat_user, fault_injector, deployment.tool_log.tool_runs(chat_user.chat))]
        ]
        for chat_user in people:
            broken += await at_rest(chat_user, fault_injector)
    return broken
