"""The nginx of ``examples/deploy`` in front of one worker: its timeouts, its host names, and its users."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import httpx
import pytest

from stream_protocol.serving.http._stream_response import KEEP_ALIVE
from tests.documents import block
from tests.fleet.nginx import BEGIN_OF_SERVER, Nginx, nginx
from tests.fleet.test_nginx import asking, client, read, until
from tests.fleet.tool_log import ToolLog
from tests.fleet.workers import AGENT, Worker
from tests.serving.support import chat as chat_body, said, text

pytestmark = pytest.mark.fleet

READ_TIMEOUT: Final = 60.0
"""Seconds: nginx's ``proxy_read_timeout`` where the configuration says none."""

SHORT: Final = (BEGIN_OF_SERVER, f"{BEGIN_OF_SERVER} proxy_read_timeout 2s;")


@dataclass(frozen=True)
class Lone:
    port: int
    tool_log: ToolLog

    @property
    def ports(self) -> tuple[int, int]:
        return self.port, self.port


@contextmanager
def worker(folder: Path, *options: str) -> Iterator[Lone]:
    """A worker with all data in memory."""
    process = Worker(folder, AGENT, *options)
    process.start()
    try:
        process.ready()
        yield Lone(process.port, ToolLog(folder))
    finally:
        process.kill()


@pytest.fixture(scope="module")
def lone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lone]:
    with worker(tmp_path_factory.mktemp("lone"), "--allowed-host", "chat.example") as running:
        yield running


async def test_a_tool_may_be_silent_for_as_long_as_nginx_waits(lone: Lone) -> None:
    with nginx(lone.ports) as front:
        async with client(front) as http, asking(http, "dig silent", "silent") as response:
            lines = response.aiter_lines()
            await until(lines, "tool-input-available")
            for _ in range(int(READ_TIMEOUT // KEEP_ALIVE)):
                while not (line := await anext(lines)).startswith(":"):
                    assert line == "", "the tool has said something"
            lone.tool_log.open("silent")
            assert text(read([line async for line in lines])) == "Done silent."


async def test_an_nginx_that_waits_for_less_cuts_the_stream_and_the_page_resumes_it(lone: Lone) -> None:
    with nginx(lone.ports, SHORT) as front:
        async with client(front) as http:
            async with asking(http, "dig cut", "cut") as response:
                lines = response.aiter_lines()
                await until(lines, "tool-input-available")
                with pytest.raises(httpx.RemoteProtocolError):
                    [line async for line in lines]
            async with http.stream("GET", "/api/chat/cut/stream") as response:
                lines = response.aiter_lines()
                await until(lines, "tool-input-available")
                lone.tool_log.open("cut")
                assert text(read([line async for line in lines])) == "Done cut."


async def answers(front: Nginx) -> tuple[int, ...]:
    """To the name of the server, and to another."""
    async with client(front) as http:
        names = ("chat.example", "elsewhere.example")
        return tuple([(await http.get("/api/chats", headers={"host": name})).status_code for name in names])


async def test_the_worker_is_told_by_which_name_it_was_asked(lone: Lone) -> None:
    with nginx(lone.ports) as front:
        assert await answers(front) == (200, 403)
        async with client(front, http2=False) as http:
            assert (await http.get("/api/chats", headers={"host": "chat.example:8443"})).status_code == 200
    with nginx(lone.ports, ("proxy_set_header Host $http_host;", "")) as front:
        assert await answers(front) == (403, 403), "nginx says its own name of the workers then"


async def test_nobody_says_by_a_header_who_he_is(tmp_path: Path) -> None:
    signed_in = (BEGIN_OF_SERVER, BEGIN_OF_SERVER + block("docs/deploy/nginx.md", "auth_basic"))
    pretending = {"x-user": "ann"}
    with worker(tmp_path, "--user-header", "X-User") as lone:
        with nginx(lone.ports) as front:
            async with client(front) as http:
                assert (await http.get("/api/chats", headers=pretending)).status_code == 401
        with nginx(lone.ports, ("proxy_set_header X-User $remote_user;", "")) as front:
            async with client(front) as http:
                assert (await http.get("/api/chats", headers=pretending)).status_code == 200, "without the line"
        with nginx(lone.ports, signed_in, users="ann:{PLAIN}a\nbob:{PLAIN}b\n") as front:
            async with client(front) as http:
                assert (await http.get("/api/chats", headers=pretending)).status_code == 401
                await http.post("/api/chat", json=chat_body(said("say hello")), auth=("ann", "a"))
                for user, chats in ({"ann": 1, "bob": 0}).items():
                    listed = await http.get("/api/chats", headers=pretending, auth=(user, user[0]))
                    assert len(listed.json()["chats"]) == chats


async def test_how_busy_a_worker_is_stays_inside(tmp_path: Path) -> None:
    with worker(tmp_path, "--metrics") as lone:
        for changes, status in (((), 404), ((("location = /metrics", "location = /other"),), 200)):
            with nginx(lone.ports, *changes) as front:
                async with client(front) as http:
                    assert (await http.get("/metrics")).status_code == status
