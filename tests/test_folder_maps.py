"""The docstring of a folder lists modules: each of them exists."""

import ast
import re
from pathlib import Path

import pytest

from tests.processes import ROOT

HEADING = "Where to change what:"
FOLDERS = sorted(
    file.parent
    for file in (ROOT / "stream_protocol").rglob("__init__.py")
    if HEADING in file.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_folder_lists_modules_that_exist(folder: Path) -> None:
    text = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))) or ""
    names = re.findall(r"^- ``(\w+)``:", text.partition(HEADING)[2], re.MULTILINE)
    assert names
    assert [name for name in names if not (folder / f"{name}.py").exists() and not (folder / name).is_dir()] == []


def test_the_folders_are_listed() -> None:
    assert len(FOLDERS) > 20
