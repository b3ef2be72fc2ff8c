"""Fixtures for tests of the page: the demo server and a headless Chromium."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, Page

from tests.chromium import HANG_MS, browser, opened_tab, shots
from tests.processes import ROOT

__all__ = ["browser", "shots"]


@pytest.fixture(scope="module")
def demo_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a demo server on a free port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    without = {"GOOGLE_API_KEY", "AI_SDK", "DISCONNECT_GRACE"}
    environment = {key: value for key, value in os.environ.items() if key not in without}
    log = tmp_path_factory.mktemp("demo") / "log"
    with log.open("wb") as output:
        command = [sys.executable, "-m", "server", "--port", str(port)]
        server = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=output, stderr=subprocess.STDOUT)
        try:
            url = f"http://127.0.0.1:{port}/"
            wait_until_healthy(url, server, log)
            yield url
        finally:
            server.terminate()
            server.wait(timeout=HANG_MS / 1000)


def wait_until_healthy(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + HANG_MS / 1000
    while server.poll() is None and time.monotonic() < deadline:
        try:
            if httpx.get(f"{url}healthz").is_success:
                return
        except httpx.TransportError:
            time.sleep(0.1)
    pytest.fail(f"The demo server did not come up:\n{log.read_text()}")


@pytest.fixture
def page(browser: Browser, demo_url: str) -> Iterator[Page]:
    """Page with a new chat."""
    with opened_tab(browser) as tab:
        tab.goto(demo_url)
        yield tab
