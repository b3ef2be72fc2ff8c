"""llms.txt and llms-full.txt have every page of the navigation."""

from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from mkdocs.config.defaults import MkDocsConfig

from tests.documents import block
from tests.processes import ROOT
from website import llms

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
    assert "- [Approvals](approvals/): ADK's `require_confirmation` becomes an approval request of the AI SDK." in links


def test_the_full_text_has_the_code_of_the_pages(folder: Path) -> None:
    full = (folder / "llms-full.txt").read_text(encoding="utf-8")
    assert block("docs/quick-start.md", "export default function Page()") in full
    assert "<!-- decisions/loops.md -->" in full
    assert ":::" not in full
