"""Hook of mkdocs that adjusts the search, and shows the version.

Guides come before decisions. Decisions and the source of examples stay in the site, but the search leaves them out.
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
"""Prefixes of page names that are not searched."""

BOOSTS: Final = {
    "authentication.md": 4,
    "production.md": 4,
    "monitoring.md": 4,
    "errors.md": 4,
    "deploy/index.md": 3,
    "approvals.md": 3,
    "install.md": 2,
}
"""Page -> factor of its score."""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the version at the foot of each page."""
    config.copyright = f"adk-ui-stream {version('adk-ui-stream')} · {config.copyright}"
    return config


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> None:
    """Set the search options of a page."""
    name = page.file.src_uri
    if name.startswith(NOT_SEARCHED):
        page.meta["search"] = {"exclude": True}
    elif name in BOOSTS:
        page.meta["search"] = {"boost": BOOSTS[name]}
