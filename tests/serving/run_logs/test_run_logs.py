"""The conformance suite, run with each of our run logs."""

from collections.abc import AsyncIterator

import pytest

from stream_protocol.serving import MemoryRunLog, PostgresRunLog, RedisRunLog
from stream_protocol.serving.run_logs import _memory
from stream_protocol.serving.run_logs.redis._redis_store import MAX_PREFIX_LENGTH
from stream_protocol.testing.run_log_conformance import RunLogConformance, Workers
from tests.postgres import Postgres
from tests.redis_server import RedisServer


class TestMemoryRunLog(RunLogConformance):
    @pytest.fixture
    def workers(self) -> Workers:
        log = MemoryRunLog()
        return log, log

    async def test_stops_of_many_chats_take_no_more_memory_than_a_few(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(_memory, "MAX_STOPS", 2)
        log = MemoryRunLog()
        for chat in ("one", "two", "one", "three"):
            await log.stop(chat)
        assert [bool(await log.newest_stop(chat)) for chat in ("one", "two", "three")] == [True, False, True]


class TestRedisRunLog(RunLogConformance):
    @pytest.fixture
    async def workers(self, shared_redis: RedisServer, request: pytest.FixtureRequest) -> AsyncIterator[Workers]:
        prefix = request.node.name.partition("[")[0][-MAX_PREFIX_LENGTH:]
        first, second = (RedisRunLog(shared_redis.url, prefix=prefix, lease=3.0) for _ in range(2))
        yield first, second
        await first.aclose()
        await second.aclose()


@pytest.mark.fleet  # each test creates a database, which takes seconds: too long for `make test`
class TestPostgresRunLog(RunLogConformance):
    @pytest.fixture
    async def workers(self, postgres: Postgres) -> AsyncIterator[Workers]:
        url = postgres.new_database()
        first, second = (PostgresRunLog(url, lease=3.0) for _ in range(2))
        yield first, second
        await first.aclose()
        await second.aclose()
