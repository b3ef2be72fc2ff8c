"""Finds links between Markdown files, and the site's page for each file of the repository."""

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
DOCS: Final = "docs/"
FIXTURES: Final = "frontend-fixtures/fixtures/"
SHOWN_FILE: Final = re.compile(r"^<!-- file: (\S+) -->$", re.MULTILINE)
"""Comment in whose place the site shows a file. The path is relative to the page."""

_CODE: Final = re.compile(r"^( *)```.*?^\1```$|`[^`\n]+`", re.DOTALL | re.MULTILINE)
_LINK: Final = re.compile(r"(?<=\]\()(?![\w+]+:|#|/)(?P<path>[^)\s#]+)(?P<anchor>#[^)\s]*)?(?=\))")


def links(page: str) -> list[str]:
    """Return the relative links of a Markdown file, without their anchors, as names in the repository."""
    text = _CODE.sub("", (ROOT / page).read_text(encoding="utf-8"))
    return [found["path"] for found in _LINK.finditer(text)]


def linked_files(pages: Iterable[str]) -> Iterator[str]:
    """Yield the files outside of docs/ that these pages of the site link to, directly or through other such files."""
    waiting, seen = [repository_name(page) for page in pages], set[str]()
    while waiting:
        page = waiting.pop()
        for link in links(page):
            target = _target(page, link)
            if not target.startswith(DOCS) and target not in seen and _is_shown(target):
                seen.add(target)
                yield target
                if target.endswith(".md"):
                    waiting.append(target)


def with_links_of_the_site(markdown: str, page: str) -> str:
    """Return the text of a page with links to pages of the site."""
    here = repository_name(page)

    def rewritten(link: re.Match[str]) -> str:
        there = site_name(_target(here, link["path"]))
        return posixpath.relpath(there, posixpath.dirname(page)) + (link["anchor"] or "")

    return _outside_of_code(markdown, rewritten)


def site_name(name: str) -> str:
    """Return the name in the site for a file of the repository."""
    if name.startswith(DOCS):
        return name.removeprefix(DOCS)
    if name.startswith(FIXTURES):
        return f"recordings/{name.removeprefix(FIXTURES)}.jsonl"
    return name if name.endswith(".md") else f"{name}.md"


def repository_name(name: str) -> str:
    """Return the name in the repository for a page of the site."""
    if (ROOT / DOCS / name).is_file():
        return DOCS + name
    return name if (ROOT / name).is_file() else name.removesuffix(".md")


def recording(fixture: str) -> str:
    """Return the events of all turns of a fixture as JSONL."""
    return "".join(turn.read_text(encoding="utf-8") for turn in sorted((ROOT / FIXTURES / fixture).glob("turn*.jsonl")))


def _is_shown(target: str) -> bool:
    return (ROOT / target).is_file() or target.startswith(FIXTURES)


def _target(page: str, link: str) -> str:
    target = posixpath.normpath(posixpath.join(posixpath.dirname(page), link))
    fronts = (f"{target}/{front}" for front in ("README.md", "index.md"))
    return next((front for front in fronts if (ROOT / front).is_file()), target)


def _outside_of_code(markdown: str, rewritten: Callable[[re.Match[str]], str]) -> str:
    pieces: list[str] = []
    end = 0
    for code in _CODE.finditer(markdown):
        pieces += [_LINK.sub(rewritten, markdown[end : code.start()]), code[0]]
        end = code.end()
    return "".join([*pieces, _LINK.sub(rewritten, markdown[end:])])
