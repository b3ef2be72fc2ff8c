"""Finds parts of the built page in a browser by their accessible names."""

from typing import Final

from playwright.sync_api import Locator, Page, Request, expect

STREAMING_TEXT: Final = '[data-text="streaming"]'
"""Selector of a text that is being streamed."""

COLOURED: Final = '[style*="var(--code-"]'
"""A coloured token of code. Uncoloured code has the same styles with the colour ``inherit``."""

WHOLE_TEXT: Final = '[data-text="done"]'
"""Selector of a complete text."""

DRAWN_TEXT: Final = f"{WHOLE_TEXT}:not(:has([data-plain]))"
"""Selector of a complete text that is drawn as Markdown. Until the script for Markdown is there, a text is plain."""


def say(page: Page, text: str) -> None:
    field(page).fill(text)
    field(page).press("Enter")


def field(page: Page) -> Locator:
    return page.get_by_role("textbox", name="Message", exact=True)


def answers(page: Page) -> Locator:
    """Return the assistant messages."""
    return page.get_by_role("article", name="Agent")


def texts(page: Page) -> Locator:
    """Return the texts of the agent, each separately."""
    return answers(page).locator("[data-text]")


def tool(page: Page, name: str, state: str) -> Locator:
    return page.locator(f'[data-tool="{name}"][data-state="{state}"]')


def unfolded(card: Locator) -> Locator:
    """Unfold the input and output of a call. Returns its card."""
    summary = card.get_by_role("button").first
    expect(summary).to_be_visible()
    if summary.get_attribute("aria-expanded") == "false":
        summary.click()
    return card


def expect_status(page: Page, status: str) -> None:
    expect(page.get_by_role("status")).to_have_attribute("data-status", status)


def posts(page: Page) -> list[Request]:
    """Return a list to which later POST requests of the chat are added."""
    seen: list[Request] = []
    page.on("request", lambda request: seen.append(request) if request.method == "POST" else None)
    return seen


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).last.click()
