"""Workers that kill themselves at every boundary of the steps of a run: another one finishes it, before real pages."""

import asyncio
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from random import Random
from typing import Any, Final
from uuid import uuid4

import httpx
import pytest

from tests.conformance.fixtures import VERSIONS
from tests.fleet.browser import Browser, Page, Shown, browser
from tests.fleet.gremlin import Gremlin
from tests.fleet.person import Person
from tests.fleet.promises import asked_to_fail, at_rest, judge, told
from tests.fleet.proxy import Proxy
from tests.fleet.workers import Fleet, fleet
from tests.postgres import Postgres
from tests.processes import HANG
from tests.served import served
from tests.tools import missing

pytestmark = [pytest.mark.fleet, pytest.mark.node]

LEASE: Final = "1.5"

NEVER: Final = (0,)
"""The boundaries of a conversation in which no worker dies."""

ONCE: Final = frozenset({"slow_note", "pay"})
"""Tools that are not declared idempotent."""

LOOK_SECONDS: Final = 0.1

STORM_SECONDS: Final = 20
CHATS: Final = 4

BROKE_DOWN: Final = "broke down while this tool was running"


@pytest.fixture(scope="module", params=["durable_agent:root_agent", "durable_agent:loop_agent", "agent:root_agent"])
def durable_house(
    request: pytest.FixtureRequest, postgres: Postgres, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Fleet]:
    if find_spec("dbos") is None:
        missing("DBOS is not installed: pip install 'adk-ui-stream[durable]'")
    kept = postgres.new_database().replace("+asyncpg", "")
    idempotent = ("--idempotent-tool", "note") if "durable_agent" in request.param else ()
    options = ("--durable", kept, *idempotent, "--lease", LEASE)
    agent, folder = f"tests.fleet.{request.param}", tmp_path_factory.mktemp("durable")
    with fleet(folder, postgres.new_database(), 6, *options, agent=agent) as whole:
        yield whole


@pytest.mark.timeout(240)
@pytest.mark.parametrize(
    ("durable_house", "kind"),
    [
        ("durable_agent:root_agent", "plain"),
        ("durable_agent:root_agent", "two"),
        ("durable_agent:root_agent", "parallel"),
        ("durable_agent:root_agent", "pay"),
        ("durable_agent:root_agent", "transfer"),
        ("durable_agent:loop_agent", "loop"),
    ],
    indirect=["durable_house"],
)
async def test_another_worker_finishes_what_one_has_begun(durable_house: Fleet, kind: str) -> None:
    house = durable_house
    async with AsyncExitStack() as stack:
        url = stack.enter_context(served(Proxy(house.ports).app))
        pages = [await stack.enter_async_context(browser(url, version)) for version in VERSIONS]
        desk = Desk(house, kind)
        whole = await desk.conversation(pages[0], NEVER, worker=0)
        for boundary in range(1, whole.boundaries + 1):
            told = await desk.conversation(pages[boundary % 2], (boundary,), worker=boundary % 2)
            assert not wrong(told, whole), "\n".join(
                [f"{kind}, boundary {boundary}", *wrong(told, whole), house.said()]
            )


