"""Workers that kill themselves at every boundary of the steps of a run: another one finishes it, before real pages."""

from contextlib import AsyncExitStack

import pytest

from tests.conformance.fixtures import VERSIONS
from tests.fleet.browser import browser
from tests.fleet.desk import NEVER, Desk, wrong
from tests.fleet.proxy import Proxy
from tests.fleet.workers import Fleet
from tests.served import served

pytestmark = [pytest.mark.fleet, pytest.mark.node]


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
