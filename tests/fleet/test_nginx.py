"""The nginx of ``examples/deploy`` before the two workers of its ``compose.yaml``: no sticky sessions, HTTP/2, TLS."""

import asyncio
import json
import signal
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any

import httpx
import pytest

from tests.chromium import launched, opened_tab
from tests.deploy.files import compose
from tests.fleet.browser import Browser, browser
from tests.fleet.nginx import Nginx, nginx
from tests.fleet.test_fleet_pages import asks_again
from tests.fleet.tool_log import ToolLog
from tests.fleet.workers import AGENT, Fleet, Worker
from tests.postgres import Postgres
from tests.processes import HANG
from tests.redis_server import redis_server
from tests.serving.support import chat as chat_body, said, text

pytestmark = pytest.mark.fleet

AWAY = "The server cannot reach its chats just now. Try again."
"""The text of a worker whose Redis is unreachable."""

STREAMS = 9

BEGIN_STREAMS = """async bodies => {
    const headers = { 'content-type': 'application/json' };
    const posts = bodies.map(body => fetch('/api/chat', { method: 'POST', headers, body: JSON.stringify(body) }));
    window.streams = (await Promise.all(posts)).map(({ body }) => {
        const stream = { reader: body.pipeThrough(new TextDecoderStream()).getReader(), text: '' };
        stream.until = async words => {
            while (!stream.text.includes(words)) {
                const { value, done } = await stream.reader.read();
                if (done) throw new Error(`no ${words} in ${stream.text}`);
                stream.text += value;
            }
        };
        return stream;
    });
}"""
READ_STREAMS = "words => Promise.all(window.streams.map(stream => stream.until(words)))"
PROTOCOLS = """() => {
    const posts = performance.getEntriesByType('resource').filter(({ name }) => name.endsWith('/api/chat'));
    return [...new Set(posts.map(({ nextHopProtocol }) => nextHopProtocol))];
}"""


