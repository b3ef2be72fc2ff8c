"""The committed page is what its source builds."""

import filecmp
import os
import shutil
import subprocess
from pathlib import Path
from typing import Final, NoReturn

import pytest

ROOT: Final = Path(__file__).resolve().parents[2]
SOURCE: Final = ROOT / "server/page"
BUILT: Final = ROOT / "stream_protocol/page"
MAX_BYTES: Final = 2 * 2**20


def missing(reason: str) -> NoReturn:
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_the_page_is_small() -> None:
    assert 0 < sum((BUILT / name).stat().st_size for name in files(BUILT)) <= MAX_BYTES


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
    _, different, unread = filecmp.cmpfiles(built, BUILT, files(BUILT), shallow=False)
    assert (different, unread) == ([], [])
