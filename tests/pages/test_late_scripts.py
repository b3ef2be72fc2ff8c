"""Formulas and code whose scripts load after the first text that has them."""

from collections.abc import Callable
from pathlib import Path
from typing import Final, Literal

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.demo_page import COLOURED, expect_status, say, texts
from tests.pages.conftest import Open
from tests.pages.growing_texts import growing_texts

pytestmark = [pytest.mark.pages, pytest.mark.browser, pytest.mark.node]

KATEX: Final = "**/assets/katex-*.js"
LANGUAGES: Final = "**/assets/languages-*.js"
PLACEHOLDER: Final = "[data-formula]"

MARKDOWN: Final = r"""write
Energy is \(E = mc^2\), so

\[
\int_0^1 x\,dx = \frac{1}{2}
\]

$$a^2 + b^2 = c^2$$

```python
print("done")
```

It costs $5."""


def hold(page: Page, pattern: str) -> Callable[[], None]:
    """Delay the files of this pattern until the returned function is called."""
    held: list[Route] = []

    def keep(route: Route) -> None:
        held.append(route)

    page.route(pattern, keep)

    def go_on() -> None:
        for route in held:
            route.continue_()
        page.unroute(pattern)

    return go_on


def height(page: Page) -> float:
    box = texts(page).bounding_box()
    assert box is not None
    return box["height"]


@pytest.mark.parametrize(("width", "colors"), [(1100, "light"), (390, "dark")])
def test_a_formula_is_a_placeholder_until_its_script_is_there(
    open_page: Open, shots: Path, width: int, colors: Literal["light", "dark"]
) -> None:
    page = open_page(width=width, colors=colors)
    go_on = hold(page, KATEX)
    say(page, MARKDOWN)
    expect(page.locator(PLACEHOLDER)).to_have_count(3)
    expect_status(page, "ready")
    expect(page.locator("code").locator(COLOURED).first).to_be_visible()
    for delimiter in (r"\(", r"\[", "$$", "mc^2", r"\frac"):
        expect(texts(page)).not_to_contain_text(delimiter)
    expect(page.get_by_role("img", name="Formula").first).to_be_visible()
    page.screenshot(path=shots / f"formulas-loading-{width}.png")
    before = height(page)
    go_on()
    expect(page.locator(".katex")).to_have_count(3)
    expect(page.locator(PLACEHOLDER)).to_have_count(0)
    page.screenshot(path=shots / f"formulas-loaded-{width}.png")
    assert abs(height(page) - before) <= 24


def test_a_formula_whose_script_is_missing_is_code_and_is_drawn_with_the_next_one(
    open_page: Open, expected_errors: list[str], shots: Path
) -> None:
    expected_errors += ["Failed to load resource", "Formulas are shown as code"]
    page = open_page()
    page.route(KATEX, lambda route: route.abort())
    say(page, MARKDOWN)
    expect(texts(page).locator("code").filter(has_text="E = mc^2")).to_be_visible()
    expect(texts(page).locator("code").filter(has_text="a^2 + b^2 = c^2")).to_be_visible()
    expect(page.locator(PLACEHOLDER)).to_have_count(0)
    page.screenshot(path=shots / "formulas-as-code.png")
    page.unroute(KATEX)
    say(page, "write\nSo $x^2$.")
    expect(page.locator(".katex")).to_have_count(4)


def test_the_scripts_load_with_the_first_delimiter(browser: Browser) -> None:
    with growing_texts(browser, [r"Energy is \(E", "```py", "It costs $5 or $ 6."]) as page:
        loaded = "performance.getEntriesByType('resource').map(({ name }) => name.split('/').pop().split('-')[0])"
        page.wait_for_function(f"() => {loaded}.includes('katex') && {loaded}.includes('languages')")


def test_prices_load_no_script(browser: Browser) -> None:
    with growing_texts(browser, ["It costs $5 or $ 6, or 7$."]) as page:
        names = page.evaluate("performance.getEntriesByType('resource').map(({ name }) => name.split('/').pop())")
        assert not [name for name in names if name.startswith("katex")]


def test_a_stored_chat_shows_no_source_of_formulas(open_page: Open) -> None:
    page = open_page()
    say(page, MARKDOWN)
    expect(page.locator(".katex")).to_have_count(3)
    go_on = hold(page, KATEX)
    page.reload()
    expect(page.locator(PLACEHOLDER)).to_have_count(3)
    go_on()
    expect(page.locator(".katex")).to_have_count(3)


HALF: Final = [
    r"Energy is \(E = \frac{1}{",
    "So\n\n\\[\n\\int_0^1 \\frac{",
    "So\n\n$$\na^2 + \\sqrt{",
    r"Mass $\frac{m}{",
    "So\n\n\\begin{align}\na &= \\frac{",
    "- One\n- Two \\(x_",
]


def test_half_a_formula_is_a_placeholder(browser: Browser, shots: Path) -> None:
    with growing_texts(browser, HALF) as page:
        expect(page.locator(PLACEHOLDER)).to_have_count(len(HALF))
        for source in (r"\frac", r"\sqrt", r"\begin", "$", "katex-error", "x_"):
            expect(page.get_by_role("log")).not_to_contain_text(source)
        page.screenshot(path=shots / "formulas-half.png")


def test_words_after_a_price_or_a_variable_of_a_shell_are_shown_while_they_grow(browser: Browser) -> None:
    grown = ["It costs $5 and foo_bar", "Set $HOME_DIR and x^2", "`\\(x` is code", "Escaped \\\\(x"]
    with growing_texts(browser, grown) as page:
        expect(page.locator(PLACEHOLDER)).to_have_count(0)
        for words in ("foo_bar", "$HOME_DIR and x^2", "is code", "(x"):
            expect(page.get_by_role("log")).to_contain_text(words)
