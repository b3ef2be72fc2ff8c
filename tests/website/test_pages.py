"""The pages of docs/: each is in the navigation, each link leads somewhere, each public name is in the reference."""

import posixpath
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import pytest
import yaml

from stream_protocol.cli import main
from tests.documents import all_blocks, our_files
from tests.processes import ROOT
from website.paths import links

DOCS: Final = ROOT / "docs"
SITE: Final[dict[str, Any]] = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
PAGES: Final = sorted(file.relative_to(ROOT).as_posix() for file in our_files(".md"))
CODE_COLUMNS: Final = 98
"""Characters of a line of code that a page shows on a desktop without a scroll bar. Text blocks are wrapped."""

WHOLE_FRONTS: Final = (
    *(
        "",
        ".check",
        ".inspector",
        ".recording",
        ".replay_server",
        ".agents",
        ".server",
        ".serving",
        ".serving.run_logs",
        ".testing",
    ),
)
"""The packages all of whose names are in the reference. Most of what ``session`` exports is for our own rooms."""


def navigation(entries: Any) -> Iterator[str]:
    match entries:
        case str(page):
            yield page
        case list():
            for entry in entries:
                yield from navigation(entry)
        case dict():
            for entry in entries.values():
                yield from navigation(entry)


def test_every_page_is_in_the_navigation_once_and_every_entry_is_a_page() -> None:
    pages = sorted(file.relative_to(DOCS).as_posix() for file in DOCS.rglob("*.md"))
    assert sorted([*navigation(SITE["nav"]), *SITE["exclude_docs"].split()]) == pages


def test_a_line_of_code_fits_the_column_of_a_page() -> None:
    blocks = [each for each in all_blocks() if each.file.startswith("docs/") and each.language != "text"]
    long = [f"{each}: {line}" for each in blocks for line in each.code.splitlines() if len(line) > CODE_COLUMNS]
    assert long == []


@pytest.mark.parametrize("page", PAGES)
def test_a_relative_link_leads_to_a_file(page: str) -> None:
    missing = [link for link in links(page) if not (ROOT / posixpath.dirname(page) / link).exists()]
    assert missing == []


@pytest.mark.parametrize("page", PAGES)
def test_an_external_link_is_a_whole_address(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    for address in re.findall(r"\]\((\w+:[^)]*)\)", text):
        parts = urlsplit(address)
        assert parts.scheme == "mailto" or (parts.scheme == "https" and "." in parts.netloc), address


def test_every_public_name_is_in_the_reference() -> None:
    pages = " ".join(file.read_text(encoding="utf-8") for file in (DOCS / "reference").glob("*.md"))
    shown = re.findall(r"^::: (stream_protocol\S*)\.(\w+)$", pages, re.MULTILINE)
    fronts = {f"stream_protocol{front}": import_module(f"stream_protocol{front}") for front in WHOLE_FRONTS}
    public = {(name, each) for name, front in fronts.items() for each in front.__all__}
    assert public - {*shown} == set()
    assert len(shown) == len({*shown})
    assert all(hasattr(import_module(package), name) for package, name in shown)


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 185


def test_the_readme_explains_the_name_to_import_before_it_uses_it() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    before, _, _ = text.partition("from stream_protocol")
    (sentence,) = re.findall(r"^.*stream_protocol.*$", before, re.MULTILINE)
    assert "adk-ui-stream" in sentence


def test_code_of_the_readme_does_not_scroll_sideways_on_github() -> None:
    """A block has 734 pixels there, and a character is 8.3 wide."""
    blocks = [each for each in all_blocks() if each.file == "README.md"]
    assert [line for each in blocks for line in each.code.splitlines() if len(line) > 87] == []


def test_one_page_leads_to_each_page_that_is_not_the_reference_or_a_decision() -> None:
    pages = {page for page in navigation(SITE["nav"]) if not page.startswith(("decisions/", "reference/"))}
    assert pages - {"all-pages.md", "index.md", "trust.md", *links("docs/all-pages.md")} == set()


def test_only_two_pages_say_how_to_install() -> None:
    """So a release changes two pages. The page for ADK's catalog is published after the release."""
    pages = {file.relative_to(DOCS).as_posix() for file in DOCS.rglob("*.md") if "pip install" in file.read_text()}
    assert {page for page in pages if not page.startswith("decisions/")} == {
        *("index.md", "install.md"),
        SITE["exclude_docs"].strip(),
    }


MODEL: Final = re.compile(r"gemini-(?!scripted|api/)[0-9a-z.-]+")
"""The name of a Gemini model."""


@pytest.mark.parametrize("folder", ["docs", "examples", "skills", "stream_protocol/cli/project"])
def test_pages_and_examples_name_a_model_that_does_not_expire(folder: str) -> None:
    files = our_files(".md", ".py", ".ts", ".tsx", ".js", ".jsx", ".mjs", ".yaml", ".toml", folder=ROOT / folder)
    named = {(file.name, name) for file in files for name in MODEL.findall(file.read_text(encoding="utf-8"))}
    assert {(file, name) for file, name in named if name != "gemini-flash-latest"} == set()


def test_the_readme_names_a_model_that_does_not_expire() -> None:
    assert {*MODEL.findall((ROOT / "README.md").read_text(encoding="utf-8"))} == {"gemini-flash-latest"}


def test_each_command_is_named_on_a_page() -> None:
    """Nobody finds a command that is only in the reference."""
    told = " ".join((DOCS / page).read_text(encoding="utf-8") for page in navigation(SITE["nav"]) if page != "cli.md")
    assert [name for name in main.commands if f"adk-ui-stream {name}" not in told] == []


def test_a_picture_is_small() -> None:
    assert {file.name: file.stat().st_size for file in pictures() if file.stat().st_size > 300_000} == {}


def pictures() -> list[Path]:
    return [*(DOCS / "images").iterdir()]
