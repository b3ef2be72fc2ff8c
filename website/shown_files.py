"""Hook of mkdocs that shows a file of an example in a page: ``<!-- file: ../examples/… -->`` becomes a code block.

A reader of the Markdown follows the link beside the comment instead.
"""

from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

from website.paths import SHOWN_FILE


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Return the page with its files."""
    return with_files(markdown, Path(page.file.abs_src_path or config.docs_dir).parent)


def with_files(markdown: str, folder: Path) -> str:
    """Return the Markdown with a code block for each file. Paths begin at ``folder``, which has the page."""
    return SHOWN_FILE.sub(lambda comment: _block(folder / comment[1]), markdown)


def _block(file: Path) -> str:
    code = file.read_text(encoding="utf-8").strip()
    return f'```{file.suffix.removeprefix(".")} title="{file.name}"\n{code}\n```'
