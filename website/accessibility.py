"""Hook of mkdocs that names the landmarks of the theme, for users of screen readers."""

import re
from pathlib import Path
from typing import Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.pages import Page

BUNDLE: Final = "assets/javascripts/bundle.*.min.js"
"""Script of the theme that runs in each page."""

_DIALOG: Final = ' role="dialog"'
_LEVEL: Final = re.compile(
    r'aria-labelledby="(__nav_[\d_]+)_label"(?=[^>]*>\s*<label [^>]*for="\1">(.*?)</label>)', re.DOTALL
)
"""Name of a level of the navigation, which the theme hides, and the title of this level."""


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Return the page with names for the search, and for each level of the navigation."""
    return _LEVEL.sub(
        lambda level: f'aria-label="{" ".join(re.sub("<[^>]*>", "", level[2]).split())}"',
        output.replace(_DIALOG, f'{_DIALOG} aria-label="Search"', 1),
    )


def on_post_build(config: MkDocsConfig) -> None:
    """Make the buttons of a code block a part of the text, instead of a landmark for each block."""
    (bundle,) = Path(config.site_dir).glob(BUNDLE)
    script = bundle.read_text(encoding="utf-8")
    bundle.write_text(script.replace('"nav",{class:"md-code__nav"}', '"div",{class:"md-code__nav"}'), encoding="utf-8")
