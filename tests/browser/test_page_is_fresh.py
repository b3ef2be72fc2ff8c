"""The committed page is the build of its source."""

import filecmp
import gzip
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Final, NoReturn

import pytest

ROOT: Final = Path(__file__).resolve().parents[2]
SOURCE: Final = ROOT / "server/page"
BUILT: Final = ROOT / "stream_protocol/page"
MAX_BYTES: Final = 3_000_000
"""Bytes of all files of the page and their compressed forms, without the licenses, which no page loads."""

MAX_FIRST_LOAD: Final = 220_000
"""Bytes of the scripts and style sheets that a new chat needs, compressed with gzip."""

SMALLEST: Final = 1000
"""Bytes below which nothing is compressed."""

COMPRESSED: Final = (".br", ".gz")
"""Another version of Node may write other bytes here: their names have the hash of their content."""


def missing(reason: str) -> NoReturn:
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_the_page_is_small() -> None:
    sizes = {name: (BUILT / name).stat().st_size for name in files(BUILT)}
    assert sizes.pop("licenses.md")
    assert 0 < sum(sizes.values()) <= MAX_BYTES


def test_a_new_chat_needs_few_bytes() -> None:
    page = (BUILT / "index.html").read_text()
    needed = [BUILT / name for name in re.findall(r'(?:src|href)="./(assets/[^"]+)"', page)]
    assert {path.suffix for path in needed} == {".css", ".js"}
    assert sum(sent_bytes(path) for path in needed) <= MAX_FIRST_LOAD


def sent_bytes(path: Path) -> int:
    compressed = path.with_name(f"{path.name}.gz")
    return (compressed if compressed.is_file() else path).stat().st_size


def test_each_large_script_and_style_sheet_has_its_compressed_forms() -> None:
    sources = [path for path in (BUILT / "assets").iterdir() if path.suffix in (".css", ".js")]
    large = [path for path in sources if path.stat().st_size >= SMALLEST]
    assert large
    for path in large:
        assert gzip.decompress(path.with_name(f"{path.name}.gz").read_bytes()) == path.read_bytes()
        assert path.with_name(f"{path.name}.br").is_file()


def test_the_components_are_those_of_the_next_example() -> None:
    components, example = SOURCE / "src/components", ROOT / "examples/nextjs/components"
    assert len(files(components)) > 50
    assert files(components) == files(example)
    assert filecmp.cmpfiles(components, example, files(example), shallow=False)[0] == files(example)


def test_the_lockfile_names_no_registry() -> None:
    assert '"resolved"' not in (SOURCE / "package-lock.json").read_text()


@pytest.mark.pages
@pytest.mark.node
def test_a_build_from_the_source_gives_the_committed_bytes(tmp_path: Path) -> None:
    npm = shutil.which("npm")
    if npm is None or not (SOURCE / "node_modules").is_dir():
        missing("Node or the page's packages are not installed (npm ci in server/page).")
    built = tmp_path / "page"
    command = [npm, "run", "build", "--", "--outDir", str(built)]
    done = subprocess.run(command, cwd=SOURCE, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert files(built) == files(BUILT), "Run `npm run build` in server/page and commit stream_protocol/page."
    exact = [name for name in files(BUILT) if not name.endswith(COMPRESSED)]
    _, different, unread = filecmp.cmpfiles(built, BUILT, exact, shallow=False)
    assert (different, unread) == ([], [])
