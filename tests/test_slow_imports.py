"""No file outside of the suites imports litellm, MCP or A2A when it is collected: each worker collects all files."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

from tests.markers import SUITES, TESTS, is_ignored

SLOW: Final = (
    "a2a",
    "anthropic",
    "google.adk.a2a",
    "google.adk.agents.remote_a2a_agent",
    "google.adk.models.anthropic_llm",
    "google.adk.models.lite_llm",
    "google.adk.tools.mcp_tool",
    "litellm",
    "mcp",
)


@cache
def slow_import(file: Path) -> str | None:
    """The first slow module that the file imports, itself or through a module of the tests."""
    for name in imports(ast.parse(file.read_text(encoding="utf-8"))):
        if name.startswith(SLOW):
            return name
        module = TESTS.parent / f"{name.replace('.', '/')}.py"
        if name.startswith("tests.") and module.is_file() and (slow := slow_import(module)):
            return slow
    return None


def imports(module: ast.Module) -> Iterator[str]:
    """The modules that a module imports when it is imported, and the names that it imports from them."""
    for node in module.body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_no_collected_file_has_a_slow_import() -> None:
    files = [file for file in TESTS.rglob("test_*.py") if file.relative_to(TESTS).parts[0] not in SUITES]
    assert slow_import(TESTS / "conformance/test_lost_sources.py"), "the test sees nothing"
    slow = {
        file.relative_to(TESTS).as_posix(): name
        for file in files
        if not is_ignored(file, "not samples") and (name := slow_import(file))
    }
    assert slow == {}, "import it in the test, or add the file to `WITH_LITELLM` in tests/scheduling.py"
