"""Markdown that agents write: all of it is shown, also if its end is missing or a part of it cannot be drawn."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.batch import batch
from tests.demo_page import (
    COLOURED,
    STREAMING_TEXT,
    WHOLE_TEXT,
    answers,
    expect_status,
    field,
    say,
    texts,
    tool,
    unfolded,
)
from tests.pages.growing_texts import growing_texts
from tests.pages.scenes import GROWING, Scenes

pytestmark = [pytest.mark.pages, pytest.mark.browser, pytest.mark.node]

TAGS: Final = (Path(__file__).parent / "fence_tags.txt").read_text(encoding="utf-8").splitlines()
"""Tags of fences as models write them, and hostile ones; some with attributes."""

FENCES: Final = {
    "without a tag": ("```\nx = 1\n```", "x = 1"),
    "with a space as its tag": ("``` \nx = 1\n```", "x = 1"),
    "with spaces around its tag": ("```   zig   \nx = 1\n```", "x = 1"),
    "not closed": ("```zig\nx = 1", "x = 1"),
    "not closed and without a tag": ("```\nx = 1", "x = 1"),
    "of tildes": ("~~~zig\nx = 1\n~~~", "x = 1"),
    "of tildes without a tag": ("~~~\nx = 1\n~~~", "x = 1"),
    "in a fence": ("````markdown\n```zig\nx = 1\n```\n````", "```zigx = 1```"),
    "in a fence of tildes": ("~~~\n```zig\nx = 1\n```\n~~~", "```zigx = 1```"),
    "in a list": ("- one\n\n  ```zig\n  x = 1\n  ```\n- two", "x = 1"),
    "as an item": ("- ```\n  x = 1\n  ```\n- two", "x = 1"),
    "in a numbered list": ("1. one\n\n   ~~~kotlin\n   x = 1\n   ~~~", "x = 1"),
    "in a quotation": ("> ```zig\n> x = 1\n> ```", "x = 1"),
    "of indented lines": ("    x = 1", "x = 1"),
    "beside a note": ("Noted[^1].\n\n```zig\nx = 1\n```\n\n[^1]: A note.", "x = 1"),
    "with HTML in it": ("```\n<b>x</b> <script>y</script>\n```", "<b>x</b> <script>y</script>"),
    "with a line of 20,000 characters": (f"```\n{'x' * 20_000}\n```", "x" * 20_000),
}
"""Blocks of code, and the visible text of each."""

UNFINISHED: Final = """Before **it** [all](https://x.example/a_b).

```zig title="a"
const a = 1;
```

| a | b |
|---|---|
| 1 | `2` |

- one
  ~~~
  two_three
  ~~~

$$x^2$$

After."""
"""A text that is cut after each of its characters."""

WORDS: Final = ("Before", "it", "all", "const a = 1;", "1", "2", "one", "two_three", "After.")
"""The words that a reader sees."""

CODE: Final = "[data-streamdown=code-block-body]"
PLAIN: Final = "[data-plain]"
"""The selector of blocks that could not be drawn."""

NO_BOOM: Final = """
const { canParse } = URL;
URL.canParse = (url, base) => {
    if (url.endsWith("/boom")) throw new Error("This link cannot be drawn.");
    return canParse.call(URL, url, base);
};
"""
"""Fails where a link to this URL is drawn."""

NO_TABLE: Final = """
const { toLowerCase } = String.prototype;
String.prototype.toLowerCase = function () {
    if (String(this) === "leaves at") throw new Error("This table cannot be drawn.");
    return toLowerCase.apply(this);
};
"""
NO_USAGE: Final = "Number.prototype.toLocaleString = () => { throw new Error('This number cannot be drawn.'); };"


@contextmanager
def an_error(page: Page, expected_errors: list[str], text: str) -> Iterator[None]:
    """Waits until the page's console has an error with this text."""
    expected_errors.append(text)
    with page.expect_console_message(lambda message: message.type == "error" and text in message.text):
        yield


def write(page: Page, markdown: str) -> Locator:
    """Has the agent write this, and returns its text once it is complete."""
    earlier = texts(page).count()
    say(page, f"write\n{markdown}")
    expect(page.locator(WHOLE_TEXT)).to_have_count(earlier + 1)
    expect_status(page, "ready")
    return texts(page).last


def test_a_fence_with_any_tag_shows_its_code_and_the_prose_around_it(page: Page) -> None:
    fences = [f"Before {index}.\n\n```{tag}\ncode {index}\n```\n\nAfter {index}." for index, tag in enumerate(TAGS)]
    text = write(page, "\n\n".join(fences))
    expect(text.locator(CODE)).to_have_count(len(TAGS))
    assert text.locator(CODE).all_text_contents() == [f"code {index}" for index in range(len(TAGS))]
    prose = [f"{side} {index}." for index in range(len(TAGS)) for side in ("Before", "After")]
    assert text.locator("p").all_text_contents() == prose


@batch(fence=FENCES)
def test_a_block_of_code_shows_its_code_and_the_prose_before_it(page: Page, fence: tuple[str, str]) -> None:
    markdown, code = fence
    text = write(page, f"**Before.**\n\n{markdown}")
    expect(text.locator(CODE)).to_have_text(code, use_inner_text=False)
    expect(text.locator("p").first).to_have_text("Before.")
    expect(page.locator(PLAIN)).to_have_count(0)


@batch(
    fence=[
        ("dockerfile", "FROM python"),
        ("toml", "a = 1"),
        ("console", "$ ls"),
        ("php", "<?php echo 1;"),
        ("kotlin", "val a = 1"),
        ("c++", "int a = 1;"),
    ]
)
def test_code_in_a_common_language_is_coloured(page: Page, fence: tuple[str, str]) -> None:
    tag, code = fence
    text = write(page, f"```{tag}\n{code}\n```")
    expect(text.locator(CODE).locator(COLOURED).first).to_be_visible()


def test_code_whose_colouring_fails_has_one_colour(page: Page, expected_errors: list[str]) -> None:
    with an_error(page, expected_errors, "Code in js is shown without colours: RangeError"):
        text = write(page, f"**Before.**\n\n```js\n{'`${' * 3000}\n```")
    expect(text.locator(CODE)).to_have_text("`${" * 3000, use_inner_text=False)
    expect(text.locator("p")).to_have_text("Before.")


def test_a_fence_is_shown_in_thoughts_and_in_what_a_tool_returns(page: Page) -> None:
    say(page, "ponder\nBefore.\n\n```zig\nx = 1\n```\n\n```\nno tag\n```\n\nAfter.")
    page.get_by_role("button", name=re.compile("^Thought")).click()
    expect(page.locator("[data-reasoning]").locator(CODE)).to_have_text(["x = 1", "no tag"])
    expect(page.locator("[data-reasoning]").locator("p")).to_have_text(["Before.", "After."])
    expect_status(page, "ready")
    say(page, "manual")
    expect(answers(page).last).to_contain_text("Read it.")
    returned = unfolded(tool(page, "manual", "output-available")).locator("[data-json=output] pre")
    expect(returned).to_have_text("Read:\n\n```zig\nconst a = 1;\n```", use_inner_text=True)


def test_mathematics_in_a_fence_are_drawn(page: Page) -> None:
    text = write(page, "Before.\n\n```math\n\\frac{a}{b}\n```\n\nAfter.")
    expect(text.locator(".katex")).to_have_count(1)
    expect(text.locator("p")).to_have_text(["Before.", "After."])


@pytest.fixture
def beginnings(browser: Browser) -> Iterator[Page]:
    """A page whose one answer is still being written: it has each beginning of `UNFINISHED` as a text of its own."""
    with growing_texts(browser, [UNFINISHED[:length] for length in range(1, len(UNFINISHED) + 1)]) as page:
        yield page


def test_every_beginning_of_a_text_shows_all_of_its_words(beginnings: Page) -> None:
    written = beginnings.locator(STREAMING_TEXT)
    expect(written).to_have_count(len(UNFINISHED))
    for length, text in enumerate(written.evaluate_all("texts => texts.map(text => text.textContent)"), 1):
        beginning = UNFINISHED[:length]
        assert [word for word in WORDS if word in beginning and word not in text] == [], beginning
    expect(beginnings.locator(PLAIN)).to_have_count(0)


def test_a_block_that_cannot_be_drawn_is_shown_as_it_was_written_until_it_grows(
    page: Page, scenes: Scenes, expected_errors: list[str]
) -> None:
    page.add_init_script(NO_BOOM)
    page.reload()
    with an_error(page, expected_errors, "Error: This link cannot be drawn."):
        say(page, "grow")
    text = page.locator(STREAMING_TEXT)
    expect(text.locator(PLAIN)).to_have_text("https://rivers.example/boom")
    expect(text.locator("p").first.locator("[data-streamdown=strong]")).to_have_text("Before.")
    scenes.go_on()
    expect(texts(page).get_by_role("link")).to_have_attribute("href", "https://rivers.example/boomerang")
    expect(page.locator(PLAIN)).to_have_count(0)
    assert texts(page).locator("p").all_text_contents() == ["Before.", "".join(GROWING).split()[-1]]


def test_a_text_that_cannot_be_split_into_blocks_is_shown_as_it_was_written(
    page: Page, expected_errors: list[str]
) -> None:
    markdown = f"Before.\n\n{'>' * 5000} deep\n\nAfter."
    with an_error(page, expected_errors, "RangeError"):
        text = write(page, markdown)
    expect(text.locator(PLAIN)).to_have_text(markdown)


def test_a_call_that_cannot_be_drawn_is_json_and_the_text_beside_it_is_drawn(
    page: Page, expected_errors: list[str]
) -> None:
    page.add_init_script(NO_TABLE)
    page.reload()
    say(page, "list")
    with an_error(page, expected_errors, "Error: This table cannot be drawn."):
        unfolded(tool(page, "trains", "output-available"))
    expect(page.locator("[data-json=tool-trains]")).to_contain_text('"leaves_at": "07:45"')
    expect(texts(page)).to_have_text("Two trains.")


def test_a_message_that_cannot_be_drawn_is_its_text_and_the_chat_goes_on(
    page: Page, expected_errors: list[str]
) -> None:
    page.add_init_script(NO_USAGE)
    page.reload()
    with an_error(page, expected_errors, "Error: This number cannot be drawn."):
        say(page, "hello")
    expect(page.locator(PLAIN)).to_have_text("You said: hello")
    expect_status(page, "ready")
    say(page, "again")
    expect(page.locator(PLAIN)).to_have_text(["You said: hello", "You said: again"])
    expect(field(page)).to_be_focused()


@batch(
    formula=[
        r"\frac{1}{0",
        r"\nothing{x}",
        r"\begin{matrix} 1 & 2",
        r"\def\a{\a\a}\a",
        "{" * 5000,
        "é 日本",
        r"\text{",
    ],
)
def test_a_formula_that_is_wrong_is_shown_as_it_was_written(
    page: Page, expected_errors: list[str], formula: str
) -> None:
    expected_errors.append("LaTeX-incompatible input")  # a warning of KaTeX
    text = write(page, f"Before.\n\n$$\n{formula}\n$$\n\nAfter.")
    expect(text.locator(".katex, .katex-error").first).to_be_visible()
    expect(text.locator("p").first).to_have_text("Before.")
    expect(text.locator("p").last).to_have_text("After.")


FORMULAS: Final = {
    "dollars": ("Mass is $m$ and energy $E = mc^2$.", 2, "Mass is"),
    "parentheses": (r"Mass is \(m\), and \(E = mc^2\).", 2, "Mass is"),
    "brackets": ("So:\n\n\\[\nE = mc^2\n\\]\n\nEnd.", 1, "End."),
    "brackets in a list": ("1. So:\n\n   \\[ E = mc^2 \\]\n2. End.", 1, "End."),
    "brackets in a line": (r"Pay \[ P = \frac{r}{n} \] where \[E = mc^2\] is.", 2, "where"),
    "brackets at the beginnings of lines": ("\\[ x = 1 \\] is one.\n\nAnd \\[ y = 2 \\]", 2, "is one."),
    "brackets after a bullet, with rows": (r"- \[ \begin{aligned} a &= b \\[4pt] c &= d \end{aligned} \]", 1, ""),
    "brackets that are text": (r"See \[1\], \[x\] and \[not $m$\].", 1, "See [1], [x] and [not"),
    "brackets that are not closed": (r"An \[ a = b and $5.", 0, "An [ a = b and $5."),
    "a price in a formula": (r"So $P \approx \$193.33$ is due.", 1, "is due."),
    "prices with escapes": (r"It costs $5 and \$6 or 7$ now.", 0, "It costs $5 and $6 or 7$ now."),
    "a formula that is not closed": (r"So $\frac{1}{2 for $5.", 0, r"So $\frac{1}{2 for $5."),
    "a fraction": (r"Half is $\frac{1}{2}$, or 0.5.", 1, "or 0.5."),
    "prices": ("It costs $5, and with tax $6 or $7.50.", 0, "It costs $5, and with tax $6 or $7.50."),
    "a range": ("From $5 to $10, or $5-$10, or US$3/US$4.", 0, "From $5 to $10, or $5-$10, or US$3/US$4."),
    "words between": ("I have $5 and you owe me 10$ now.", 0, "I have $5 and you owe me 10$ now."),
    "a price beside a formula": ("It costs $5 for $n = 2$ of them.", 1, "It costs $5 for"),
    "an escape": (r"Not a formula: \$x\$.", 0, "Not a formula: $x$."),
    "code": ("`echo $HOME$PATH` and `\\(x\\)`", 0, "echo $HOME$PATH and \\(x\\)"),
    "a fence": ("```sh\necho $A $B$ \\(x\\)\n```", 0, "echo $A $B$ \\(x\\)"),
    "a link": ("[a \\[1\\]](https://x.example/)", 0, "a [1]"),
}
"""Formulas and prices as models write them: the number of drawn formulas, and some words beside them."""


@batch(written=FORMULAS)
def test_formulas_are_drawn_and_prices_are_not(page: Page, written: tuple[str, int, str]) -> None:
    markdown, formulas, words = written
    text = write(page, markdown)
    expect(text.locator(".katex")).to_have_count(formulas)
    expect(text).to_contain_text(words, use_inner_text=False)
    expect(text.locator(".katex-error")).to_have_count(0)


DISPLAYED: Final = {
    "on its own line": "Before.\n\n$$E = mc^2$$\n\nAfter.",
    "between two lines": "Before.\n$$E = mc^2$$\nAfter.",
    "of several lines": "Before.\n\n$$\\begin{aligned}\na &= b \\\\\nc &= d\n\\end{aligned}$$\n\nAfter.",
    "in an item": "1. Before.\n\n   $$E = mc^2$$\n2. After.",
    "of an environment": "Before.\n\n\\begin{align}\na &= b \\label{a} \\\\\n\nc &= d\n\\end{align}\n\nAfter.",
    "between brackets": "Before.\n\n\\[ E = mc^2 \\]\n\nAfter.",
    "in a line of text": None,
}
"""Formulas on lines of their own, which are displayed."""


@batch(markdown=DISPLAYED)
def test_a_formula_on_its_own_lines_is_displayed(page: Page, markdown: str | None) -> None:
    text = write(page, markdown or "Before $$E = mc^2$$ this. After.")
    expect(text.locator(".katex")).to_have_count(1)
    expect(text.locator(".katex-display")).to_have_count(0 if markdown is None else 1)
    expect(text.locator(".katex-error, .eqn-num:visible")).to_have_count(0)
    expect(text).to_contain_text("After.")


@batch(text=["The interval [0, 1) is half-open.", "About ~~5 of 2 ** 3.", "Call __init", "See `this", "![a"])
def test_a_finished_text_ends_as_it_was_written(page: Page, text: str) -> None:
    assert write(page, f"Before.\n\n{text}").locator("p").all_text_contents() == ["Before.", text]


DEFINITIONS: Final = {
    "a word that looks like a link": ("[Answer]: 42", ["[Answer]: 42"]),
    "a title": ('[Sum]: 42 "of all"', ['[Sum]: 42 "of all"']),
    "sources": ("[1]: https://x.example/a\n[2]: /b", ["[1]: https://x.example/a", "[2]: /b"]),
    "a note": ("[^1]: A *note*.", ["[^1]: A note."]),
    "a note of paragraphs": ("[^n]: One.\n\n    Two.", ["[^n]: One.", "Two."]),
    "a note of code": ("[^n]:\n    ```\n    x = 1\n    ```", ["[^n]: "]),
    "one in a quotation": ("> [Answer]: 42", ["[Answer]: 42"]),
    "one beside another that is used": ("See [A].\n\n[a]: https://x.example\n[b]: c", ["See A.", "[b]: c"]),
}
"""Definitions of links and footnotes to which nothing refers, and the paragraphs that are seen."""


@batch(definition=DEFINITIONS)
def test_a_definition_to_which_nothing_refers_is_shown(page: Page, definition: tuple[str, list[str]]) -> None:
    markdown, shown = definition
    text = write(page, f"Before.\n\n{markdown}")
    assert text.locator("p").all_text_contents() == ["Before.", *shown]


def test_html_is_text_with_its_lines_and_a_line_break_breaks_the_line(page: Page) -> None:
    paragraphs = "Before.\n\n<details>\n<summary>Sum</summary>\n\n<b>in</b> it\n\n</details>\n\n<!-- x -->"
    text = write(page, f"{paragraphs}\n\n|a<br>b|\n|-|\n|c<BR/>d|")
    shown = ["Before.", "<details>\n<summary>Sum</summary>", "<b>in</b> it", "</details>", "<!-- x -->"]
    assert text.locator("p").all_inner_texts() == shown
    assert text.locator("th, td").all_inner_texts() == ["a\nb", "c\nd"]
