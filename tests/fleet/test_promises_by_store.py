"""The table of docs/durable.md: real servers confirm each cell."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from tests.fleet.tool_log import ToolLog
from tests.fleet.workers import AGENT, Worker
from tests.postgres import Postgres
from tests.processes import HANG, ROOT
from tests.redis_server import redis_server
from tests.tools import missing

pytestmark = [pytest.mark.fleet, pytest.mark.timeout(240)]

LEASE: Final = 1.5
DRAIN: Final = 0.5
TAKING_UP: Final = 3.0
"""Seconds after a lease in which another worker finds the run, with some to spare."""

HEAD: Final = "| Promise | memory | Redis, PostgreSQL | with an engine |\n"

TOOLS: Final = ("dig", "delve")
"""Those that are about to end when their worker dies. The first is declared idempotent."""


def column(name: str) -> Mapping[str, str]:
    """The rows of the table without their links, each with its cell in the column."""
    page = re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", (ROOT / "docs" / "durable.md").read_text())
    _, head, below = page.partition(HEAD)
    names = [cell.strip() for cell in head.split("|")[1:-1]]
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in below.partition("\n\n")[0].splitlines()]
    return {line[0]: line[names.index(name)] for line in lines[1:]}


@dataclass
class Deployment:
    """Workers, the last of which stays when others are broken. ``column``: its column of the table."""

    column: str
    workers: list[Worker]
    tool_log: ToolLog
    http: httpx.AsyncClient = field(init=False)

    @property
    def is_shared(self) -> bool:
        """True if the workers know of each other's runs."""
        return self.column != "memory" and len(self.workers) > 1

    def mend(self) -> None:
        for worker in [each for each in self.workers if not each.running]:
            worker.start()
            worker.ready()

    def url(self, chat: str, worker: int, what: str = "") -> str:
        return f"http://127.0.0.1:{self.workers[worker].port}/api/chat/{chat}{what}"

    async def begin(self, stack: AsyncExitStack, kind: str, chat: str, *, seen: str, worker: int = 0) -> "Reading":
        """Sends a message, and reads the answer until this text appears."""
        message = {"id": f"{kind}-{chat}", "role": "user", "parts": [{"type": "text", "text": f"{kind} {chat}"}]}
        body = {"id": chat, "message": message}
        sent = self.http.stream("POST", self.url("", worker)[:-1], json=body)
        reading = Reading(await stack.enter_async_context(sent))
        await reading.until(seen)
        return reading

    async def stop(self, chat: str, worker: int = 0) -> None:
        assert (await self.http.post(self.url(chat, worker, "/stop"))).status_code == 202

    async def resumes(self, chat: str, worker: int) -> bool:
        async with self.http.stream("GET", self.url(chat, worker, "/stream")) as response:
            return response.status_code == 200

    async def stored(self, chat: str, worker: int = -1) -> str:
        """All that is shown of the chat, as JSON."""
        return (await self.http.get(self.url(chat, worker))).text

    async def says(self, chat: str, words: str, worker: int = -1) -> bool:
        """True if the stored answer has the text at last, though another worker may have to recover it first."""
        for _ in range(int((LEASE + TAKING_UP) / 0.1)):
            if words in await self.stored(chat, worker):
                return True
            await asyncio.sleep(0.1)
        return False


class Reading:
    """A response that is read as it comes."""

    def __init__(self, response: httpx.Response) -> None:
        assert response.status_code == 200
        self._pieces = response.aiter_text()
        self._read = ""

    async def until(self, words: str) -> None:
        async with asyncio.timeout(HANG):
            while words not in self._read:
                self._read += await anext(self._pieces)

    async def last(self) -> str:
        """The type of its last chunk, once it has ended; empty if it broke off."""
        try:
            async with asyncio.timeout(HANG):
                async for piece in self._pieces:
                    self._read += piece
        except httpx.TransportError:
            return ""
        lines = [line for line in self._read.splitlines() if line.startswith("data: {")]
        whole = self._read.endswith("data: [DONE]\n\n")
        return str(json.loads(lines[-1].removeprefix("data: "))["type"]) if whole else ""


