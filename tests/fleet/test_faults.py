"""A fleet in trouble: whatever is killed, frozen or away, no promise about a chat is broken.

``FLEET_SECONDS`` makes it longer.
"""

import asyncio
import os
import time
from random import Random

import httpx
import pytest

from tests.fleet.gremlin import Gremlin
from tests.fleet.person import Person
from tests.fleet.promises import at_rest, judge
from tests.fleet.workers import Fleet
from tests.processes import HANG

SECONDS = float(os.environ.get("FLEET_SECONDS", "35"))
CHATS = 4

LOGGED = 8000
"""Characters of the workers' logs that are shown."""

pytestmark = pytest.mark.fleet


@pytest.mark.parametrize("house", [6], ids=["ai@6"], indirect=True)
async def test_no_promise_is_broken_whatever_fails(house: Fleet, rng: Random) -> None:
    house.mend()
    broken = await trouble(house, rng)
    assert not broken, "\n".join([f"FLEET_SECONDS={SECONDS}", *broken, house.said()[-LOGGED:]])


async def trouble(house: Fleet, rng: Random) -> list[str]:
    """The broken promises."""
    gremlin = Gremlin(house, Random(rng.getrandbits(64)))
    limits = httpx.Limits(max_keepalive_connections=0)
    async with httpx.AsyncClient(timeout=HANG, limits=limits, trust_env=False) as http:
        people = [Person(f"chat{n}", house.ports, http, Random(rng.getrandbits(64))) for n in range(CHATS)]
        until = time.monotonic() + SECONDS
        await asyncio.gather(gremlin.live(until), *(person.live(until) for person in people))
        broken = [said for person in people for said in [*judge(person, gremlin, house.ledger.deeds(person.chat))]]
        for person in people:
            broken += await at_rest(person, gremlin)
    return broken
