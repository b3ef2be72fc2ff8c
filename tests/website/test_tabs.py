"""Sections between two marks become tabs, with their Markdown unchanged."""

from textwrap import dedent

import pytest
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from tests.documents import our_files
from tests.processes import ROOT
from website import tabs


@pytest.fixture
def page() -> Page:
    return Page(None, File("page.md", "docs", "site", use_directory_urls=True), MkDocsConfig())


def test_a_section_becomes_a_tab_but_a_heading_in_code_does_not(page: Page) -> None:
    markdown = """\
        ## Your framework

        <!-- tabs -->

        ### Vue

        ```sh
        ### no tab
        ```

        ### Svelte

        - one
          - two

        <!-- /tabs -->

        ### No tab
        """
    expected = """\
        ## Your framework


        === "Vue"

            ```sh
            ### no tab
            ```

        === "Svelte"

            - one
              - two


        ### No tab
        """
    assert tabs.on_page_markdown(dedent(markdown), page, MkDocsConfig(), Files([])) == dedent(expected)


def test_the_search_reads_a_heading_in_each_tab_that_the_page_does_not_have(page: Page) -> None:
    content = (
        '<div class="tabbed-labels"><label for="vue">Vue</label><label for="svelte">Svelte</label></div>'
        '<div class="tabbed-block">one</div><div class="tabbed-block">two</div>'
    )
    searched = tabs.on_page_content(content, page, MkDocsConfig(), Files([]))
    assert '<div class="tabbed-block"><h3 class="tab-title" id="svelte">Svelte</h3>two' in searched
    assert page.present_anchor_ids == {"vue", "svelte"}
    assert tabs.on_post_page(searched, page, MkDocsConfig()) == content


def test_each_group_of_tabs_has_an_end() -> None:
    texts = [file.read_text(encoding="utf-8") for file in our_files(".md", folder=ROOT / "docs")]
    assert [text for text in texts if text.count("<!-- tabs -->") != text.count("<!-- /tabs -->")] == []
