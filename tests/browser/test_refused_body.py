"""A browser's ``fetch`` sees the refusal when it has sent too much."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from socketserver import StreamRequestHandler, ThreadingTCPServer
from typing import Any, Final
from urllib.parse import urlsplit

import pytest
from google.adk.agents import LlmAgent
from playwright.sync_api import Browser, Page
from starlette.applications import Starlette
from starlette.responses import HTMLResponse
from starlette.routing import Route

from stream_protocol.serving import create_app
from stream_protocol.testing import ScriptedLlm
from tests.chromium import HANG_MS
from tests.served import POLL_SECONDS, served

pytestmark = [pytest.mark.browser, pytest.mark.pages]

SIZE: Final = 40_000_000
"""Bytes: more than the limit of a request body."""

POST: Final = """
    async ([url, size]) => {
        const headers = { "content-type": "application/json" };
        const response = await fetch(url, { method: "POST", headers, body: "x".repeat(size) });
        return [response.status, await response.text()];
    }
"""


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[str]:
    """The address of a page of another origin."""
    with served(Starlette(routes=[Route("/", lambda request: HTMLResponse("<p>A page.</p>"))])) as url:
        yield url


class Proxy(StreamRequestHandler):
    """Forwards one request to the server at ``upstream``, and reads the answer once all is sent, as proxies do."""

    upstream: tuple[str, int]

    def handle(self) -> None:
        head = list(iter(self.rfile.readline, b"\r\n"))
        if not head:
            return  # a browser opens connections that it does not need
        length = sum(int(line.split()[1]) for line in head if line.lower().startswith(b"content-length:"))
        kept = [line for line in head if not line.lower().startswith(b"connection:")]
        with socket.create_connection(self.upstream) as server:
            server.sendall(b"".join([*kept, b"Connection: close\r\n\r\n"]))
            while length > 0:
                piece = self.rfile.read(min(length, 2**16))
                server.sendall(piece)
                length -= len(piece)
            while piece := server.recv(2**16):
                self.wfile.write(piece)


class QuietServer(ThreadingTCPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """Logs nothing: the browser sees the error."""


@contextmanager
def behind_a_proxy(url: str) -> Iterator[str]:
    upstream = {"upstream": ("127.0.0.1", urlsplit(url).port)}
    with QuietServer(("127.0.0.1", 0), type("ProxyOfOne", (Proxy,), upstream)) as proxy:
        threading.Thread(target=proxy.serve_forever, args=(POLL_SECONDS,)).start()
        yield f"http://127.0.0.1:{proxy.server_address[1]}"
        proxy.shutdown()


@pytest.fixture(scope="module", params=["reached directly", "behind a proxy"])
def chat_url(elsewhere: str, request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of a server that lets that page chat."""
    agent = LlmAgent(name="root", model=ScriptedLlm(turns=["Never."]))
    with served(create_app(agent, allow_origins=[elsewhere])) as url:
        if request.param == "reached directly":
            yield url
        else:
            with behind_a_proxy(url) as proxied:
                yield proxied


@pytest.fixture
def tab(browser: Browser) -> Iterator[Page]:
    tab = browser.new_page()
    tab.set_default_timeout(HANG_MS)
    yield tab
    tab.close()


@pytest.mark.parametrize("origin", ["its own", "another"])
def test_a_page_reads_why_its_message_was_too_large(tab: Page, chat_url: str, elsewhere: str, origin: str) -> None:
    tab.goto(elsewhere if origin == "another" else chat_url)
    status, words = tab.evaluate(POST, [f"{chat_url}/api/chat", SIZE])
    assert status == 413
    assert words.startswith("The request is larger than 32 MiB: ")
