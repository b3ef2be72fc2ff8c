"""``/metrics``: access to the page, and the caching of its text."""

import asyncio
from collections.abc import Mapping

import httpx
import pytest
from google.adk.agents import LlmAgent

from stream_protocol.server import only_allowed_hosts
from stream_protocol.serving import create_app
from stream_protocol.serving.http import MetricsPage
from stream_protocol.testing import ScriptedLlm
from tests.serving.http.test_allowed_hosts import listener
from tests.serving.support import client

PAGE = "https://page.example"


class Numbers:
    """Metrics that count their reads."""

    def __init__(self) -> None:
        self.read = 0

    def __call__(self) -> bytes:
        self.read += 1
        return b"adk_ui_stream_active_runs 1.0\n"


@pytest.fixture
def numbers() -> Numbers:
    return Numbers()


@pytest.fixture
def app(numbers: Numbers) -> MetricsPage:
    agent = LlmAgent(name="root", model=ScriptedLlm(turns=["Hi."]))
    return MetricsPage(create_app(agent, allow_origins=[PAGE]), numbers)


async def answer(app: MetricsPage, method: str = "GET", headers: Mapping[str, str] | None = None) -> httpx.Response:
    async with client(app) as http:
        return await http.request(method, "/metrics", headers=dict(headers or {}))


async def test_the_page_has_the_numbers_in_prometheus_text_format(app: MetricsPage) -> None:
    got = await answer(app)
    assert (got.status_code, got.text) == (200, "adk_ui_stream_active_runs 1.0\n")
    assert got.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert (got.headers["x-content-type-options"], got.headers["cache-control"]) == ("nosniff", "no-store")


async def test_the_app_around_it_answers_as_before(app: MetricsPage) -> None:
    async with client(app) as http:
        assert (await http.get("/healthz")).json() == {"status": "ok"}
        assert (await http.get("/metrics/x")).status_code == 404


async def test_no_page_of_another_site_reads_it_also_none_that_may_chat(app: MetricsPage, numbers: Numbers) -> None:
    for origin in (PAGE, "https://evil.example"):
        refused = await answer(app, headers={"origin": origin, "sec-fetch-site": "cross-site"})
        assert refused.status_code == 403
        old_browser = await answer(app, headers={"origin": origin})
        assert "access-control-allow-origin" not in old_browser.headers
    assert (await answer(app, "OPTIONS", {"origin": PAGE, "access-control-request-method": "GET"})).status_code == 405


async def test_a_name_that_the_server_does_not_answer_to_gets_no_numbers(app: MetricsPage, numbers: Numbers) -> None:
    with listener("127.0.0.1") as sock:
        guarded = only_allowed_hosts(app, sock)
    async with client(guarded) as http:
        assert (await http.get("/metrics", headers={"host": "evil.example"})).status_code == 403
        assert numbers.read == 0
        assert (await http.get("/metrics", headers={"host": "localhost"})).status_code == 200


async def test_the_page_is_made_once_a_second_however_many_ask(app: MetricsPage, numbers: Numbers) -> None:
    answers = await asyncio.gather(*[answer(app) for _ in range(20)])
    assert {got.status_code for got in answers} == {200}
    assert numbers.read == 1


async def test_the_page_is_only_read(app: MetricsPage) -> None:
    assert (await answer(app, "POST")).status_code == 405
    assert (await answer(app, "HEAD")).status_code == 200
