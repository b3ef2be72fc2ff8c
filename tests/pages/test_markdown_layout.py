"""The layout of Markdown on the page: the space between its blocks, and its direction."""

import re
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import Page, expect

from tests.demo_page import DRAWN_TEXT, expect_status, say
from tests.pages.conftest import Open
from tests.pages.scenes import ARABIC

pytestmark = [pytest.mark.pages, pytest.mark.browser, pytest.mark.node]

GAPS: Final = """() => {
    const blocks = "p, ul, ol, h1, h2, blockquote, hr, section, "
        + "[data-streamdown=code-block], [data-streamdown=table-wrapper]";
    const outermost = [...document.querySelectorAll("article[aria-label=Agent] .markdown")].map((box) =>
        [...box.querySelectorAll(blocks)].filter((block) => !block.parentElement.closest(blocks)));
    return outermost.map((found) => found.slice(1).map((block, index) =>
        Math.round(block.getBoundingClientRect().top - found[index].getBoundingClientRect().bottom)));
}"""
"""The pixels between all blocks of each text."""

INNER_GAPS: Final = """(selector) => [...document.querySelectorAll(selector)].map((block) => Math.round(
    block.getBoundingClientRect().top - block.previousElementSibling.getBoundingClientRect().bottom))"""

BLOCKS: Final = """
# Title

A paragraph.

Another paragraph.

## A title
Below a title.

- one
- two

1. first
2. second

> quoted

| a | b |
|---|---|
| 1 | 2 |

After a table.

```zig
code
```

After code.

---

![one](https://pictures.example/1.png)

After an image.

<div>
HTML
</div>

Last.
"""

FIRST: Final = """() => [...document.querySelectorAll("article[aria-label=Agent]")].map((answer) =>
    Math.round(answer.querySelector("h3").getBoundingClientRect().top - answer.getBoundingClientRect().top))"""
"""The pixels above the heading with which each answer begins."""

NESTED: Final = """
- one

  more of one

  ```
  code of one
  ```
- two

> quoted
>
> more of it
>
> - a list
"""


def write(page: Page, markdown: str, scene: str = "write") -> None:
    """Has the agent write or think this."""
    say(page, f"{scene}\n{markdown}")
    expect(page.locator(DRAWN_TEXT)).to_have_count(1)


@pytest.mark.parametrize("where", ["write", "ponder"])
@pytest.mark.parametrize(
    "markdown",
    [
        BLOCKS,
        f"{BLOCKS}\nNoted[^1].\n\n[^1]: A note.",
        f"{BLOCKS}\nSee [a].\n\n[a]: https://x.example/",
        f"{ARABIC}\n\n" * 3,
    ],
    ids=["blocks", "blocks with a note", "blocks with a link below", "right to left"],
)
def test_there_is_space_between_all_blocks(open_page: Open, shots: Path, where: str, markdown: str) -> None:
    page = open_page(height=1600)
    write(page, markdown, where)
    if where == "ponder":
        page.get_by_role("button", name=re.compile("^Thought")).click()
    page.wait_for_function(f"() => ({GAPS})()[0]?.length > 1")
    gaps = page.evaluate(GAPS)[0]
    page.screenshot(path=shots / f"blocks-{where}.png")
    assert all(8 <= gap <= 40 for gap in gaps), str(gaps)
    assert page.locator(".markdown").first.evaluate(
        "box => box.getBoundingClientRect().top === box.querySelector('h1, p').getBoundingClientRect().top"
    )


def test_a_fence_has_a_header_that_names_its_language_and_covers_no_code(page: Page) -> None:
    write(page, "```\nno language\n```\n\n```python\nx = 1\n```")
    names = page.locator("[data-streamdown=code-block-header] > span").evaluate_all(
        "names => names.map(name => name.textContent || getComputedStyle(name, '::before').content)"
    )
    assert names == ['"code"', "python"]
    overlaps = page.locator("[data-streamdown=code-block]").evaluate_all("""blocks => blocks.filter((block) =>
        block.querySelector("button").getBoundingClientRect().bottom >
        block.querySelector("[data-streamdown=code-block-body]").getBoundingClientRect().top)""")
    assert overlaps == []


