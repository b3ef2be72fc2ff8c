"""Hook of mkdocs that adjusts the search, and shows the version at the foot of each page.

The search finds guides before the reference, leaves out decisions and the source of examples, and ignores common words.
"""

from pathlib import Path
from typing import Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

from website.keywords import KEYWORDS

NOT_SEARCHED: Final = (
    "bench/",
    "decisions/",
    "examples/",
    "frontend-fixtures/",
    "skills/",
    "stream_protocol/",
    "tests/",
    "CHANGELOG",
)
"""Prefixes of page names that are not searched."""

EXAMPLES: Final = tuple(
    f"examples/{name}/README.md"
    for name in ("assistant-ui", "frontend-tests", "nextjs", "plain", "react", "svelte", "vue")
)
"""Guides below ``NOT_SEARCHED`` that are searched."""

WEIGHTS: Final = {
    "reference/": 0.3,
    "coming-from/": 0.5,
    "events.md": 0.5,
    "errors.md": 2,
    "frontends.md": 2,
    "examples/nextjs/": 1.3,
}
"""Prefix of page names -> factor of their scores. Without the factors, short entries would come before the guides.
"""

WORKER: Final = "assets/javascripts/workers/search.*.min.js"
"""Script of the theme that searches in the browser."""


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> None:
    """Set the search options of a page."""
    name = page.file.src_uri
    if name.startswith(NOT_SEARCHED) and not name.startswith(EXAMPLES):
        page.meta["search"] = {"exclude": True}
        return
    page.meta["tags"] = KEYWORDS.get(name, "").split()
    for beginning, weight in WEIGHTS.items():
        if name.startswith(beginning):
            page.meta["search"] = {"boost": weight}


def on_post_build(config: MkDocsConfig) -> None:
    """Add search.js to the script of the search."""
    (worker,) = Path(config.site_dir).glob(WORKER)
    ours = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
    worker.write_text(ours + worker.read_text(encoding="utf-8"), encoding="utf-8")
