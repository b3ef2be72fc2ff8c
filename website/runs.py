"""Hook of mkdocs that adds the Inspector with recorded runs, and an anchor for each rule of ``check``.

The site has the built page in ``runs/``. Beside it are recordings of some fixtures, converted as by the Inspector's
routes. So a reader sees events, chunks and the page without a server.
"""

import html
import json
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from stream_protocol.check import Rule
from stream_protocol.inspector._dropped_file import shown_file
from website.paths import ROOT, recording

BUILT: Final = ROOT / "stream_protocol" / "page"
FOLDER: Final = "runs"
COMPRESSED: Final = (".br", ".gz")

RUNS: Final = {
    "approval_approved": "An approval",
    "text_tool_text": "Text, a tool, and text",
    "thoughts": "Thoughts",
    "adk_2_9_parallel_calls": "Two tools at once",
    "streamed_arguments": "Arguments while the model writes them",
    "approval_denied": "A denial",
    "client_tool": "A tool of the page",
    "citations": "Citations",
    "parallel_agents": "Two agents at once",
    "transfer": "A transfer to another agent",
    "artifact_and_widget": "An artifact",
    "error_in_text": "An error in the middle of a text",
}
"""Fixture -> description of the run."""

_RULE: Final = re.compile(rf"<code>({'|'.join(Rule)})</code>")
_HEAD: Final = "<head>"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the built page and the runs."""
    for name, content in _files():
        files.append(File.generated(config, f"{FOLDER}/{name}", content=content))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> None:
    """Give the page of the runs the whole width of the window."""
    if page.file.src_uri == "recorded-runs.md":
        page.meta["hide"] = ["navigation", "toc"]


def on_page_content(content: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Give each rule an id."""
    return _RULE.sub(r'<code id="\1">\1</code>', content) if page.file.src_uri == "check.md" else content


def _files() -> Iterator[tuple[str, str | bytes]]:
    for path in sorted(BUILT.rglob("*")):
        if path.is_file() and path.suffix not in COMPRESSED and path.name not in ("index.html", "licenses.md"):
            yield path.relative_to(BUILT).as_posix(), path.read_bytes()
    yield "index.html", index(BUILT / "index.html")
    for name in RUNS:
        yield f"{name}.json", shown_run(name)


def index(page: Path) -> str:
    """Return the page with a list of the runs, and the address of the rules' descriptions."""
    runs = html.escape(json.dumps([{"name": name, "title": title} for name, title in RUNS.items()]))
    told = f'<meta name="recorded-runs" content="{runs}" /><meta name="rules" content="../check/" />'
    return page.read_text(encoding="utf-8").replace(_HEAD, _HEAD + told, 1)


def shown_run(fixture: str) -> bytes:
    """Return the events and chunks of a fixture, its messages, and the findings of ``check``."""
    with tempfile.TemporaryDirectory() as folder:
        (path := Path(folder) / f"{fixture}.jsonl").write_text(recording(fixture), encoding="utf-8")
        return shown_file(path, None)
