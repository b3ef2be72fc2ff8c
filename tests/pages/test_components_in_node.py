"""Texts of models in the chat components, drawn by Node without a browser."""

import re
from html import unescape
from typing import Any, Final

import pytest

from tests.batch import batch
from tests.pages.components import in_node

pytestmark = [pytest.mark.pages, pytest.mark.node]

ROWS: Final = """
const { wholeRows } = await load("messages/table-cells.ts");
const { unified } = await import("unified");
const { default: remarkParse } = await import("remark-parse");
const { default: remarkGfm } = await import("remark-gfm");
const processor = unified().use(remarkParse).use(remarkGfm);
return given.map((markdown) => {
  let parsed = 0, read = 0;
  const match = String.prototype.match;
  String.prototype.match = function (pattern) { read += this.length; return match.call(this, pattern); };
  const tree = processor.parse(markdown);
  wholeRows.call({ parse: (text) => { parsed += text.length; return processor.parse(text); } })(tree, markdown);
  String.prototype.match = match;
  return { parsed, read, cells: tree.children[0].children.at(-1).children.length };
});
"""
"""Characters that are parsed again and searched for code, and the cells of the last row."""

HEAD: Final = "| a | b |\n|---|---|\n"

LONG_TABLES: Final = {
    "rows with code without an end": HEAD + "| x | `a | b | c |\n" * 400,
    "a row with code without an end": HEAD + "| `a" + " | b" * 2000 + " |",
    "a row with code of many cells": HEAD + "| `a" + " | b" * 2000 + "` | c |",
    "a row with much code": HEAD + "| `a | b` " * 1000 + "|",
    "a row with quotations that look like code": HEAD + "| > `a | b` " * 1000 + "|",
}


@batch(markdown=LONG_TABLES)
def test_each_character_of_a_table_is_read_and_parsed_again_once(markdown: str) -> None:
    [work] = in_node(ROWS, [markdown])
    assert work["cells"] == 2
    assert work["parsed"] <= len(markdown)
    assert work["read"] <= len(markdown)


def test_code_that_has_all_cells_of_a_row_is_in_one() -> None:
    [work] = in_node(ROWS, [HEAD + "| ` | x | y | ` |"])
    assert work["cells"] == 1


BLOCKS: Final = """
const { growingBlocks } = await load("messages/blocks.ts");
return given.map((text) => growingBlocks(text).join(""));
"""

INDENTED: Final = ["    - > 25\n    - **a", "So:\n\n    - > 25\n    - [a](", "\t- > 25 `a"]


def test_a_growing_text_keeps_its_tildes_and_its_indented_code() -> None:
    assert in_node(BLOCKS, ["$$a~b$$", "3~5 days", *INDENTED]) == ["$$a~b$$", "3~5 days", *INDENTED]


DRAWN: Final = """
const { createElement } = await import("react");
const { prerender } = await import("react-dom/static");
const { RenderedMarkdown } = await load("messages/RenderedMarkdown.tsx");
const drawn = async ([text, live]) => {
  const { prelude } = await prerender(createElement(RenderedMarkdown, { text, live }));
  return (await new Response(prelude).text()).replace(/<!--.*?-->|<[^>]* class="sr-only.*?<\\/[^>]*>/g, "");
};
return Promise.all(given.map(drawn));
"""

COMPARED: Final = {
    "a number": ("- > 25 *years*", "> 25 years"),
    "a price": ("- >= $5\n  or so", ">= $5\nor so"),
    "the end of a sentence": ("- > 25.", "> 25."),
    "a sentence": ("- > 25. That is **much**.", "> 25. That is much."),
    "a reference": ("1. > 25 [a][b]\n\n[b]: https://x.example/", "> 25 a"),
    "in an inner item": ("- a\n    - > 25", "a\n\n> 25"),
}


