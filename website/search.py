"""A hook of mkdocs: what readers look for is found before our reasons and our examples' source; and the version.

Decisions and the source of examples stay in the site. The search leaves them out.
"""

from importlib.metadata import version
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
    "CHANGELOG",
)
"""The beginnings of the names of pages that are not searched."""

BOOSTS: Final = {
    "authentication.md": 4,
    "production.md": 4,
    "monitoring.md": 4,
    "errors.md": 4,
    "deploy/index.md": 3,
    "approvals.md": 3,
    "install.md": 2,
}
"""Page -> how much more it counts."""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Puts the version at the foot of each page."""
    config.copyright = f"adk-ui-stream {version('adk-ui-stream')} · {config.copyright}"
    return config


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> None:
    """Says how the search treats a page."""
    name = page.file.src_uri
    if name.startswith(NOT_SEARCHED):
        page.meta["search"] = {"exclude": True}
    elif name in BOOSTS:
        page.meta["search"] = {"boost": BOOSTS[name]}
