"""Hook of mkdocs that adds the Inspector with recorded runs, and an anchor for each rule of ``check``.

The site has the built page in ``runs/``, and beside it the runs that ``website.demo_runs`` has recorded. So a reader
sees events, chunks and the page without a server.
"""

import html
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from stream_protocol.check import Rule
from website.paths import ROOT

BUILT: Final = ROOT / "stream_protocol" / "page"
FOLDER: Final = "runs"
COMPRESSED: Final = (".br", ".gz")

RECORDED: Final = ROOT / "website" / "recorded"

RUNS: Final = {
    "weekend": "Plan a weekend: tools, a chart, an approval",
    "weather": "Compare the weather: two tools at once",
    "refusal": "Refuse a booking: a denied approval",
    "sights": "Ask for sights: an answer with citations",
    "question": "Choose a city: the agent asks the user",
    "time-zone": "Ask for the time zone: a tool of the page",
    "dinner": "Ask where to eat: another agent takes over",
    "day": "Plan a day: an agent calls another agent",
    "visa": "Ask for a visa: a tool fails",
    "failure": "The model hangs up: a run fails",
}
"""Name of a run -> its description, in the order of the list."""

_RULE: Final = re.compile(rf"<code>({'|'.join(Rule)})</code>")
_HEAD: Final = "<head>"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the built page and the runs."""
    for name, content in run_files():
        files.append(File.generated(config, f"{FOLDER}/{name}", content=content))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> None:
    """Give the page of the runs the whole width of the window."""
    if page.file.src_uri == "recorded-runs.md":
        page.meta["hide"] = ["navigation", "toc"]


def on_page_content(content: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Give each rule an id."""
    return _RULE.sub(r'<code id="\1">\1</code>', content) if page.file.src_uri == "check.md" else content


def run_files() -> Iterator[tuple[str, str | bytes]]:
    """Yield the name and the content of each file below ``runs/``."""
    for path in sorted(BUILT.rglob("*")):
        if path.is_file() and path.suffix not in COMPRESSED and path.name not in ("index.html", "licenses.md"):
            yield path.relative_to(BUILT).as_posix(), path.read_bytes()
    yield "index.html", index(BUILT / "index.html")
    for name in RUNS:
        yield f"{name}.json", path_of(name).read_bytes()


def path_of(name: str) -> Path:
    """Return the file of a run."""
    return RECORDED / f"{name}.json"


def index(page: Path) -> str:
    """Return the page with a list of the runs, and the address of the rules' descriptions."""
    runs = html.escape(json.dumps([{"name": name, "title": title} for name, title in RUNS.items()]))
    told = f'<meta name="recorded-runs" content="{runs}" /><meta name="rules" content="../check/" />'
    return page.read_text(encoding="utf-8").replace(_HEAD, _HEAD + told, 1)
