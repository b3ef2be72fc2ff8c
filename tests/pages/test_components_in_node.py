"""Texts of models in the chat components, drawn by Node without a browser."""

from typing import Final

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


BLOCKS: Final = 'const blocks = await load("messages/blocks.ts"); return given.map((text) => blocks.%s(text).join(""));'

AS_WRITTEN: Final = ["$$a~b", "3~5 days", "    - > 25\n    - **a", "So:\n\n    - > 25\n    - [a](", "\t- > 25 `a"]


def test_a_growing_text_keeps_its_tildes_and_its_indented_code() -> None:
    growing = in_node(BLOCKS % "growingBlocks", AS_WRITTEN)
    assert growing == ["$$a~b$$", *AS_WRITTEN[1:]]


def test_a_finished_text_keeps_its_indented_code() -> None:
    texts = [*AS_WRITTEN, *(f"{text}\n\nEnd" for text in AS_WRITTEN)]
    assert in_node(BLOCKS % "wholeBlocks", texts) == texts
