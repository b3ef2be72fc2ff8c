"""Failures that only a run log in PostgreSQL has, and their effects on runs."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Any

import asyncpg
import pytest

from stream_protocol.serving import LogBounds, PostgresRunLog
from stream_protocol.serving.run_logs import ChatTakenError, EventBuffer, Lease, RunLogError, _log_writer, _run_store
from stream_protocol.serving.run_logs._lease import SharedLease
from stream_protocol.serving.run_logs._run_store import RETRY_SECONDS, Entry, LogBatch, Post, RunIdentity
from stream_protocol.serving.run_logs.postgres import _batches, _connections
from stream_protocol.serving.run_logs.postgres._batches import Batches
from stream_protocol.serving.run_logs.postgres._connections import STATEMENTS_AT_ONCE
from stream_protocol.serving.run_logs.postgres._postgres_store import PostgresStore
from stream_protocol.testing._fake_runs import (
    CHAT,
    END,
    HANG,
    START,
    TEXT,
    FakeOwner,
    begin,
    eventually,
    freed,
    joined_text,
    reader,
    rest,
    running,
    until,
)
from stream_protocol.wire import SSE_DONE, StreamProtocolError
from tests.postgres import Postgres

LEASE = 1.5
"""Seconds. Short, because a test waits for it, and long enough for a busy machine."""

ROOMY = 6.0

pytestmark = pytest.mark.fleet

TABLES = ("leases", "logs", "entries", "readers")


@pytest.fixture
def url(postgres: Postgres) -> str:
    return postgres.new_database()


@pytest.fixture
async def admin(url: str) -> AsyncIterator[Any]:
    connection = await asyncpg.connect(url)
    yield connection
    await connection.close()


@asynccontextmanager
async def logs(url: str, count: int = 2, **options: Any) -> AsyncIterator[list[PostgresRunLog]]:
    those = [PostgresRunLog(url, **options) for _ in range(count)]
    try:
        yield those
    finally:
        for log in those:
            await log.aclose()


def store(log: PostgresRunLog) -> PostgresStore:
    """Return the store of an outdated worker, for the calls that it may still make."""
    found = log.store
    assert isinstance(found, PostgresStore)
    return found


async def rows(admin: Any, prefix: str = "adk_ui_stream") -> dict[str, int]:
    return {table: await admin.fetchval(f"SELECT count(*) FROM {prefix}_{table}") for table in TABLES}


async def connections(admin: Any) -> int:
    count: int = await admin.fetchval(
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'adk-ui-stream'"
        " AND datname = current_database()"
    )
    return count


async def end(admin: Any, condition: str = "true") -> None:
    """Terminate these connections, as a server that shuts down does."""
    await admin.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        f" WHERE application_name = 'adk-ui-stream' AND datname = current_database() AND {condition}"
    )


LISTENS = "query ILIKE 'LISTEN%'"


async def test_workers_that_start_at_once_make_the_tables_once(url: str, admin: Any) -> None:
    async with logs(url, 6) as workers:
        await asyncio.gather(*(worker.ping() for worker in workers))
        assert set(await rows(admin)) == set(TABLES)
    async with logs(url, 1) as [again]:
        assert await again.current(CHAT) is None


async def test_who_may_not_make_the_tables_is_told_in_one_line_and_may_use_those_that_are_there(
    postgres: Postgres, url: str, admin: Any
) -> None:
    await admin.execute("DROP ROLE IF EXISTS bob; CREATE ROLE bob LOGIN; REVOKE CREATE ON SCHEMA public FROM PUBLIC")
    as_bob = url.replace("ann@", "bob@")
    async with logs(as_bob, 1) as [worker]:
        with pytest.raises(RunLogError) as refused:
            await worker.ping()
        assert str(refused.value) == (
            f"postgresql://{url.partition('@')[2]}: the tables adk_ui_stream_… cannot be made:"
            " permission denied for schema public"
        )
        async with logs(url, 1) as [owner]:
            await owner.ping()
        tables = ", ".join(f"adk_ui_stream_{table}" for table in TABLES)
        await admin.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON {tables} TO bob")
        run, lease = await begin(worker)
        run.finish()
        lease.release()
        await freed(worker)
    await admin.execute("DROP OWNED BY bob; DROP ROLE bob")


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"prefix": "a-b"}, "The prefix in PostgreSQL must be"),
        ({"prefix": 'a";DROP'}, "The prefix in PostgreSQL must be"),
        ({"prefix": "a" * 25}, "The prefix in PostgreSQL must be"),
        ({"prefix": "1a"}, "The prefix in PostgreSQL must be"),
        ({"lease": 0}, "`lease` must be a positive number of seconds"),
        ({"url": "mysql://ann@db/chats"}, "The URL of PostgreSQL must be like"),
    ],
)
def test_options_that_cannot_be_are_refused(wrong: dict[str, Any], told: str) -> None:
    with pytest.raises(StreamProtocolError, match=told):
        PostgresRunLog(**{"url": "postgresql://ann@db/chats", **wrong})


@pytest.mark.parametrize("port", ["s3cret", "99999999"])
async def test_a_url_that_nobody_can_use_is_told_without_its_password(port: str) -> None:
    async with logs(f"postgresql://ann:s3cret@127.0.0.1:{port}/db", 1) as [log]:
        with pytest.raises(RunLogError) as refused:
            await log.ping()
        assert str(refused.value).count("\n") == 0
        assert "ann:s3cret" not in str(refused.value)


async def test_the_url_of_the_session_store_is_taken(url: str) -> None:
    async with logs(url.replace("postgresql://", "postgresql+asyncpg://"), 1) as [log]:
        await log.ping()


async def test_deployments_with_other_prefixes_are_strangers(url: str, admin: Any) -> None:
    async with logs(url, 1) as [one], logs(url, 1, prefix="staging_") as [other]:
        _, lease = await begin(one)
        assert await other.current(CHAT) is None
        _, theirs = await begin(other)
        assert (await rows(admin, "staging_"))["leases"] == 1
        lease.release()
        theirs.release()


async def test_any_text_names_a_chat(url: str, admin: Any) -> None:
    chats = [
        "",
        "\0",
        "a\0b",
        "'; DROP TABLE adk_ui_stream_leases; --",
        '"',
        "\\",
        "%",
        "\ud800",
        "チャット",
        "x" * 2**20,
    ]
    async with logs(url) as [one, two]:
        runs = [await begin(one, chat=chat) for chat in chats]
        assert (await rows(admin))["leases"] == len(chats)
        for (owner, _), chat in zip(runs, chats, strict=True):
            info = await running(two, chat)
            assert await two.stop(chat, info.run_id)
            async with asyncio.timeout(HANG):
                await owner.stopped.wait()
        for owner, lease in runs:
            owner.finish()
            lease.release()
        for chat in chats:
            await freed(two, chat=chat)


async def test_what_is_over_leaves_no_rows_and_no_connections(url: str, admin: Any) -> None:
    async with logs(url, lease=LEASE, expiry=0.2) as [one, two]:
        owner, lease = await begin(one)
        elsewhere = await reader(two)
        await until(elsewhere, TEXT)
        assert await rows(admin) == {"leases": 1, "logs": 1, "entries": 1, "readers": 1}
        owner.finish()
        await rest(elsewhere)
        lease.release()

        async def clean() -> bool:
            return await rows(admin) == dict.fromkeys(TABLES, 0)

        await eventually(clean)

    async def closed() -> bool:
        return await connections(admin) == 0

    await eventually(closed)


async def test_a_worker_has_few_connections_however_many_read(url: str, admin: Any) -> None:
    chats = [f"c{number}" for number in range(30)]
    async with logs(url) as [one, two]:
        runs = await asyncio.gather(*(begin(one, chat=chat) for chat in chats))
        readers, reading = [], []
        for chat in chats:
            found = await two.read(chat, (await running(two, chat)).run_id)
            assert found is not None
            readers.append(found)
            reading.append(
                asyncio.create_task(until(found, b"all"))
            )  # a run without readers is no longer read after a second
        for owner, _ in runs:
            owner.say("all")
        await asyncio.gather(*reading)
        assert await connections(admin) <= 2 * (STATEMENTS_AT_ONCE + 1)
        for owner, lease in runs:
            owner.finish()
            lease.release()
        await asyncio.gather(*map(rest, readers))


async def test_connections_that_are_ended_are_made_again_and_nothing_is_missed(url: str, admin: Any) -> None:
    async with logs(url, lease=ROOMY) as [one, two]:
        owner, lease = await begin(one)
        async with aclosing(await reader(two)) as elsewhere:
            seen = await until(elsewhere, TEXT)
            for word in ("one ", "two ", "three"):
                await end(admin)
                owner.say(word)
                seen += await until(elsewhere, word.encode())
            assert joined_text(seen) == "one two three"
            assert lease.held
        assert await two.stop(CHAT)
        async with asyncio.timeout(HANG):
            await owner.stopped.wait()
        owner.finish()
        lease.release()


async def test_what_was_said_while_nobody_listened_is_heard_when_somebody_does(
    url: str, admin: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with logs(url, lease=10 * HANG) as [one, two]:  # no regular renewal is due before the end of the test
        owner, lease = await begin(one)
        await running(two)
        monkeypatch.setattr(_connections, "RETRY_SECONDS", 0.5)
        await end(admin, LISTENS)
        assert await two.stop(CHAT)
        async with asyncio.timeout(HANG):
            await owner.stopped.wait()
        owner.finish()
        lease.release()


async def test_a_chat_of_a_dead_worker_is_had_after_its_lease_and_the_dead_writes_no_more(
    url: str, admin: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with logs(url, lease=LEASE) as [one, two]:
        owner, dead_lease = await begin(one)
        taken: list[Lease] = []
        old = await running(two)
        elsewhere = await reader(two)
        await until(elsewhere, TEXT)
        token = await admin.fetchval("SELECT token FROM adk_ui_stream_leases WHERE run = $1", old.run_id)
        one_worker = store(one)
        with monkeypatch.context() as dead:
            dead.setattr(one_worker._connections, "rows", _failing)  # noqa: SLF001 - a network that is cut
            async with asyncio.timeout(HANG):
                await owner.lost.wait()
            broken = await rest(elsewhere)
            assert broken.endswith(SSE_DONE)
            assert b'"type":"error"' in broken

            async def claimed() -> bool:
                try:
                    taken.append((await begin(two, "another"))[1])
                except ChatTakenError:
                    return False
                return True

            await eventually(claimed)
        identity = RunIdentity(chat=CHAT, run_id=old.run_id, worker=one_worker.worker, idempotency_key="request")
        piece = LogBatch(entry=Entry(2, 3, b"data: {}\n\n"), past=b"")
        assert await one_worker.append(identity, token, piece) is None
        assert await one_worker.renew(identity, token, "open") is None
        assert (await running(two)).idempotency_key == "another"
        dead_lease.release()
        taken[0].release()


async def _failing(*_: Any, **__: Any) -> Any:
    raise RunLogError("this worker is dead")


async def test_a_log_that_a_crash_has_emptied_is_written_again(url: str, admin: Any) -> None:
    async with logs(url, lease=ROOMY) as [one, two]:
        owner, lease = await begin(one)
        owner.say("one ")
        async with aclosing(await reader(two)) as elsewhere:
            seen = await until(elsewhere, b"one ")
            await admin.execute("TRUNCATE adk_ui_stream_logs, adk_ui_stream_entries, adk_ui_stream_readers")
            owner.say("two ")
            seen += await until(elsewhere, b"two ")
            owner.finish()
            seen += await rest(elsewhere)
        assert joined_text(seen) == "one two "
        lease.release()


async def test_a_run_whose_lease_a_crash_has_lost_gets_the_stop_that_did_not_find_it(url: str, admin: Any) -> None:
    async with logs(url, lease=ROOMY) as [one, two]:
        owner, lease = await begin(one)
        owner.say("one ")
        async with aclosing(await reader(two)) as elsewhere:
            await until(elsewhere, b"one ")
        await admin.execute("TRUNCATE adk_ui_stream_leases")
        assert not await two.stop(CHAT)
        assert isinstance(lease, SharedLease)
        lease.renew_now()
        async with asyncio.timeout(HANG):
            await owner.stopped.wait()
        owner.finish()
        lease.release()


async def test_a_run_whose_lease_a_crash_has_lost_gets_no_stop_from_before_its_claim(url: str, admin: Any) -> None:
    async with logs(url, lease=ROOMY) as [one, two]:
        assert not await two.stop(CHAT)
        owner, lease = await begin(one)
        owner.say("one ")
        async with aclosing(await reader(two)) as elsewhere:
            await until(elsewhere, b"one ")
        await admin.execute("DELETE FROM adk_ui_stream_leases WHERE run <> ''")
        assert await two.current(CHAT) is None
        assert isinstance(lease, SharedLease)
        lease.renew_now()
        async with asyncio.timeout(HANG):
            while await two.current(CHAT) is None:  # noqa: ASYNC110 - the store tells nobody
                await asyncio.sleep(0.01)
        assert not owner.stopped.is_set()
        owner.finish()
        lease.release()


async def test_a_run_whose_lease_a_crash_has_lost_gets_no_post_that_was_not_delivered(url: str, admin: Any) -> None:
    async with logs(url, lease=ROOMY) as [one, two]:
        owner, lease = await begin(one)
        async with asyncio.timeout(HANG):
            # The renewal that opens the run could deliver the post.
            while (await running(two)).phase != "open":  # noqa: ASYNC110 - the store tells nobody
                await asyncio.sleep(0.01)
        assert await two.store.post(CHAT, lease.run_id, Post.of(b"early")) is not None
        await admin.execute("TRUNCATE adk_ui_stream_leases")
        assert await two.post(CHAT, lease.run_id, b"late") is None
        assert isinstance(lease, SharedLease)
        lease.renew_now()
        async with asyncio.timeout(HANG):
            while await two.current(CHAT) is None:  # noqa: ASYNC110 - the store tells nobody
                await asyncio.sleep(0.01)
            assert await two.post(CHAT, lease.run_id, b"again") == b"re: again"
        assert owner.received == [b"again"]
        owner.finish()
        lease.release()


async def test_a_large_log_that_a_crash_has_emptied_is_written_again(url: str, admin: Any) -> None:
    bounds = LogBounds(coalesce_above=2**12)
    async with logs(url, lease=ROOMY, bounds=bounds) as [one, two]:
        owner, lease = await begin(one)
        words = [f"{number} ".ljust(200, ".") for number in range(200)]
        owner.say(*words[:150])
        async with aclosing(await reader(two)) as elsewhere:
            await until(elsewhere, words[149].encode())
            await admin.execute("TRUNCATE adk_ui_stream_logs, adk_ui_stream_entries")
            owner.say(*words[150:])
            await rest(elsewhere)
            assert elsewhere.cut_off.is_set()  # the next events are joined with events that the reader has
        again = asyncio.create_task(rest(await reader(two)))
        owner.finish()
        assert joined_text(await again) == "".join(words)
        lease.release()


async def test_a_server_that_answers_nobody_is_not_waited_for(url: str, admin: Any) -> None:
    async with logs(url) as [one, two]:
        await one.ping()
        await two.ping()
        async with admin.transaction():
            await admin.execute("LOCK TABLE adk_ui_stream_leases")
            asked = (one.ping(), begin(one), two.current(CHAT), two.stop(CHAT))
            for refused in await asyncio.gather(*asked, return_exceptions=True):
                assert isinstance(refused, RunLogError)
                assert "it does not answer" in str(refused)
        await two.ping()

        async def free() -> bool:
            return await two.current(CHAT) is None

        await eventually(free)


async def test_a_server_that_is_away_is_told_of_once_and_listened_to_again(
    url: str, admin: Any, caplog: pytest.LogCaptureFixture
) -> None:
    server, _, database = url.rpartition("/")
    elsewhere = await asyncpg.connect(f"{server}/postgres")  # a session cannot close its own database
    async with logs(url, lease=10 * HANG) as [one, two]:
        owner, lease = await begin(one)
        await running(two)
        await elsewhere.execute(f"ALTER DATABASE {database} ALLOW_CONNECTIONS false")
        await end(admin)
        await asyncio.sleep(5 * RETRY_SECONDS)
        await elsewhere.execute(f"ALTER DATABASE {database} ALLOW_CONNECTIONS true")
        await elsewhere.close()
        assert await two.stop(CHAT)
        async with asyncio.timeout(HANG):
            await owner.stopped.wait()
        owner.finish()
        lease.release()
    assert sum("are not received just now" in message for message in caplog.messages) == 2, "once by each"
    assert {record.name.partition(".")[0] for record in caplog.records} == {"stream_protocol"}, "nobody else"


async def test_a_server_that_cannot_be_written_is_not_ready(url: str, admin: Any) -> None:
    async with logs(url, 1) as [one]:
        await one.ping()
    await admin.execute(f"ALTER DATABASE {url.rpartition('/')[2]} SET default_transaction_read_only = on")
    async with logs(url, 1) as [one]:
        with pytest.raises(RunLogError, match="read-only"):
            await one.ping()


async def test_a_pooler_that_loses_notifications_is_found_out_at_the_start(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def listens_elsewhere(*_: object) -> None:
        pass

    monkeypatch.setattr(asyncpg.Connection, "add_listener", listens_elsewhere)
    async with logs(url, 1) as [one]:
        with pytest.raises(RunLogError, match="NOTIFY does not arrive: is a pooler in transaction mode between"):
            await one.ping()


async def test_the_chunks_of_many_runs_are_one_statement(url: str, admin: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_batches, "GATHER_SECONDS", 0.2)
    monkeypatch.setattr(_log_writer, "UNREAD_GATHER_SECONDS", 0.0)
    async with logs(url, 1) as [one]:
        runs = await asyncio.gather(*(begin(one, chat=f"c{number}") for number in range(20)))

        async def written() -> bool:
            return (await rows(admin))["entries"] >= len(runs)

        await eventually(written)
        transactions: Sequence[Any] = await admin.fetch("SELECT DISTINCT xmin::text FROM adk_ui_stream_entries")
        assert len(transactions) <= 5
        for owner, lease in runs:
            owner.finish()
            lease.release()


async def test_a_batch_has_a_bound_and_each_item_gets_its_own_result_or_the_error() -> None:
    done: list[list[str]] = []

    async def do(items: Sequence[str]) -> list[str]:
        done.append([*items])
        if "bad" in items:
            raise RunLogError("bad")
        return [item.upper() for item in items]

    batches = Batches(do, size=len)
    given_up = asyncio.create_task(batches.add("never"))
    large = "x" * _batches.MAX_BYTES
    asked = [asyncio.create_task(batches.add(item)) for item in ("a", "b", large, "bad", "c")]
    await asyncio.sleep(0)
    given_up.cancel()
    results = await asyncio.gather(*asked, return_exceptions=True)
    assert results[:3] == ["A", "B", large.upper()]
    assert all(isinstance(each, RunLogError) for each in results[3:])
    assert [["a", "b"], [large], ["bad", "c"]] == [[item for item in items if item != "never"] for items in done]


async def test_events_that_are_read_in_the_middle_of_an_entry_come_from_there(url: str) -> None:
    async with logs(url, 1) as [one]:
        owner = FakeOwner(EventBuffer())
        lease = await one.claim(CHAT, "request", owner)
        owner.log.append(START, TEXT, END)
        info = await running(one)

        async def copied() -> bool:
            return bool(await store(one).entries(CHAT, info.run_id, 0, 0))

        await eventually(copied)
        assert await store(one).entries(CHAT, info.run_id, 1, 0) == [Entry(0, 3, START + TEXT + END)]
        assert await store(one).entries(CHAT, info.run_id, 3, 0) == []
        owner.log.close()
        lease.release()
        await freed(one)
        assert await store(one).entries(CHAT, info.run_id, 3, 0) == [Entry(3, 3, end=_run_store.WHOLE)]


@pytest.mark.parametrize("moment", [0, 0.01, 0.3])
async def test_a_log_that_is_closed_leaves_no_connection_to_those_who_still_ask_it(
    url: str, admin: Any, moment: float
) -> None:
    log = PostgresRunLog(url)

    async def ask() -> None:
        while True:
            await log.current(CHAT)

    asking = [asyncio.create_task(ask()) for _ in range(3)]
    await asyncio.sleep(moment)
    await log.aclose()
    for task in asking:
        with pytest.raises(RunLogError):
            await asyncio.wait_for(task, HANG)
    here = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"

    async def only_this() -> bool:
        return bool(await admin.fetchval(here) == 1)

    await eventually(only_this)


async def test_a_burst_waits_for_its_turn_and_renewals_go_first(url: str) -> None:
    """Statements that together block all connections for longer than one statement may take."""
    async with logs(url, 1, lease=LEASE) as [log]:
        await log.ping()
        connections_of = store(log)._connections  # noqa: SLF001 - as above
        order: list[str] = []

        async def ask(name: str, *, urgent: bool = False) -> None:
            await connections_of.rows("SELECT pg_sleep(0.6)", urgent=urgent)
            order.append(name)

        slow = [asyncio.create_task(ask("slow")) for _ in range(5 * STATEMENTS_AT_ONCE)]
        await asyncio.sleep(0)
        async with asyncio.timeout(HANG):
            await asyncio.gather(*slow, ask("renewal", urgent=True))
        assert order.index("renewal") < 3 * STATEMENTS_AT_ONCE


async def test_a_worker_whose_connections_are_all_busy_says_so(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_connections, "TURN_SECONDS", 0.01)
    async with logs(url, 1) as [log]:
        await log.ping()
        connections_of = store(log)._connections  # noqa: SLF001 - as above
        slow = [asyncio.create_task(connections_of.rows("SELECT pg_sleep(1)")) for _ in range(STATEMENTS_AT_ONCE)]
        await asyncio.sleep(0)
        with pytest.raises(RunLogError, match="all 4 connections are busy"):
            await log.current(CHAT)
        await asyncio.gather(*slow)
        assert await log.current(CHAT) is None


async def test_who_waits_for_a_turn_at_a_server_that_is_silent_is_told_with_the_others(
    url: str, postgres: Postgres
) -> None:
    async with logs(url, 1, lease=LEASE) as [log]:
        await log.ping()
        with postgres.frozen():
            asked = [log.current(f"c{n}") for n in range(10 * STATEMENTS_AT_ONCE)]
            told = await asyncio.gather(*asked, return_exceptions=True)
        assert {str(error).rpartition(": ")[2] for error in told} == {"it does not answer"}
        await log.ping()


async def test_an_idle_connection_is_closed_before_a_proxy_forgets_it(
    url: str, admin: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_connections, "IDLE_SECONDS", 0.05)
    async with logs(url, 1) as [log]:
        await log.ping()

        async def only_listens() -> bool:
            return await connections(admin) == 1

        await eventually(only_listens)
        await log.ping()


async def test_a_worker_that_gets_no_more_connections_goes_on_with_those_it_has(url: str, admin: Any) -> None:
    await admin.execute("CREATE ROLE few LOGIN CONNECTION LIMIT 2")
    await admin.execute("GRANT ALL ON SCHEMA public TO few")
    async with logs(url.replace("ann@", "few@"), 1) as [log]:
        await log.ping()
        assert await asyncio.gather(*(log.current(f"c{n}") for n in range(20))) == [None] * 20
    await admin.execute("DROP OWNED BY few; DROP ROLE few")
