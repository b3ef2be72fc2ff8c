"""Workers that kill themselves at every boundary of the steps of a run: another one finishes it, before real pages."""

import pytest

from tests.fleet.desk import NEVER, open_desk, wrong
from tests.fleet.workers import Fleet

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
    async with open_desk(durable_house, kind) as desk:
        whole = await desk.conversation(NEVER)
        for boundary in range(1, whole.boundaries + 1):
            found = wrong(await desk.conversation((boundary,)), whole)
            assert not found, "\n".join([f"{kind}, boundary {boundary}", *found, durable_house.said()])
