"""The demo page with the replay server, which sends each chunk when the test releases it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.chromium import HANG_MS, opened_tab
from tests.demo_page import answers, expect_status, unfolded
from tests.processes import ROOT, serving
from tests.replay_server.fixture_recordings import write_recordings

pytestmark = [pytest.mark.browser, pytest.mark.pages]

RECORDINGS: Final = ("streamed_arguments_nested", "approval_after_stream")


@pytest.fixture(scope="module")
def replay_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a replay server with the pace ``held``."""
    folder = write_recordings(tmp_path_factory.mktemp("recordings"), *RECORDINGS)
    with serving("--replay", str(folder), "--pace", "held", cwd=ROOT) as (_, url):
        yield url


@pytest.fixture
def page(browser: Browser, replay_url: str) -> Iterator[Page]:
    """The page, with a chat of each recording at hand: ``#NAME--1``."""
    with opened_tab(browser, height=700) as tab:
        yield tab


def step(url: str, chat: str, **query: Any) -> dict[str, Any]:
    response = httpx.post(f"{url}/__replay/{chat}/step", params=query, timeout=HANG_MS / 1000)
    assert response.status_code == 200, response.text
    told: dict[str, Any] = response.json()
    return told


def open_chat(page: Page, url: str, chat: str, words: str) -> None:
    page.goto(f"{url}/#{chat}")
    page.get_by_role("button", name=words, exact=True).click()


def test_a_page_shows_half_an_argument_for_as_long_as_it_is_held(page: Page, replay_url: str, shots: Path) -> None:
    chat = "streamed_arguments_nested--1"
    open_chat(page, replay_url, chat, "book")
    expect_status(page, "submitted")
    first = step(replay_url, chat, to="tool-input-delta")
    card = page.locator('[data-tool="book"][data-state="input-streaming"] dl')
    expect(card).to_contain_text("To: Tō")
    assert first["next"]["inputTextDelta"] == 'kyō \\"丸の内\\"'
    step(replay_url, chat)
    expect(card).to_contain_text('To: Tōkyō "丸の内"')
    expect_status(page, "streaming")
    page.screenshot(path=shots / "replay-1-held.png")
    assert "Legs" not in card.inner_text()
    step(replay_url, chat, to="tool-input-available")
    running = page.locator('[data-tool="book"][data-state="input-available"]')
    expect(unfolded(running)).to_contain_text("window seat")
    expect_status(page, "streaming")
    step(replay_url, chat, all="true")
    expect_status(page, "ready")
    page.screenshot(path=shots / "replay-2-done.png")


def test_a_question_is_answered_and_the_rest_is_held_again(page: Page, replay_url: str) -> None:
    chat = "approval_after_stream--1"
    open_chat(page, replay_url, chat, "pay 5")
    step(replay_url, chat, all="true")
    page.get_by_role("button", name="Approve").click()
    expect_status(page, "submitted")
    step(replay_url, chat, to="tool-output-available")
    expect(page.locator('[data-tool="pay"][data-state="output-available"]')).to_have_count(1)
    expect_status(page, "streaming")
    step(replay_url, chat, all="true")
    expect_status(page, "ready")
    assert answers(page).count() == 1


def test_what_was_not_recorded_is_told_on_the_page(page: Page, replay_url: str, shots: Path) -> None:
    page.goto(f"{replay_url}/#approval_after_stream--2")
    page.get_by_label("Message").fill("pay 6")
    page.get_by_label("Message").press("Enter")
    expect(page.get_by_role("alert")).to_contain_text(
        "No recorded turn matches. Nearest: turn 1 of approval_after_stream.jsonl; "
        'first difference at messages[-1].parts[0].text: recorded "pay 5", received "pay 6".'
    )
    page.screenshot(path=shots / "replay-3-refused.png")
