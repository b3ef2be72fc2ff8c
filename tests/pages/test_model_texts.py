"""Texts as models write them, although Markdown means something else: all of them are shown, also while they grow."""

import re
from typing import Final

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.batch import batch
from tests.demo_page import STREAMING_TEXT, WHOLE_TEXT, say
from tests.pages.growing_texts import growing_texts
from tests.pages.test_markdown import write

pytestmark = [pytest.mark.pages, pytest.mark.browser, pytest.mark.node]

CODE: Final = "[data-streamdown=code-block-body]"
ROWS: Final = "rows => rows.map(row => [...row.cells].map(cell => cell.textContent))"
PARAGRAPHS: Final = "texts => texts.map(text => [...text.querySelectorAll('p')].map(words => words.textContent))"

TEXTS: Final = {
    "one tilde": ("3~5 days or 10~20 km, ~/a and ~/b", "3~5 days or 10~20 km, ~/a and ~/b"),
    "one tilde beside Japanese": ("3~5日、10~20円です。", "3~5日、10~20円です。"),
    "a link to a file": ("See [main.py](src/main.py).", "See main.py."),
    "a link to nothing": ("See [this]() and [that](#there).", "See this and that."),
    "a link without a text": ("[](https://x.example/a)", "https://x.example/a"),
    "an image of a sandbox": ("![A chart](sandbox:/mnt/data/a.png)", "A chart"),
    "an image of a folder": ("![A chart](a.png)", "A chart"),
}
"""Paragraphs and what is seen of them."""


@batch(written=TEXTS)
def test_a_paragraph_is_seen_as_it_was_meant(page: Page, written: tuple[str, str]) -> None:
    markdown, seen = written
    text = write(page, markdown)
    assert text.locator("p").all_text_contents() == [seen]
    expect(text.locator("del")).to_have_count(0)


def test_a_number_above_another_is_no_quotation(page: Page) -> None:
    text = write(page, "- > 25 years\n- >= $5\n\n> quoted")
    assert [item.strip() for item in text.locator("li").all_text_contents()] == ["> 25 years", ">= $5"]
    expect(text.locator("blockquote")).to_have_count(1)


@batch(
    lines=["Roses are *red*\nViolets are blue", "| Name | Price |\n| Apple | 1 |", "<root>\n<b>x</b>\n</root>"],
)
def test_lines_of_a_paragraph_stay_lines(page: Page, lines: str) -> None:
    text = write(page, f"{lines}\n\n- {lines.replace(chr(10), chr(10) + '  ')}")
    seen = lines.replace("*", "")
    assert text.locator("p").first.inner_text() == seen
    assert text.locator("li").inner_text().strip() == seen


GROWING: Final = {
    "a `<` without an end": ("For i<n.\n\nThen x<y holds for all", ["For i<n.", "Then x<y holds for all"]),
    "a bracket in an earlier paragraph": ("In [0, 1).\n\nNext", ["In [0, 1).", "Next"]),
    "an image without an end": ("See ![a chart](https://x.exam", ["See a chart"]),
    "a definition without an end": ("See [a].\n\n[a]: h", ["See a."]),
}
"""Texts that may still grow, and their paragraphs."""


def test_a_text_that_grows_hides_nothing(browser: Browser) -> None:
    with growing_texts(browser, [text for text, _ in GROWING.values()]) as page:
        shown = page.locator(STREAMING_TEXT).evaluate_all(PARAGRAPHS)
    assert dict(zip(GROWING, shown, strict=True)) == {name: seen for name, (_, seen) in GROWING.items()}


def test_a_formula_that_grows_after_another_one_is_a_placeholder(browser: Browser) -> None:
    with growing_texts(browser, ["So $x = 1$.\n\n$$y = 2 + x"]) as page:
        expect(page.locator(".katex")).to_have_count(1)
        expect(page.locator("[data-formula=display]")).to_have_count(1)


def test_a_fence_has_its_own_height_at_once(page: Page) -> None:
    block = write(page, "```bash\nls\n```").locator("[data-streamdown=code-block]")
    expect(block).to_have_css("content-visibility", "visible")


