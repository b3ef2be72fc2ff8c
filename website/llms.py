"""Hook of mkdocs that writes llms.txt, a list of the pages for language models, and llms-full.txt with their texts."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from mkdocs.config.defaults import MkDocsConfig

from website.descriptions import first_sentence
from website.paths import DOCS, ROOT
from website.shown_files import with_files

GENERATED: Final = "reference/"
"""Folder of the pages that are generated from docstrings. Their Markdown has only names."""

Section = tuple[str, list[tuple[str, str]]]
"""Heading, and the titles and paths of its pages."""


def on_post_build(config: MkDocsConfig) -> None:
    """Write both files into the site."""
    sections = list(sections_of(config["nav"]))
    folder = Path(config["site_dir"])
    (folder / "llms.txt").write_text(index(config["site_name"], config["site_description"], sections), encoding="utf-8")
    (folder / "llms-full.txt").write_text(full_text(sections), encoding="utf-8")


def sections_of(nav: list[dict[str, Any]]) -> Iterator[Section]:
    """Yield the top level of the navigation, each entry with its pages in order."""
    for entry in nav:
        for heading, pages in entry.items():
            yield heading, list(_pages(pages))


def index(name: str, description: str, sections: list[Section]) -> str:
    """Return llms.txt: a link to each page, with the first sentence of its text."""
    lines = [f"# {name}", "", f"> {description}", "", "The texts of all pages: [llms-full.txt](llms-full.txt)", ""]
    for heading, pages in sections:
        lines += [f"## {heading}", ""]
        lines += [f"- [{title}]({_address(page)}): {first_sentence(_text(page))}" for title, page in pages]
        lines.append("")
    return "\n".join(lines)


def full_text(sections: list[Section]) -> str:
    """Return llms-full.txt: the Markdown of each page that is not generated from docstrings."""
    pages = [page for _, entries in sections for _, page in entries if not page.startswith(GENERATED)]
    return "\n\n".join(f"<!-- {page} -->\n\n{_text(page).strip()}" for page in pages) + "\n"


def _pages(entries: Any) -> Iterator[tuple[str, str]]:
    match entries:
        case str(page):
            yield _title(page), page
        case list():
            for entry in entries:
                yield from _pages(entry)
        case dict():
            for entry in entries.values():
                yield from _pages(entry)


def _text(page: str) -> str:
    file = ROOT / DOCS / page
    return with_files(file.read_text(encoding="utf-8"), file.parent)


def _title(page: str) -> str:
    title: str = re.findall(r"^# (.*)$", _text(page), re.MULTILINE)[0]
    return title


def _address(page: str) -> str:
    return "./" if page == "index.md" else page.removesuffix("index.md").removesuffix(".md").rstrip("/") + "/"