@pytest.mark.timeout(240)
@pytest.mark.parametrize(
    ("durable_house", "kind"),
    [("durable_agent:root_agent", "two"), ("durable_agent:loop_agent", "loop")],
    indirect=["durable_house"],
)
async def test_a_third_worker_finishes_what_a_second_could_not(durable_house: Fleet, kind: str) -> None:
    house = durable_house
    async with AsyncExitStack() as stack:
        url = stack.enter_context(served(Proxy(house.ports).app))
        pages = [await stack.enter_async_context(browser(url, version)) for version in VERSIONS]
        desk = Desk(house, kind)
        whole = await desk.conversation(pages[0], NEVER, worker=0)
        for boundary in range(1, whole.boundaries, 2):
            deaths = boundary, boundary + 1
            told = await desk.conversation(pages[boundary // 2 % 2], deaths, worker=boundary % 2)
            found = wrong(told, whole, deaths=2)
            assert not found, "\n".join([f"{kind}, boundaries {deaths}", *found, house.said()])


@pytest.mark.parametrize("durable_house", ["agent:root_agent"], indirect=True)
@pytest.mark.parametrize("kind", ["slow", "dig"])
async def test_a_worker_that_was_only_paused_writes_nothing(durable_house: Fleet, kind: str) -> None:
    house, key = durable_house, uuid4().hex
    with served(Proxy(house.ports).app) as url:
        async with browser(url, 6) as pages:
            page = await pages.page(key, worker=0)
            await page.send(f"{kind} {key}")
            await page.until(
                **({"type": "text"} if kind == "slow" else {"type": "tool-dig", "state": "input-available"})
            )
            await asyncio.sleep(0.5)  # no transaction of its own is open: the database would wait for that
            house.workers[0].freeze()
            desk, lost = Desk(house, kind), house.said().count("is lost: the run ends")
            coming = asyncio.create_task(desk.comes_back(pages, key, worker=1))
            await asyncio.sleep(float(LEASE))
            house.ledger.open(key)
            page, shown = await coming
            assert await page.stored_as(shown)
            house.workers[0].thaw()
            async with asyncio.timeout(HANG):
                while house.said().count("is lost: the run ends") == lost:  # noqa: ASYNC110 - another process says so
                    await asyncio.sleep(LOOK_SECONDS)
            await asyncio.sleep(1)
            assert await page.stored_as(shown)
            assert len(house.ledger.deeds(key)) == (kind == "dig")


@pytest.mark.parametrize("durable_house", ["agent:root_agent"], indirect=True)
async def test_no_run_ends_in_an_error_because_a_worker_was_killed(durable_house: Fleet, rng: Random) -> None:
    house = durable_house
    house.mend()
    gremlin = Gremlin(house, rng, kinds=["worker_is_killed"])
    limits = httpx.Limits(max_keepalive_connections=0)
    async with httpx.AsyncClient(timeout=HANG, limits=limits, trust_env=False) as http:
        people = [Person(f"chat{n}", house.ports, http, Random(rng.getrandbits(64))) for n in range(CHATS)]
        until = time.monotonic() + STORM_SECONDS
        await asyncio.gather(gremlin.live(until), *(person.live(until) for person in people))
        broken = [said for person in people for said in judge(person, gremlin, house.ledger.deeds(person.chat))]
        broken += [
            f"{person.chat}: ends in an error: {told(reading)}"
            for person in people
            for reading in person.readings
            if reading.ends_in == "error" and not asked_to_fail(reading)
        ]
        for person in people:
            broken += await at_rest(person, gremlin)
    assert gremlin.faults
    assert not broken, "\n".join([*broken, house.said()[-8000:]])


class Told:
    """What has become of a conversation. ``ran``: how often each tool began, by its name and what it was given."""

    def __init__(self, shown: Shown, folder: Path, key: str) -> None:
        self.parts = [part for part in shown.messages[-1]["parts"] if part["type"] != "step-start"]
        self.boundaries = len((folder / f"{key}.boundaries").read_bytes())
        ran = folder / f"{key}.ran"
        self.ran = Counter(ran.read_text().splitlines() if ran.exists() else [])
        self.key = key

    def outline(self) -> list[tuple[str, str]]:
        """Its texts and calls."""
        return [(part["type"], part.get("text", "").replace(self.key, "KEY")) for part in self.parts]


def wrong(told: Told, whole: Told, *, deaths: int = 1) -> Sequence[str]:
    """What is not as it was when no worker died."""
    found = []
    rest = iter(told.outline())
    if not all(part in rest for part in whole.outline()) or told.outline()[-1] != whole.outline()[-1]:
        found.append(f"{told.outline()} is not {whole.outline()}, with half a text in it")
    for part in told.parts:
        if part["type"].startswith("tool-") and part["state"] != "output-available":
            tool = part["type"].removeprefix("tool-")
            if tool not in ONCE or BROKE_DOWN not in part.get("errorText", ""):
                found.append(f"{tool} is {part['state']}: {part.get('errorText')}")
    for run, times in told.ran.items():
        if times > (1 if run.split()[0] in ONCE else 1 + deaths):
            found.append(f"{run} ran {times} times")
    if sum(told.ran.values()) > sum(whole.ran.values()) + deaths:
        found.append(f"too much ran again: {told.ran}")
    return found


class Desk:
    """Has conversations of one kind, in which a worker dies."""

    def __init__(self, house: Fleet, kind: str) -> None:
        self._house = house
        self._kind = kind
        self._numbers = count()

    async def conversation(self, pages: Browser, deaths: Sequence[int], *, worker: int) -> Told:
        """Begins it at this worker. At each of these boundaries the one dies that has come so far."""
        key = f"{self._kind}{next(self._numbers)}{uuid4().hex[:6]}"
        page = await pages.page(key, worker=worker)
        await page.send(f"{self._kind} {key} {','.join(map(str, deaths))}")
        shown = await self._ended(pages, page, key, worker)
        if asks(shown):
            await asyncio.to_thread(self._house.mend)
            page = await pages.reloaded(key, worker=worker)
            await page.settled()
            await page.approve("pay")
            shown = await self._ended(pages, page, key, worker)
        assert shown.status == "ready", (self._kind, deaths, shown, self._house.said())
        return Told(shown, self._house.ledger.folder, key)

    async def _ended(self, pages: Browser, page: Page, key: str, worker: int) -> Shown:
        """What is shown at the end. If the worker has died: to a page that comes back until it is not cut off."""
        shown = await page.settled()
        if shown.status != "ready":
            mending = asyncio.create_task(self._mend())
            page, shown = await self.comes_back(pages, key, worker=None)
            mending.cancel()
            await asyncio.wait([mending])
            await asyncio.to_thread(self._house.mend)
        assert await page.stored_as(shown), (shown.messages, await page.stored(), self._house.said())
        return shown

    async def _mend(self) -> None:
        """Starts workers again that die, as whoever supervises them does."""
        while True:
            await asyncio.to_thread(self._house.mend)
            await asyncio.sleep(LOOK_SECONDS)

    async def comes_back(self, pages: Browser, key: str, *, worker: int | None) -> tuple[Page, Shown]:
        """A page that is reloaded at this worker until it is not cut off any more, and has the end: a run may end
        between the history that a page loads and the stream that it asks for then."""
        async with asyncio.timeout(HANG):
            while True:
                page = await pages.reloaded(key, worker=worker)
                shown = await page.settled()
                if shown.status == "ready" and await page.stored_as(shown, looks=1):
                    return page, shown


def asks(shown: Shown) -> bool:
    """Whether the user has to approve."""
    parts: list[Any] = shown.messages[-1]["parts"]
    return any(part.get("state") == "approval-requested" for part in parts)
