"""The pictures of the page, taken from the running demo: ``python -m website.pictures`` writes them to docs/images.

It needs Chromium, and no key: without ``GOOGLE_API_KEY`` the demo's agent always gives the same answers.
"""

import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import httpx
from playwright.sync_api import Browser, expect

from tests.chromium import HANG_MS, Screen, launched, opened_tab
from tests.processes import ROOT, started

FOLDER: Final = ROOT / "docs" / "images"
WORDS: Final = "Plan a weekend in Lisbon"
SCREENS: Final[Mapping[str, Screen]] = {
    "page.png": {"width": 1120, "height": 760, "colors": "light"},
    "page-phone.png": {"width": 390, "height": 760, "colors": "dark"},
}
"""Name of a picture -> the screen on which it is taken."""

_CONNECT_RETRIES: Final = 7
"""Retries to connect. Each one waits twice as long as the one before: half a minute in all."""


def main() -> None:
    """Takes all pictures."""
    with serving_demo() as url, launched() as browser:
        for name, screen in SCREENS.items():
            take(browser, url, FOLDER / name, screen)


def take(browser: Browser, url: str, path: Path, screen: Screen) -> None:
    """The page at the moment when the agent has used its tools and asks for an approval."""
    with opened_tab(browser, **screen) as tab:
        tab.emulate_media(reduced_motion="reduce")
        tab.goto(url)
        tab.get_by_role("textbox", name="Message").fill(WORDS)
        tab.get_by_role("textbox", name="Message").press("Enter")
        approve = tab.get_by_role("button", name="Approve").first
        expect(approve).to_be_visible()
        expect(tab.get_by_role("button", name="Stop")).to_have_count(0)
        tab.wait_for_load_state("networkidle")
        approve.evaluate("button => button.scrollIntoView({ block: 'end' })")
        tab.screenshot(path=path, animations="disabled", caret="hide")


@contextmanager
def serving_demo() -> Iterator[str]:
    """The address of the demo, on a free port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with started("server", "--port", str(port), cwd=ROOT):
        url = f"http://127.0.0.1:{port}/"
        transport = httpx.HTTPTransport(retries=_CONNECT_RETRIES)
        with httpx.Client(transport=transport, timeout=HANG_MS / 1000) as client:
            client.get(f"{url}healthz").raise_for_status()
        yield url


if __name__ == "__main__":
    main()
