"""Hook of mkdocs that turns the sections between ``<!-- tabs -->`` and ``<!-- /tabs -->`` into tabs.

The pages are also read as Markdown, where each tab is a section. A link to such a section (``#vue``) opens its tab.
"""

import re
from collections.abc import Iterator
from typing import Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page
from pymdownx.slugs import slugify

_GROUP: Final = re.compile(r"^<!-- tabs -->\n(.*?)^<!-- /tabs -->$", re.DOTALL | re.MULTILINE)
_HEADING: Final = re.compile(r"### (.*)")
_LABEL: Final = re.compile(r'<label for="([^"]*)">(.*?)</label>')
_TAB: Final = '<div class="tabbed-block">'
_TITLE: Final = re.compile(r'<h3 class="tab-title".*?</h3>')


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Give each tab the id that its section has."""
    config.mdx_configs["pymdownx.tabbed"]["slugify"] = slugify(case="lower")
    return config


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Return the page with tabs."""
    return _GROUP.sub(lambda group: "\n".join(_tabs(group[1])), markdown)


def on_page_content(content: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Return the page with a heading in each tab, so that the search finds the tab by its title."""
    labels = _LABEL.findall(content)
    page.present_anchor_ids = {*(page.present_anchor_ids or ()), *(name for name, _ in labels)}
    pieces = content.split(_TAB)
    headings = (f'{_TAB}<h3 class="tab-title" id="{name}">{title}</h3>' for name, title in labels)
    return pieces[0] + "".join(map(str.__add__, headings, pieces[1:]))


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Return the page without the headings for the search."""
    return _TITLE.sub("", output)


def _tabs(sections: str) -> Iterator[str]:
    """Yield the lines of the tabs in the syntax of ``pymdownx.tabbed``."""
    in_code = False
    for line in sections.splitlines():
        in_code ^= line.lstrip().startswith("```")
        if not in_code and (heading := _HEADING.fullmatch(line)):
            yield f'=== "{heading[1]}"'
        else:
            yield f"    {line}" if line else ""
