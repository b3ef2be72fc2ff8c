"""``adk-ui-stream serve --workers 2``: one address, and processes that a test may kill."""

import asyncio
import json
import os
import re
import signal
import subprocess
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from uuid import uuid4

import httpx
import pytest

from tests.postgres import Postgres
from tests.processes import COMMAND, ENV, HANG
from tests.redis_server import redis_server

pytestmark = [pytest.mark.fleet]

AGENT = """
import os
from google.adk.agents import LlmAgent
from stream_protocol.testing import ScriptedLlm, Wait

def respond(request):
    asked = request.contents[-1].parts[-1].text
    return [f"pid={os.getpid()};", Wait(float(asked)), "Bye."]

root_agent = LlmAgent(name="mine", model=ScriptedLlm(respond=respond))
"""


class Served:
    """The server that a test may signal. ``url`` is its address."""

    def __init__(self, process: subprocess.Popen[str], url: str) -> None:
        self.process, self.url = process, url

    def rest(self) -> str:
        """The rest of its output, once it has ended."""
        assert self.process.stdout is not None
        return self.process.stdout.read()

    async def tell(self, seconds: float, chat: str = "") -> AsyncIterator[str]:
        """The stream of a chat that takes so long, in pieces."""
        words = {"id": uuid4().hex, "role": "user", "parts": [{"type": "text", "text": str(seconds)}]}
        body = {"id": chat or uuid4().hex, "messages": [words]}
        async with (
            httpx.AsyncClient(timeout=HANG) as http,
            http.stream("POST", f"{self.url}/api/chat", json=body) as response,
        ):
            response.raise_for_status()
            async for piece in response.aiter_text():
                yield piece

    async def worker(self) -> int:
        """The process that answers a chat."""
        said = "".join([piece async for piece in self.tell(0)])
        assert "Bye." in said
        return int(said.partition("pid=")[2].partition(";")[0])

    async def workers(self, count: int) -> set[int]:
        """The processes that answer, once there are so many."""
        found: set[int] = set()
        async with asyncio.timeout(HANG):
            while len(found) < count:
                found |= set(await asyncio.gather(*(self.worker() for _ in range(8))))
        return found


def address_in(lines: Iterable[str]) -> str:
    """Of the server, in the first line that has one."""
    return next(found[0] for line in lines if (found := re.search(r"http://[\w.:]+", line)))


@contextmanager
def served(folder: Path, *options: str, run_log: str | None = None) -> Iterator[Served]:
    """Two workers. ``run_log``: in place of a Redis of their own."""
    (folder / "mine.py").write_text(AGENT)
    with ExitStack() as stack:
        log = run_log or stack.enter_context(redis_server(folder)).url
        shared = ["--run-log", log, "--session-service-uri", f"sqlite:///{folder}/chats.db"]
        command = [*COMMAND, "serve", "mine:root_agent", "--workers", "2", *shared, "--port", "0", *options]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=ENV, cwd=folder
        ) as process:
            assert process.stdout is not None
            try:
                yield Served(process, address_in(process.stdout))
            finally:
                process.kill()


def wait_until_gone(pid: int) -> None:
    while Path(f"/proc/{pid}").exists():
        time.sleep(0.01)


async def test_a_worker_that_dies_is_replaced_while_the_other_answers(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        first, second = await server.workers(2)
        os.kill(first, signal.SIGKILL)
        await asyncio.to_thread(wait_until_gone, first)  # until then it may still be given connections, which break
        assert await server.worker() != first
        now = await server.workers(2)
        assert first not in now
        assert second in now
        assert server.process.poll() is None


async def test_workers_of_one_address_stop_each_others_runs_by_postgresql_alone(
    tmp_path: Path, postgres: Postgres
) -> None:
    with served(tmp_path, run_log=postgres.new_database()) as server:
        await server.workers(2)
        chats = [f"chat{number}" for number in range(8)]
        streams = [server.tell(3600, chat) for chat in chats]
        heads = [await anext(stream) for stream in streams]
        async with httpx.AsyncClient(timeout=HANG, limits=httpx.Limits(max_keepalive_connections=0)) as http:
            for chat in chats:  # each at whichever worker the system chooses
                assert (await http.post(f"{server.url}/api/chat/{chat}/stop")).status_code == 202
        for head, text in zip(heads, await asyncio.gather(*map(rest, streams)), strict=True):
            assert '{"type":"abort"}' in head + text


async def test_a_log_in_json_has_a_line_for_a_worker_that_dies(tmp_path: Path) -> None:
    with served(tmp_path, "--log-format", "json") as server:
        first, _ = await server.workers(2)
        os.kill(first, signal.SIGKILL)
        await server.workers(2)
        server.process.terminate()
        await asyncio.to_thread(server.process.wait, HANG)
        told = [json.loads(line) for line in server.rest().splitlines()]
    (line,) = [line for line in told if line["severity"] == "WARNING"]
    assert line["message"] == f"worker {first} ended with exit code -9: starting a new worker"


async def begun(server: Served, seconds: float, count: int = 8) -> tuple[list[AsyncIterator[str]], set[str]]:
    """Streams that have begun, and their workers."""
    streams = [server.tell(seconds) for _ in range(count)]
    heads = ["" for _ in streams]
    for number, stream in enumerate(streams):
        while "pid=" not in heads[number]:
            heads[number] += await anext(stream)
    return streams, {head.partition("pid=")[2] for head in heads}


async def rest(stream: AsyncIterator[str]) -> str:
    return "".join([piece async for piece in stream])


@pytest.mark.usefixtures("_in_a_terminal")
@pytest.mark.parametrize(
    ("signals", "seconds", "end", "code"),
    [
        ((signal.SIGTERM,), 3, "Bye.", -signal.SIGTERM),
        ((signal.SIGTERM, signal.SIGTERM), 3600, '{"type":"abort"}', -signal.SIGTERM),
        ((signal.SIGINT,), 3600, '{"type":"abort"}', 0),
        ((signal.SIGHUP,), 3600, '{"type":"abort"}', 0),
    ],
    ids=["all are told to end", "a second signal", "at a terminal", "whose terminal is closed"],
)
async def test_a_signal_reaches_every_worker(
    signals: tuple[signal.Signals, ...], seconds: float, end: str, code: int, tmp_path: Path
) -> None:
    with served(tmp_path) as server:
        await server.workers(2)
        streams, _ = await begun(server, seconds)
        for number in signals:
            server.process.send_signal(number)
            await asyncio.sleep(0.5)
        for text in await asyncio.gather(*map(rest, streams)):
            assert end in text
        assert await asyncio.to_thread(server.process.wait, HANG) == code
        assert server.rest().partition("stops it.\n")[2] == ""


def test_what_the_first_worker_cannot_do_is_said_once_and_ends_all(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(AGENT)
    with redis_server(tmp_path) as redis:
        options = ["--workers", "2", "--run-log", redis.url, "--port", "0", "--allowed-host", "https://chat.example"]
        command = [
            *COMMAND,
            "serve",
            "mine:root_agent",
            *options,
            "--session-service-uri",
            f"sqlite:///{tmp_path}/c.db",
        ]
        done = subprocess.run(command, capture_output=True, text=True, env=ENV, cwd=tmp_path, timeout=HANG, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: 'https://chat.example' is not a host name")
    assert done.stderr.count("\n") == 1
