"""The names that others may import, and the names that only our own packages import from each other."""

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from textwrap import dedent
from typing import Final

import pytest

ROOT: Final = Path(__file__).parent.parent
PACKAGE: Final = ROOT / "stream_protocol"
PUBLIC_PACKAGES: Final = {
    "stream_protocol",
    "stream_protocol.check",
    "stream_protocol.durable",
    "stream_protocol.inspector",
    "stream_protocol.recording",
    "stream_protocol.replay_server",
    "stream_protocol.agents",
    "stream_protocol.server",
    "stream_protocol.serving",
    "stream_protocol.serving.run_logs",
    "stream_protocol.session",
    "stream_protocol.testing",
    "stream_protocol.testing.run_log_conformance",
}
INNER_PACKAGES: Final = {".".join(init.relative_to(ROOT).parent.parts) for init in PACKAGE.rglob("__init__.py")} - {
    *PUBLIC_PACKAGES,
    "stream_protocol.cli",  # its one name is the installed command
    "stream_protocol.cli.project.my_package",  # of a user's project
}
Import = tuple[str, str]
"""A module of ours, and a name that is imported from it."""


def imports_of(code: str) -> Iterator[Import]:
    for node in ast.walk(ast.parse(code)):
        match node:
            case ast.ImportFrom(module=str(module)) if module.split(".")[0] == "stream_protocol":
                yield from ((module, alias.name) for alias in node.names)
            case ast.Import():
                yield from ((alias.name, "") for alias in node.names if alias.name.startswith("stream_protocol."))


def published_code() -> Iterator[tuple[str, str]]:
    """File and code: the Python blocks of the pages, the examples and the demo's server."""
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        for block in re.findall(r"```python[^\n]*\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
            yield page.name, dedent(block)
    for folder in ("examples", "server"):
        for file in (ROOT / folder).glob("*.py"):
            yield f"{folder}/{file.name}", file.read_text(encoding="utf-8")


def exported(package: str) -> set[str]:
    """Return the names that a package lists. An inner package has no list: return the names that it imports."""
    init = ROOT.joinpath(*package.split("."), "__init__.py")
    listed = getattr(import_module(package), "__all__", None)
    return set(listed or (name for _, name in imports_of(init.read_text(encoding="utf-8"))))


def test_what_pages_and_examples_import_is_public() -> None:
    shown = {(file, *found) for file, code in published_code() for found in imports_of(code)}
    assert len(shown) > 20
    # The server of the demo is the one place outside the package that has the demo's agent.
    shown -= {("server/app.py", "stream_protocol.demo", name) for name in exported("stream_protocol.demo")}
    assert {each for each in shown if each[1] not in PUBLIC_PACKAGES or each[2] not in exported(each[1])} == set()


@pytest.fixture(scope="module")
def imports() -> dict[Path, list[Import]]:
    """The imports of each file from the package."""
    return {file: [*imports_of(file.read_text(encoding="utf-8"))] for file in PACKAGE.rglob("*.py")}


@pytest.mark.parametrize("package", sorted(INNER_PACKAGES))
def test_a_package_exports_only_names_that_others_use(package: str, imports: dict[Path, list[Import]]) -> None:
    folder = ROOT.joinpath(*package.split("."))
    users = [file for file in imports if folder not in file.parents]
    used = {name for file in users for module, name in imports[file] if module == package}
    assert exported(package) - used == set(), "only tests use it, or nobody"
