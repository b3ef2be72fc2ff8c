"""The demo server and a headless Chromium, for the tests that look at the page."""

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
HANG_MS = 60_000
"""How long a condition may take before it counts as a hang."""


def missing(reason: str) -> NoReturn:
    """Skips the test, except where everything has to be there."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def shots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where screenshots go: the folder named by SCREENSHOTS, or a temporary one."""
    named = os.environ.get("SCREENSHOTS")
    folder = Path(named) if named else tmp_path_factory.mktemp("screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="module")
def demo_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a demo server on a free port of loopback."""
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


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    paths = [path for path in map(shutil.which, CHROMIUM_NAMES) if path]
    if not paths:
        missing("There is no Chromium on this machine.")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=paths[0], args=list(CHROMIUM_FLAGS))
        yield chromium
        chromium.close()


@pytest.fixture
def page(browser: Browser, demo_url: str) -> Iterator[Page]:
    """A new chat. Fails the test if the page itself fails."""
    tab = browser.new_page(viewport={"width": 1100, "height": 900}, color_scheme="light")
    tab.set_default_timeout(HANG_MS)
    expect.set_options(timeout=HANG_MS)
    failures: list[str] = []
    tab.on("pageerror", lambda error: failures.append(str(error)))
    tab.goto(demo_url)
    yield tab
    tab.close()
    assert failures == []