TABLE: Final = """| Name | Type | Default |
|---|---|---|
| a | `string | number` | `x` |
| b | see `a || b` and `c` or **d** | $1 |
| c | `e \\| f | g` |
| one | two | three | four | `five` |
| ` | x | y | ` |
| norm | $|x|$ and $\\|y\\|$ | $z$ |
"""


def test_a_row_keeps_all_of_its_cells_and_code_with_a_pipe_is_in_one(page: Page) -> None:
    text = write(page, f"{TABLE}\n- Item\n\n  | a |\n  |---|\n  | `b | c` |")
    expect(text.locator("td .katex")).to_have_count(3)
    assert text.locator("tbody tr:not(:has(.katex))").evaluate_all(ROWS) == [
        ["a", "string | number", "x"],
        ["b", "see a || b and c or d", "$1"],
        ["c", "`e | f", "g`"],
        ["one", "two", "three | four | five"],
        ["| x | y |", "", ""],
        ["b | c"],
    ]
    expect(text.locator("td code")).to_have_text(["string | number", "x", "a || b", "c", "five", "| x | y |", "b | c"])


JSON: Final = {
    "of lines": '{\n  "__type__": "a *b* c",\n  "steps": [\n    "x"\n  ]\n}',
    "with a fence in it": '{"code": "```py\\nx\\n```"}',
    "a list": '[{"a": 1},\n {"a": 2}]\n',
}
"""Answers of agents with an output schema."""


@batch(answer=JSON)
def test_an_answer_of_json_is_code(page: Page, answer: str) -> None:
    expect(write(page, answer).locator("pre")).to_have_text(answer.strip(), use_inner_text=True)


@batch(answer=['{"a": 1}\n\nThat is **JSON**.', '{"a" is no JSON', "[1] A book"])
def test_an_answer_that_only_begins_like_json_is_text(page: Page, answer: str) -> None:
    expect(write(page, answer).locator("pre")).to_have_count(0)


def test_json_that_grows_is_code_until_other_text_follows(browser: Browser) -> None:
    with growing_texts(browser, ['{"a": "}', '{"a": {}}\n\nThat']) as page:
        json, other = page.locator(STREAMING_TEXT).all()
        expect(json.locator(CODE)).to_have_text('{"a": "}', use_inner_text=False)
        expect(other.locator("p")).to_have_text(['{"a": {}}', "That"])


@pytest.mark.parametrize("tag", ["think", "thinking"])
def test_a_thought_in_tags_before_the_answer_is_folded(page: Page, tag: str) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    answer = f"<{tag}>\nLet me see.\n</{tag}>\n\nIt is **42**."
    text = write(page, answer)
    expect(text.locator("p")).to_have_text(["It is 42."])
    page.get_by_role("button", name=re.compile("^Thought")).click()
    expect(text.locator("[data-reasoning]")).to_have_text("Let me see.")
    page.get_by_role("article", name="Agent").get_by_role("button", name="Copy", exact=True).click()
    assert page.evaluate("navigator.clipboard.readText()") == answer


@batch(answer=["<think>\nLet me see.", "Write `<think>` and </think>.", "So: <think>a</think>"])
def test_other_tags_of_thoughts_are_text(page: Page, answer: str) -> None:
    text = write(page, answer)
    expect(text.locator("[data-reasoning]")).to_have_count(0)
    expect(text).to_contain_text("think>")


def test_a_thought_in_tags_that_grows_is_open(browser: Browser) -> None:
    with growing_texts(browser, ["<think>\nLet me"]) as page:
        expect(page.locator("[data-reasoning]")).to_have_text("Let me")
        expect(page.get_by_role("button", name="Thinking…")).to_be_visible()


def test_a_streamed_text_equals_the_reloaded_one(page: Page) -> None:
    written = [markdown for markdown, _ in [*TEXTS.values(), *GROWING.values()]]
    say(page, "write\n" + "\n\n".join([*written, TABLE, "```\r\nx\r\n```", "- [ ] a\n\n7. b", "a\x0cb\x07\x1b[31m"]))
    whole = page.locator(WHOLE_TEXT)
    expect(whole).to_have_count(1)
    expect(whole.locator(".katex").first).to_be_visible()  # what draws formulas is loaded with the first of them
    streamed = whole.inner_text()
    page.reload()
    expect(whole).to_have_text(streamed, use_inner_text=True)
