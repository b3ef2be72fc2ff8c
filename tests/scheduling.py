"""Order of test files, and their distribution to the workers of pytest-xdist."""

from typing import Any, Final

import pytest
from xdist.scheduler import LoadFileScheduling

FIRST: Final = (
    "conformance/test_chat_against_server.py",
    "fleet/test_durable.py",
    "serving/run_logs/test_redis_run_log.py",
    "fleet/test_durable_steering.py",
    "durable/test_every_event.py",
    "fleet/test_promises_by_store.py",
    "fleet/test_durable_database.py",
    "fleet/test_nginx_alone.py",
    "fleet/test_fleet_pages.py",
    "fleet/test_durable_trouble.py",
    "fleet/test_durable_read_only.py",
    "conformance/test_chat_against_replay_server.py",
    "conformance/test_real_client.py",
    "properties/test_every_reading_agrees.py",
    "conformance/test_readings_of_fixtures.py",
    "serving/test_every_store.py",
    "recording/test_search_work.py",
    "cli/test_types_command.py",
    "conformance/test_fixtures.py",
)
"""Slowest files, which start first: a slow file at the end would make the other workers wait.

There are three workers, and often two cores: each worker costs ten seconds of a processor, for its imports, its
collection, and its servers. The first files mostly wait for processes, while the other workers compute.
"""

WITH_LITELLM: Final = (
    "tests/conformance/test_history_on_the_wire.py",
    "tests/conformance/test_litellm_adapter.py",
    "tests/conformance/test_lost_sources.py",
    "tests/conformance/test_next_turn_on_the_wire.py",
)
"""Files outside of `samples` that import litellm, which takes three seconds. One worker gets all of them."""

TEST_BY_TEST: Final = ("tests/fleet/test_durable.py", "tests/durable/test_every_event.py")
"""Files whose tests together take minutes. Each test goes to the next free worker."""


class WholeFiles(LoadFileScheduling):  # type: ignore[misc]  # xdist has no types
    """Scheduler that gives each worker whole files. Files that share a slow import go to one worker. The slowest are
    split.
    """

    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        if file in TEST_BY_TEST:
            return nodeid
        return "litellm" if file in WITH_LITELLM else file


def scheduler(config: pytest.Config, log: Any) -> LoadFileScheduling | None:
    """Return the scheduler for ``--dist loadfile``; ``None`` for any other distribution."""
    return WholeFiles(config, log) if config.option.dist == "loadfile" else None


def place(item: pytest.Item) -> int:
    """Return the sort key of a test: slow files come first, in the order of ``FIRST``."""
    name = item.nodeid.partition("::")[0].removeprefix("tests/")
    return FIRST.index(name) if name in FIRST else len(FIRST)