Options = Callable[[Postgres, str, Path], tuple[str, ...]]


def _new(postgres: Postgres) -> str:
    return postgres.new_database()


COLUMNS: Final[Mapping[str, tuple[str, int, Options]]] = {
    "memory": ("memory", 2, lambda pg, _, __: ("--session-service-uri", _new(pg))),
    "redis": ("Redis, PostgreSQL", 2, lambda pg, redis, _: ("--session-service-uri", _new(pg), "--run-log", redis)),
    "postgres": ("Redis, PostgreSQL", 2, lambda pg, _, __: ("--session-service-uri", _new(pg), "--run-log", _new(pg))),
    "engine": (
        "with an engine",
        2,
        lambda pg, redis, _: ("--session-service-uri", _new(pg), "--run-log", redis, "--durable", _new(pg)),
    ),
    "engine in files": (
        "with an engine",
        1,
        lambda _, __, at: ("--session-service-uri", f"sqlite:///{at}/chats.db", "--durable", f"sqlite:///{at}/runs.db"),
    ),
}


@contextmanager
def housed(kind: str, postgres: Postgres, folder: Path) -> Iterator[Deployment]:
    name, count, options_of = COLUMNS[kind]
    with redis_server(folder) as redis:
        options = options_of(postgres, redis.url, folder)
        if "--durable" in options:
            options += ("--idempotent-tools", "dig")
        if "--run-log" in options:
            options += ("--lease", str(LEASE))
        workers = [Worker(folder, AGENT, *options, "--drain", str(DRAIN)) for _ in range(count)]
        deployment = Deployment(name, workers, ToolLog(folder))
        try:
            deployment.mend()
            yield deployment
        finally:
            for worker in workers:
                worker.kill()


@pytest.fixture(params=[*COLUMNS])
async def deployment(request: pytest.FixtureRequest, postgres: Postgres, tmp_path: Path) -> AsyncIterator[Deployment]:
    if "engine" in request.param and find_spec("dbos") is None:
        missing("DBOS is not installed: pip install 'adk-ui-stream[durable]'")
    if request.param == "engine in files":
        from stream_protocol.durable._store import sqlite_is_too_old  # noqa: PLC0415 - may be missing

        if sqlite_is_too_old():
            pytest.skip("SQLite is too old for DBOS")
    with housed(request.param, postgres, tmp_path) as deployment:
        limits = httpx.Limits(max_keepalive_connections=0)
        async with httpx.AsyncClient(timeout=HANG, limits=limits, trust_env=False) as deployment.http:
            yield deployment


async def test_each_cell_of_the_table_is_what_servers_do(deployment: Deployment) -> None:
    scenes: list[Callable[[Deployment], Awaitable[dict[str, str]]]] = [readers, deaths, endings]
    if len(deployment.workers) > 1:
        scenes[1:1] = [neighbours, pauses]
    done: dict[str, Any] = {}
    for scene in scenes:
        done |= await scene(deployment)
        deployment.mend()
    promised = column(deployment.column)
    assert done == {row: promised[row] for row in done}
    assert {*promised} == {*done} or len(deployment.workers) == 1


def yes(fact: bool) -> str:
    return "yes" if fact else "no"


async def readers(deployment: Deployment) -> dict[str, str]:
    """A reply continues without its client, in each store. So the table has no row for this."""
    async with AsyncExitStack() as stack:
        await deployment.begin(stack, "slow", "reloaded", seen="One")
    deployment.tool_log.open("reloaded")
    assert await deployment.says("reloaded", "two")
    return {}


async def neighbours(deployment: Deployment) -> dict[str, str]:
    async with AsyncExitStack() as stack:
        first = await deployment.begin(stack, "slow", "elsewhere", seen="One")
        resumes = await deployment.resumes("elsewhere", 1)
        await deployment.stop("elsewhere", 1)
        deployment.tool_log.open("elsewhere")
        stops = await first.last() == "abort"
        assert resumes == stops
        here = await deployment.begin(stack, "slow", "here", seen="One")
        await deployment.begin(stack, "say", "here", seen="Said")
        ends_here = await here.last() == "abort"
        there = await deployment.begin(stack, "slow", "there", seen="One")
        await deployment.begin(stack, "say", "there", seen="Said", worker=1)
        deployment.tool_log.open("there")
        ends_there = await there.last() == "abort"
    assert ends_here
    return {
        "Another worker can resume and stop the run": yes(resumes),
        "A chat has one run at a time": "yes" if ends_there else "only in this process",
    }