@pytest.fixture(scope="module")
def deployment(postgres: Postgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """The workers of ``compose.yaml``, as they are started there, with another agent and stores that are here."""
    folder = tmp_path_factory.mktemp("composed")
    services = compose()["services"]
    (_server, *redis_options), (_agent, *options) = services["redis"]["command"], services["worker-1"]["command"]
    with redis_server(folder, *redis_options) as redis:
        database = postgres.new_database()
        places = {
            "postgresql://chat:${POSTGRES_PASSWORD:?}@postgres/chat": database,
            "redis://redis:6379/0": redis.url,
        }
        own = [
            name + equals + places.get(value, value)
            for name, equals, value in (option.partition("=") for option in options)
            if name != "--log-format"  # a test waits for the line on the screen
        ]
        whole = Fleet((Worker(folder, AGENT, *own), Worker(folder, AGENT, *own)), ToolLog(folder), redis, 7, database)
        try:
            whole.mend()
            yield whole
        finally:
            whole.kill()


@pytest.fixture(scope="module")
def shared_front(deployment: Fleet) -> Iterator[Nginx]:
    with nginx(deployment.ports) as running:
        yield running


@pytest.fixture
def front(deployment: Fleet, shared_front: Nginx) -> Nginx:
    """nginx before a fleet that is whole."""
    deployment.mend()
    return shared_front


@pytest.fixture
async def pages(front: Nginx) -> AsyncIterator[Browser]:
    async with browser(front.url, 7, NODE_EXTRA_CA_CERTS=str(front.certificate)) as opened:
        yield opened


@asynccontextmanager
async def client(front: Nginx, *, http2: bool = True) -> AsyncIterator[httpx.AsyncClient]:
    trusted = ssl.create_default_context(cafile=front.certificate)
    async with httpx.AsyncClient(
        base_url=front.url, verify=trusted, http2=http2, timeout=HANG, trust_env=False
    ) as opened:
        yield opened


def asking(http: httpx.AsyncClient, words: str, chat: str) -> AbstractAsyncContextManager[httpx.Response]:
    return http.stream("POST", "/api/chat", json=chat_body(said(words), chat_id=chat))


async def until(lines: AsyncIterator[str], kind: str) -> dict[str, Any]:
    """Reads on to the first chunk of this type."""
    async for line in lines:
        if line.startswith("data: {") and (chunk := json.loads(line.removeprefix("data: ")))["type"] == kind:
            return dict(chunk)
    raise AssertionError(f"no {kind} has come")


def read(lines: list[str]) -> list[dict[str, Any]]:
    return [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: {")]


@pytest.mark.parametrize("http2", [False, True], ids=["HTTP/1.1", "HTTP/2"])
async def test_chunks_come_one_by_one(http2: bool, deployment: Fleet, front: Nginx, chat: str) -> None:
    async with client(front, http2=http2) as http, asking(http, f"slow {chat}", chat) as response:
        assert (response.status_code, response.http_version) == (200, "HTTP/2" if http2 else "HTTP/1.1")
        lines = response.aiter_lines()
        assert (await until(lines, "text-delta"))["delta"] == "One", "while the agent waits for the test"
        deployment.tool_log.open(chat)
        assert text(read([line async for line in lines])) == f" two {chat}."


async def test_a_response_of_a_worker_that_dies_does_not_look_whole(deployment: Fleet, front: Nginx, chat: str) -> None:
    async with AsyncExitStack() as stack:
        old_http = stack.enter_context(nginx(deployment.ports, ("proxy_http_version 1.1;", "")))
        responses = []
        for number, (way, http2) in enumerate(((front, False), (front, True), (old_http, False))):
            http = await stack.enter_async_context(client(way, http2=http2))
            response = await stack.enter_async_context(asking(http, f"slow {chat}", f"{chat}-{number}"))
            responses.append(response.aiter_lines())
            await until(responses[-1], "text-delta")
        for worker in deployment.workers:
            worker.kill()
        *told, not_told = responses
        for lines in told:
            with pytest.raises(httpx.RemoteProtocolError):
                [line async for line in lines]
        assert "[DONE]" not in "".join([line async for line in not_told]), (
            "what HTTP/1.0 between nginx and workers does"
        )


async def test_what_one_worker_says_is_read_on_after_a_reload(
    deployment: Fleet, front: Nginx, pages: Browser, chat: str
) -> None:
    first = await pages.page(chat)
    await first.send(f"slow {chat}")
    await first.until(type="text")
    readers = [first, *[await pages.reloaded(chat) for _ in range(3)]]
    for page in readers:
        await page.until(type="text")
    deployment.tool_log.open(chat)
    for page in readers:
        assert (await page.at_rest()).text() == f"One two {chat}."
    assert {worker for worker in front.workers() if worker} == {f"127.0.0.1:{port}" for port in deployment.ports}


async def test_what_runs_is_stopped_whichever_worker_is_asked(deployment: Fleet, pages: Browser, chat: str) -> None:
    for turn in range(2):
        first = await pages.page(f"{chat}-{turn}")
        await first.send(f"dig {chat}.{turn}")
        await first.until(type="tool-dig", state="input-available")
        second = await pages.reloaded(f"{chat}-{turn}")
        await second.until(type="tool-dig", state="input-available")
        assert await second.stop() == 202
        for page in (first, second):
            assert (await page.settled()).status == "ready"
        deployment.tool_log.open(f"{chat}.{turn}")
        await asks_again(second)
        assert [tool_run.tool for tool_run in deployment.tool_log.tool_runs(f"{chat}-{turn}")] == ["dig"]


async def test_a_chat_goes_round_the_workers_turn_by_turn(deployment: Fleet, pages: Browser, chat: str) -> None:
    page = await pages.page(chat)
    for turn in range(3):
        await page.send(f"pay {chat}.{turn}")
        await page.settled()
        await page.approve("pay")
        assert (await page.at_rest()).text() == f"Shall I? Done {chat}.{turn}."
    assert [tool_run.key for tool_run in deployment.tool_log.tool_runs(chat)] == [f"{chat}.{turn}" for turn in range(3)]


async def test_a_worker_that_is_not_there_is_passed_over(deployment: Fleet, front: Nginx, chat: str) -> None:
    deployment.workers[0].kill()
    async with client(front) as http:
        for number in range(4):
            async with asking(http, f"say {number}", f"{chat}-{number}") as response:
                assert text(read([line async for line in response.aiter_lines()])) == f"Said {number}."


async def test_a_new_version_ends_no_chat(deployment: Fleet, pages: Browser, chat: str) -> None:
    """One worker after the other is stopped, while it runs and other users send."""
    opened = [await pages.page(f"{chat}-{number}") for number in range(4)]
    for turn, worker in enumerate(deployment.workers):
        for page in opened:
            await page.send(f"stroll {chat}.{turn}")
        for page in opened:
            await page.until(type="tool-note")
        worker.end()
        late = [await pages.page(f"{chat}-{turn}-{number}") for number in range(4)]
        for page in late:
            await page.send(f"stroll {chat}.{turn}")
        for page in (*opened, *late):
            assert (await page.at_rest()).text().endswith(f"Home again {chat}.{turn}.")
        assert await asyncio.to_thread(worker.ended) == -signal.SIGTERM
        deployment.mend()


async def test_what_all_workers_refuse_is_refused_with_their_words_and_asked_again_at_once(
    deployment: Fleet, front: Nginx, chat: str
) -> None:
    deployment.redis.kill()
    with nginx(deployment.ports, (" max_fails=0", "")) as impatient:
        async with client(impatient) as http:
            for status in (503, 502):
                async with asking(http, "say hello", chat) as response:
                    assert response.status_code == status, "nginx asks no worker for a while"
    async with client(front) as http:
        for _ in range(2):
            async with asking(http, "say hello", chat) as response:
                assert response.status_code == 503
                assert (await response.aread()).decode() == AWAY
        deployment.redis.start()
        async with asking(http, "say hello", chat) as response:
            assert text(read([line async for line in response.aiter_lines()])) == "Said hello."


async def test_a_body_of_some_megabytes_passes(front: Nginx, chat: str) -> None:
    async with client(front) as http, asking(http, "say " + "x" * 3_000_000, chat) as response:
        assert response.status_code == 200


def test_a_browser_reads_more_streams_at_once_than_it_has_connections(
    deployment: Fleet, front: Nginx, chat: str
) -> None:
    """Chromium opens six connections to a server, and over HTTP/2 it needs one."""
    with launched("--ignore-certificate-errors") as chromium, opened_tab(chromium) as tab:
        tab.route(f"{front.url}/", lambda route: route.fulfill(body="", content_type="text/html"))
        tab.goto(f"{front.url}/")
        bodies = [chat_body(said(f"slow {chat}"), chat_id=f"{chat}-{number}") for number in range(STREAMS)]
        tab.evaluate(BEGIN_STREAMS, bodies)
        tab.evaluate(READ_STREAMS, '"delta":"One"')
        deployment.tool_log.open(chat)
        tab.evaluate(READ_STREAMS, "[DONE]")
        assert tab.evaluate(PROTOCOLS) == ["h2"]
