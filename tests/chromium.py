"""Headless Chromium for tests of pages."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal, TypedDict, Unpack

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, ViewportSize, expect, sync_playwright

from tests.tools import missing

HANG_MS: Final = 60_000
"""Milliseconds after which a condition that is still false fails the test."""

_NAMES: Final = ("chromium", "chromium-browser", "google-chrome")
_FLAGS: Final = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def require_chromium() -> str:
    """Return the path of the browser."""
    found = next(filter(None, map(shutil.which, _NAMES)), None)
    return found or missing("There is no Chromium on this machine.")


TELL_VIOLATIONS: Final = """
addEventListener("securitypolicyviolation", ({ effectiveDirective, blockedURI }) =>
    console.error("Content Security Policy:", effectiveDirective, blockedURI));
"""
"""Script that logs all violations of the policy. Chromium's console omits a caught ``new Function``."""


class Screen(TypedDict, total=False):
    """Size of the window in CSS pixels (by default 1100 by 900), its colour scheme (by default light), and the number
    of pixels for each CSS pixel (by default 1)."""

    width: int
    height: int
    colors: Literal["light", "dark"]
    scale: int


@contextmanager
def opened_tab(browser: Browser, **screen: Unpack[Screen]) -> Iterator[Page]:
    """Open a tab with its own storage. Fails the test if a page fails, or violates its content security policy."""
    viewport: ViewportSize = {"width": screen.get("width", 1100), "height": screen.get("height", 900)}
    colors = screen.get("colors", "light")
    # Without motion: a click may miss what is being scrolled.
    tab = browser.new_page(
        viewport=viewport,
        color_scheme=colors,
        reduced_motion="reduce",
        device_scale_factor=screen.get("scale", 1),
    )
    tab.set_default_timeout(HANG_MS)
    expect.set_options(timeout=HANG_MS)
    failures: list[str] = []
    tab.on("pageerror", lambda error: failures.append(str(error)))

    def note(message: ConsoleMessage) -> None:
        if "Content Security Policy" in message.text:
            failures.append(message.text)

    tab.on("console", note)
    tab.add_init_script(TELL_VIOLATIONS)
    yield tab
    tab.close()
    assert failures == [], failures


@contextmanager
def launched(*flags: str) -> Iterator[Browser]:
    """Start a Chromium with further flags."""
    path = require_chromium()
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=[*_FLAGS, *flags])
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with launched() as chromium:
        yield chromium


@pytest.fixture(scope="session")
def shots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of screenshots: ``SCREENSHOTS`` of the environment, or a temporary folder."""
    named = os.environ.get("SCREENSHOTS")
    folder = Path(named) if named else tmp_path_factory.mktemp("screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    return folder
