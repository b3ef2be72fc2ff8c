"""The browser's work on styles: a message behind a long text must not restyle that text, which would hold up keys."""

import json
from typing import Final

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.demo_page import expect_status, say, texts
from tests.pages.test_markdown import write

pytestmark = [pytest.mark.pages, pytest.mark.browser, pytest.mark.node]

LINES: Final = 300
CODE: Final = (
    "```python\n" + 'def greet(name: str, count: int = 1) -> str: return f"Hello {name} {count}"\n' * LINES + "```"
)


def restyled_at_once(trace: bytes) -> int:
    """Return the number of elements in the largest update of styles."""
    updates = [each for each in json.loads(trace)["traceEvents"] if each["name"] == "UpdateLayoutTree"]
    counts: list[int] = [each["args"]["elementCount"] for each in updates if "elementCount" in each.get("args", {})]
    assert counts, "the trace holds no update of styles"
    return max(counts)


def test_a_message_behind_a_long_code_block_does_not_restyle_it(browser: Browser, page: Page) -> None:
    text = write(page, f"{CODE}\n\nThe end.")
    words = text.locator("code span").count()
    assert words > 10 * LINES
    browser.start_tracing(page=page, categories=["devtools.timeline"])
    say(page, "write\nMore.")
    expect(page.get_by_text("More.", exact=True)).to_be_visible()
    expect_status(page, "ready")
    assert restyled_at_once(browser.stop_tracing()) < words / 10


def test_actions_are_seen_at_the_last_message_and_under_the_pointer(page: Page) -> None:
    write(page, "One.")
    write(page, "Two.")
    _, one, _, two = page.locator(".message-actions").all()
    page.mouse.move(1, 1)
    expect(one).to_have_css("opacity", "0")
    expect(two).to_have_css("opacity", "1")
    texts(page).first.hover()
    expect(one).to_have_css("opacity", "1")
