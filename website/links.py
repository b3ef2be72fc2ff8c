"""Hook of mkdocs that adds files outside of docs/ to the site if pages link to them.

So one link works in the repository, where it leads to a file, and in the site, where it leads to a page. A Markdown
file becomes a page. Code becomes a page with one block. A folder becomes its README. A fixture becomes one file with
its events, to replay.
"""

from pathlib import PurePath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from website.paths import FIXTURES, ROOT, linked_files, recording, site_name, with_links_of_the_site


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add each file that a page of docs/, or another added file, links to."""
    for name in sorted(linked_files(file.src_uri for file in files.documentation_pages())):
        files.append(File.generated(config, site_name(name), content=_content(name)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Return the page with links for the site."""
    return with_links_of_the_site(markdown, page.file.src_uri)


def _content(name: str) -> str:
    if name.startswith(FIXTURES):
        return recording(PurePath(name).name)
    text = (ROOT / name).read_text(encoding="utf-8")
    return (
        text
        if name.endswith(".md")
        else f"# {name}\n\n``` {{ .{PurePath(name).suffix[1:] or 'text'} .source }}\n{text}```\n"
    )
