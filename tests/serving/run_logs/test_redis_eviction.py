"""A Redis that evicts keys when its memory is full: the operator gets a warning at the start."""

import asyncio
import logging
from pathlib import Path

import pytest

from stream_protocol.serving import RedisRunLog
from stream_protocol.serving.run_logs._load_run_log import load_run_log
from stream_protocol.testing._fake_runs import begin, eventually
from tests.redis_server import redis_server


def warnings_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING]


@pytest.mark.parametrize("policy", ["allkeys-lru", "volatile-ttl", "allkeys-random"])
def test_a_server_that_evicts_is_warned_of_once_at_the_start(
    policy: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with redis_server(tmp_path, "--maxmemory", "100mb", "--maxmemory-policy", policy) as server:
        log = load_run_log(server.url, prefix=None, lease=15.0)

        async def probe_again() -> None:
            await log.ping()
            await log.ping()
            await log.aclose()

        asyncio.run(probe_again())
    (told,) = warnings_of(caplog)
    assert policy in told
    assert "noeviction" in told
    assert str(server.port) in told


async def test_an_app_without_a_probe_is_warned_by_its_first_run(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with redis_server(tmp_path, "--maxmemory-policy", "allkeys-lfu") as server:
        log = RedisRunLog(server.url)
        owner, lease = await begin(log)

        async def told() -> bool:
            return any("allkeys-lfu" in each for each in warnings_of(caplog))

        await eventually(told)
        owner.finish()
        lease.release()
        await log.aclose()


@pytest.mark.parametrize("options", [(), ("--rename-command", "INFO", "")], ids=["noeviction", "no INFO"])
def test_a_server_that_evicts_nothing_or_says_nothing_is_not_warned_of(
    options: tuple[str, ...], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with redis_server(tmp_path, *options) as server:
        load_run_log(server.url, prefix=None, lease=15.0)
    assert warnings_of(caplog) == []
