"""Finds the code blocks of our Markdown files."""

import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from textwrap import dedent
from types import ModuleType
from typing import Final

import pytest
from google.adk.agents import BaseAgent

from tests.processes import ROOT
from website.paths import SHOWN_FILE

_BLOCK: Final = re.compile(r"^( *)```(\w*)[^\n]*\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)
"""Pattern of a fenced block. A title can follow its language."""


@dataclass(frozen=True)
class Block:
    """A fenced block. ``file``: path in the repository. ``line``: its first line."""

    file: str
    line: int
    language: str
    code: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@cache
def all_blocks() -> tuple[Block, ...]:
    return tuple(found for file in sorted(our_files(".md")) for found in _blocks_of(file))


def block(file: str, mark: str) -> str:
    """Return the code of the only block of a file that contains this text.

    The caller must run the code: ``test_documents.py`` finds the calls, and requires one for each block.
    """
    (found,) = [each for each in all_blocks() if each.file == file and mark in each.code]
    return found.code


def shown_file(file: str) -> str:
    """Return the text of an example that a page shows.

    The caller must run the code: ``test_documents.py`` finds the calls, and requires one for each shown file.
    """
    assert file in shown_files()
    return (ROOT / file).read_text(encoding="utf-8")


@cache
def shown_files() -> frozenset[str]:
    """Return the paths of the files that our pages show: ``<!-- file: … -->``."""
    pages = {file: file.read_text(encoding="utf-8") for file in our_files(".md", folder=ROOT / "docs")}
    shown = ((file.parent / name).resolve() for file, text in pages.items() for name in SHOWN_FILE.findall(text))
    return frozenset(file.relative_to(ROOT).as_posix() for file in shown)


def install_my_package(monkeypatch: pytest.MonkeyPatch, agent: BaseAgent) -> None:
    """Make the agent available as ``my_package.agent.root_agent``, its name in our pages."""
    module = ModuleType("my_package.agent")
    monkeypatch.setattr(module, "root_agent", agent, raising=False)
    monkeypatch.setitem(sys.modules, "my_package", ModuleType("my_package"))
    monkeypatch.setitem(sys.modules, "my_package.agent", module)


def our_files(*endings: str, folder: Path = ROOT) -> Iterator[Path]:
    """Yield the files below the folder with these endings, without packages and builds."""
    for inner, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name not in ("node_modules", "dist") and not name.startswith(".")]
        yield from (Path(inner, name) for name in files if name.endswith(endings))


def _blocks_of(file: Path) -> Iterator[Block]:
    text = file.read_text(encoding="utf-8")
    for found in _BLOCK.finditer(text):
        yield Block(
            file.relative_to(ROOT).as_posix(), text.count("\n", 0, found.start()) + 1, found[2], dedent(found[3])
        )
