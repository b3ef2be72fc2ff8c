"""Hook of mkdocs that adjusts the layout of pages, and writes the version into their header and footer.

The front page and the pages of source files have no columns beside them. A picture has others for the dark theme
and for phones, if their files exist: ``page-dark.png`` and ``page-phone.png`` beside ``page.png``. Long names in
headings and tables get places where a line may break.
"""

import re
import tomllib
from typing import Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page
from mkdocs.utils import get_relative_url

from website.paths import DOCS, ROOT

FRONT: Final = "index.md"
CHANGELOG: Final = "CHANGELOG/"
_PALETTE: Final = '<form class="md-header__option" data-md-component="palette">'
"""The switch between the themes, which is in the header."""
_PICTURE: Final = re.compile(r"!\[([^\]]*)\]\(((?:\.\./)*(images/[\w-]+))\.png\)")
_TITLE: Final = re.compile(r"(<h1[^>]*>)([^<]*)")
_CELL: Final = re.compile(r"(<tr>\s*)?<td.*?</td>", re.DOTALL)
_NAME: Final = re.compile(r"(?<=<code>)[^<]{16,}(?=</code>)")
_LONG_NAME: Final = re.compile(r"(?<=<code>)[^<]{48,}(?=</code>)")
"""Name that breaks even in the first column, which other cells are about."""
_BREAK: Final = re.compile(r"(?<=[\w}\]])(?:&amp;|[./_:,=?-])(?=[\w{\[])")
"""Punctuation inside a name."""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Return the settings with the version in the footer."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    config.copyright = f"{project['name']} {project['version']} · {config.copyright}"
    config.extra["version_text"] = project["version"]
    return config


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Return the page with all forms of its pictures, and hide the columns that it does not need."""
    name = page.file.src_uri
    if name == FRONT:
        page.meta["hide"] = ["navigation", "toc"]
    elif not (ROOT / DOCS / name).is_file():
        page.meta["hide"] = ["toc"]
    return _PICTURE.sub(_all_forms, markdown)


def on_page_content(content: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Return the page with possible line breaks in its title and in the names of its tables."""
    with_title = _TITLE.sub(
        lambda title: title[1] + title[2].replace(".", ".<wbr>").replace("_", "_<wbr>"), content, count=1
    )
    return _CELL.sub(
        lambda cell: (_LONG_NAME if cell[1] else _NAME).sub(lambda name: breakable(name[0]), _without_escapes(cell[0])),
        with_title,
    )


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Return the page with the version in its header, as a link to the changelog."""
    address = get_relative_url(CHANGELOG, page.url)
    version = config.extra["version_text"]
    link = f'<a class="version" href="{address}" title="Version {version}: changelog">{version}</a>'
    return output.replace(_PALETTE, f"{link}\n{_PALETTE}", 1)


def _all_forms(picture: re.Match[str]) -> str:
    """Return the picture for each theme, on desktops and on phones."""
    text, path, name = picture.groups()
    if not _is_there(name, "-dark"):
        return picture[0]
    if not _is_there(name, "-phone"):
        return _for_both_themes(text, path)
    return "\n".join(
        [_for_both_themes(text, path, "{ .on-desktop }"), _for_both_themes(text, f"{path}-phone", "{ .on-phone }")]
    )


def _for_both_themes(text: str, path: str, attributes: str = "") -> str:
    return f"![{text}]({path}.png#only-light){attributes}\n![{text}]({path}-dark.png#only-dark){attributes}"


def _is_there(name: str, form: str) -> bool:
    return (ROOT / DOCS / f"{name}{form}.png").is_file()


def _without_escapes(cell: str) -> str:
    """Return a cell without the backslash that a ``|`` in code needs in a Markdown table."""
    return cell.replace(r"\|", "|")


def breakable(name: str) -> str:
    """Return the HTML of a name with a possible line break after each punctuation mark in it."""
    return _BREAK.sub(lambda mark: f"{mark[0]}<wbr>", name)
