"""Workers that kill themselves at every boundary of the steps of a run, which is finished before real pages."""

import pytest

from tests.fleet.crash_scenarios import die_at_each_boundary
from tests.fleet.workers import Fleet, Workers

pytestmark = [pytest.mark.fleet, pytest.mark.node, pytest.mark.timeout(240)]

CONVERSATIONS = [
    ("durable_agent:root_agent", "plain"),
    ("durable_agent:root_agent", "two"),
    ("durable_agent:root_agent", "parallel"),
    ("durable_agent:root_agent", "pay"),
    ("durable_agent:root_agent", "transfer"),
    ("durable_agent:loop_agent", "loop"),
]
"""The agent, and its message."""


@pytest.mark.parametrize(("durable_house", "kind"), CONVERSATIONS, indirect=["durable_house"])
async def test_another_worker_finishes_what_one_has_begun(durable_house: Fleet, kind: str) -> None:
    await die_at_each_boundary(durable_house, kind)


@pytest.mark.parametrize(("house_with_files", "kind"), CONVERSATIONS, indirect=["house_with_files"])
async def test_a_server_that_is_started_again_finishes_what_it_had_begun(house_with_files: Workers, kind: str) -> None:
    await die_at_each_boundary(house_with_files, kind)