def test_there_is_space_within_items_and_quotations(page: Page) -> None:
    write(page, NESTED)
    for selector in (
        "li > p + p",
        "li > p + [data-streamdown=code-block]",
        "blockquote > p + p",
        "blockquote > p + ul",
    ):
        gaps = page.evaluate(INNER_GAPS, selector)
        assert gaps, selector
        assert all(4 <= gap <= 16 for gap in gaps), (selector, gaps)


def test_the_number_of_an_item_has_room(page: Page) -> None:
    room = "list => parseFloat(getComputedStyle(list).paddingInlineStart)"
    write(page, "2024. A year.\n\n- of which\n\n1. one\n2. two")
    year, one = page.locator("ol").evaluate_all(f"lists => lists.map({room})")
    assert year >= one + 20


def test_tables_and_quotations_are_written_from_the_right_where_the_text_is(page: Page) -> None:
    write(page, f"> {ARABIC}\n\n| اسم | قيمة |\n|---|--:|\n| أ | ب |")
    edges = "box => [getComputedStyle(box).borderLeftWidth, getComputedStyle(box).borderRightWidth]"
    assert page.locator("blockquote").evaluate(edges) == ["0px", "4px"]
    aligned = page.locator("th").evaluate_all("cells => cells.map(cell => getComputedStyle(cell).textAlign)")
    assert aligned == ["start", "right"]


def test_a_task_below_a_task_is_indented(page: Page) -> None:
    write(page, "- [ ] outer\n  - [x] inner")
    boxes = page.get_by_role("checkbox")
    expect(boxes).to_have_count(2)
    outer, inner = (box.evaluate("box => box.getBoundingClientRect().left") for box in boxes.all())
    assert inner > outer


def test_a_heading_at_the_beginning_has_no_space_above_it(page: Page) -> None:
    for beginning in ("", "\n", "\n\n \n"):
        say(page, f"write\n{beginning}### Title\n\nA paragraph.\n\n\n")
        expect(page.locator(DRAWN_TEXT).last).to_contain_text("A paragraph.")
        expect_status(page, "ready")
    assert page.evaluate(FIRST) == [0, 0, 0]


def test_code_is_written_from_the_left_and_urls_do_not_turn_a_list_around(page: Page) -> None:
    write(page, f"{ARABIC} `f()`\n\n1. {ARABIC[:5]} https://x.example/a/long/path/of/letters")
    expect(page.locator("[data-streamdown=inline-code]")).to_have_css("direction", "ltr")
    expect(page.locator("ol")).to_have_css("direction", "rtl")


def test_the_boxes_of_tasks_stand_where_the_text_begins(page: Page) -> None:
    write(page, "Pack:\n\n- [x] passport\n- [ ] tickets")
    text = page.locator(DRAWN_TEXT).last
    box, paragraph = text.get_by_role("checkbox").first.bounding_box(), text.locator("p").first.bounding_box()
    assert box is not None
    assert paragraph is not None
    assert abs(box["x"] - paragraph["x"]) <= 5  # the margin of a box


def test_a_task_has_its_number_and_an_item_between_tasks_its_bullet(page: Page) -> None:
    write(page, "7. [ ] seven\n8. [x] eight\n\n- [ ] task\n- item")
    text = page.locator(DRAWN_TEXT)
    tasks = text.locator("li")
    for index, style in enumerate(["decimal", "decimal", "none", "disc"]):
        expect(tasks.nth(index)).to_have_css("list-style-type", style)
    assert text.locator("ul").evaluate("list => parseFloat(getComputedStyle(list).paddingInlineStart)") > 0
