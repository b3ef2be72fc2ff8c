"""llms.txt and llms-full.txt have every page of the navigation."""

from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from mkdocs.config.defaults import MkDocsConfig

from tests.documents import block
from tests.processes import ROOT
from tests.website.test_pages import navigation
from website import llms
from website.descriptions import first_sentence

SITE: Final[dict[str, Any]] = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    config = MkDocsConfig()
    config.load_dict({key: SITE[key] for key in ("site_name", "site_description", "nav")} | {"site_dir": str(tmp_path)})
    llms.on_post_build(config)
    return tmp_path


def test_the_index_links_each_page_with_a_sentence(folder: Path) -> None:
    index = (folder / "llms.txt").read_text(encoding="utf-8")
    assert index.startswith("# adk-ui-stream\n\n> ")
    pages = [page for _, entries in llms.sections_of(SITE["nav"]) for _, page in entries]
    links = [line for line in index.splitlines() if line.startswith("- [")]
    assert len(links) == len(pages) > 50
    assert "- [Security for developers](trust/developers/): The server checks requests, users" in index
    assert "- [Approvals](approvals/): ADK's `require_confirmation` becomes an approval request of the AI SDK." in links


def test_the_description_of_each_page_is_a_sentence_of_its_own() -> None:
    pages = [*navigation(SITE["nav"])]
    descriptions = {page: first_sentence((ROOT / "docs" / page).read_text(encoding="utf-8")) for page in pages}
    assert [text for text in descriptions.values() if not text.endswith(".") or text.startswith("This page")] == []
    guides = [text for page, text in descriptions.items() if not page.startswith(("reference/", "decisions/"))]
    assert [text for text in guides if len(text) < 35] == []
    assert len({*guides}) == len(guides)


def test_the_full_text_has_the_code_of_the_pages(folder: Path) -> None:
    full = (folder / "llms-full.txt").read_text(encoding="utf-8")
    assert block("docs/quick-start.md", "export default function Page()") in full
    assert (ROOT / "examples/chat-page/chat-page.tsx").read_text(encoding="utf-8").strip() in full
    assert "<!-- decisions/loops.md -->" in full
    assert ":::" not in full