@pytest.mark.parametrize("live", [False, True])
def test_a_number_above_another_at_the_beginning_of_an_item_is_no_quotation(live: bool) -> None:
    pages = in_node(DRAWN, [[text, live] for text, _ in COMPARED.values()])
    assert dict(zip(COMPARED, map(without_tags, pages), strict=True)) == {
        name: words for name, (_, words) in COMPARED.items()
    }
    assert not any("<blockquote" in page for page in pages)


@pytest.mark.parametrize("live", [False, True])
def test_a_quotation_in_an_item_that_begins_with_a_number_is_one(live: bool) -> None:
    [page] = in_node(DRAWN, [["- > 25 people came\n  > and left", live]])
    assert "<blockquote" in page


CODES: Final = ["    - > 25", "- a\n\n      - > 25", "- a\n  ```\n  - > 25\n  ```", "1. `\n   - > 25`"]


@pytest.mark.parametrize("live", [False, True])
def test_a_comparison_in_code_stays_as_written(live: bool) -> None:
    pages = in_node(DRAWN, [[text, live] for text in CODES])
    assert ["\\" in page or "&gt; 25" not in page for page in pages] == [False] * len(CODES)


def without_tags(html: str) -> str:
    return unescape(re.sub(r"<[^>]*>", "", html)).strip()


PART: Final = """
const { createElement } = await import("react");
const { prerender } = await import("react-dom/static");
const { TooltipProvider } = await load("ui/tooltip.tsx");
const { Part } = await load("messages/Part.tsx");
const drawn = async (message) => {
  const part = createElement(Part, { part: message.parts[0], message, live: false });
  const { prelude } = await prerender(createElement(TooltipProvider, null, part));
  return (await new Response(prelude).text()).replace(/<!--.*?-->/g, "");
};
return Promise.all(given.map(drawn));
"""

ANSWER: Final = "<think>Hm.</think>\n\nIt is 42."
SOURCE: Final = {"id": "s", "sourceType": "url", "url": "https://x.example/", "title": "X"}


def message(text: str, *citations: dict[str, int]) -> dict[str, Any]:
    """Return a message with a text and its citations."""
    cited = [{"source": SOURCE, **each} for each in citations]
    data = [{"type": "data-adk-citations", "data": {"textIndex": 0, "citations": cited}}] if cited else []
    source = {"type": "source-url", "sourceId": "s", "url": SOURCE["url"]}
    return {"id": "m", "role": "assistant", "parts": [{"type": "text", "text": text, "state": "done"}, *data, source]}


def seen(html: str) -> str:
    """Return the words of a paragraph, with each mark of a citation as `[1]`."""
    [paragraph] = re.findall(r"<p>(.*?)</p>", html)
    return re.sub(r"<[^>]*>", "", re.sub(r"<a [^>]*>(.*?)</a>", r"[\1]", paragraph))


CITED: Final = {
    "the last words": ({"startIndex": ANSWER.index("It"), "endIndex": len(ANSWER)}, "It is 42.[1]"),
    "the first word": ({"startIndex": ANSWER.index("It"), "endIndex": ANSWER.index(" is")}, "It[1] is 42."),
    "the whole text": ({}, "It is 42.[1]"),
    "the thought and a word": ({"startIndex": 0, "endIndex": ANSWER.index(" 42")}, "It is[1] 42."),
    "the thought": ({"startIndex": 0, "endIndex": ANSWER.index("<", 1)}, "It is 42."),
}
"""A citation, and the answer with its mark."""


def test_a_thought_in_tags_stays_folded_when_citations_arrive() -> None:
    pages = in_node(PART, [message(ANSWER, citation) for citation, _ in CITED.values()])
    assert dict(zip(CITED, map(seen, pages), strict=True)) == {name: answer for name, (_, answer) in CITED.items()}
    assert all("Thought<" in page and "think&gt;" not in page for page in pages)


def test_an_empty_thought_in_tags_leaves_no_box() -> None:
    empty, whole = in_node(PART, [message("<think>\n\n</think>\n"), message("<think></think>\n\nIt is 42.")])
    assert empty == ""
    assert (seen(whole), "mb-3" in whole) == ("It is 42.", False)
