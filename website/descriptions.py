"""Hook of mkdocs that gives each page its description: the first sentence of its text.

Search engines and links show the description.
"""

import re
from html import escape
from typing import Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

_NO_TEXT: Final = ("#", "!", "|", "```", "<", "::", "- ", "1.")
"""Beginnings of paragraphs that are not text."""

_LINK: Final = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_LABEL: Final = re.compile(r"^\*\*\w+\.\*\* ")
_END: Final = re.compile(r"(?<=[.:]) (?=[A-Z`])")


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> None:
    """Set the description of a page that has text."""
    if sentence := first_sentence(markdown):
        page.meta.setdefault("description", escape(sentence.replace("`", "").replace("*", "")))


def first_sentence(markdown: str) -> str:
    """Return the first sentence of the text, without links and with a full stop. Empty if the page has no text."""
    paragraphs = (" ".join(paragraph.split()) for paragraph in markdown.split("\n\n"))
    text = next((each for each in paragraphs if each and not each.startswith(_NO_TEXT)), "")
    sentence = _END.split(_LINK.sub(r"\1", _LABEL.sub("", text)))[0]
    return re.sub(":$", ".", sentence)