async def deaths(deployment: Deployment) -> dict[str, str]:
    """The first worker is killed, with all that it does at that time."""
    ends = {"say": "Said", "slow": "One", "then": "Well", **dict.fromkeys(TOOLS, "tool-input-available")}
    async with AsyncExitStack() as stack:
        for kind, seen in ends.items():
            await deployment.begin(stack, kind, f"killed-{kind}", seen=seen)
        await deployment.begin(stack, "slow", "killed-used", seen="One")
        stopped = await deployment.begin(stack, "slow", "killed-stopped", seen="One")
        await deployment.stop("killed-stopped")
        assert await stopped.last() == "abort"
        while not all(deployment.tool_log.tool_runs(f"killed-{tool}") for tool in TOOLS):  # noqa: ASYNC110 - another process acts
            await asyncio.sleep(0.02)
        deployment.workers[0].kill()
    if not deployment.is_shared:
        await asyncio.to_thread(deployment.mend)
    async with AsyncExitStack() as stack:
        again = await deployment.begin(
            stack, "say", "killed-used", seen="Said", worker=-1 if deployment.is_shared else 0
        )
        assert await again.last() == "finish"
    await asyncio.to_thread(deployment.mend)
    for kind in (*ends, "stopped"):
        deployment.tool_log.open(f"killed-{kind}")
    await asyncio.sleep(LEASE + TAKING_UP)
    finished = await deployment.says("killed-slow", "two")
    ran = {kind: len(deployment.tool_log.tool_runs(f"killed-{kind}")) for kind in ("then", *TOOLS)}
    assert ran["delve"] == 1
    assert finished == await deployment.says("killed-then", "done killed-then")
    usable = "after the lease expires" if deployment.is_shared else "after a restart"
    used = {"The user can continue the chat after its worker is killed": usable}
    assert "two" not in await deployment.stored("killed-stopped")
    return (used if len(deployment.workers) > 1 else {}) | {
        "A run continues after its worker is killed": yes(finished),
        "A finished tool runs again after its worker is killed": yes(ran["then"] != 1),
        "An unfinished tool runs again after its worker is killed": "if it is idempotent" if ran["dig"] == 2 else "no",
    }


async def endings(deployment: Deployment) -> dict[str, str]:
    async with AsyncExitStack() as stack:
        reading = await deployment.begin(stack, "slow", "ended", seen="One")
        deployment.workers[0].end()
        last = await reading.last()
        await asyncio.to_thread(deployment.workers[0].ended)
    if not deployment.is_shared:
        await asyncio.to_thread(deployment.mend)
    deployment.tool_log.open("ended")
    goes_on = await deployment.says("ended", "two")
    assert goes_on == (last != "abort")
    return {"Runs of a terminating worker": "continue on another worker" if goes_on else "end after `--drain` seconds"}


async def pauses(deployment: Deployment) -> dict[str, str]:
    row = "A worker that hung, and lost its chat to another worker, writes nothing more in this chat"
    if not deployment.is_shared:
        return {row: "not applicable"}
    async with AsyncExitStack() as stack:
        await deployment.begin(stack, "slow", "paused", seen="One")
        await asyncio.sleep(0.5)  # no transaction of its own is open: the database would wait for that
        deployment.workers[0].freeze()
    await deployment.says("paused", "two")
    async with AsyncExitStack() as stack:
        assert await (await deployment.begin(stack, "say", "paused", seen="Said", worker=1)).last() == "finish"
    before = await deployment.stored("paused")
    deployment.tool_log.open("paused")
    deployment.workers[0].thaw()
    await asyncio.sleep(2 * LEASE)
    return {row: "yes" if await deployment.stored("paused") == before else "no"}
