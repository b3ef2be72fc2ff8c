"""A hook of mkdocs: the search finds guides before the reference, and leaves out decisions and the source of examples.
It ignores common words. The foot of each page has the version.
"""

from importlib.metadata import version
from pathlib import Path
from typing import Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

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
"""The beginnings of the names of pages that are not searched."""

WEIGHTS: Final = {"reference/": 0.3, "coming-from/": 0.5, "events.md": 0.5}
"""Beginning of the names of pages -> factor of their scores. Without it, many short entries come before the guide."""

WORKER: Final = "assets/javascripts/workers/search.*.min.js"
"""The theme's script that searches in the browser."""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Puts the version at the foot of each page."""
    config.copyright = f"adk-ui-stream {version('adk-ui-stream')} · {config.copyright}"
    return config


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> None:
    """Sets how the search treats a page."""
    name = page.file.src_uri
    if name.startswith(NOT_SEARCHED):
        page.meta["search"] = {"exclude": True}
    for beginning, weight in WEIGHTS.items():
        if name.startswith(beginning):
            page.meta["search"] = {"boost": weight}


def on_post_build(config: MkDocsConfig) -> None:
    """Adds search.js to the search of the site."""
    (worker,) = Path(config.site_dir).glob(WORKER)
    ours = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
    worker.write_text(ours + worker.read_text(encoding="utf-8"), encoding="utf-8")
