"""Two readers derive from facts what happened: the stream and the transcript. All others hold facts, or ask queries."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import stream_protocol

LIBRARY: Final = Path(stream_protocol.__file__).parent

READERS: Final = ("adk/", "stream/", "session/transcript/")

FACTS: Final = frozenset(
    node.name
    for node in ast.parse((LIBRARY / "adk/_facts.py").read_text()).body
    if isinstance(node, ast.ClassDef) and node.name != "EventFacts"
)
"""The types of parts and reports."""

OTHERS: Final = frozenset(
    {
        "cli/_run_lines.py",  # prints the token usage of events
        "recording/read/_old_stores.py",  # restores a field before an event is read
        "serving/engine/_repeated_run.py",  # compares the texts of two executions
    }
)
"""The files that ask for the type of a fact, outside the two readers."""


def test_only_the_stream_and_the_transcript_ask_for_the_types_of_facts() -> None:
    assert {*interpreters()} == OTHERS


def interpreters() -> Iterator[str]:
    for path in sorted(LIBRARY.rglob("*.py")):
        name = path.relative_to(LIBRARY).as_posix()
        if not name.startswith(READERS) and any(asks_for_types(ast.parse(path.read_text()))):
            yield name


def asks_for_types(tree: ast.Module) -> Iterator[bool]:
    """Yield True for each ``case``, ``isinstance``, ``report`` or ``reports_a`` with a type of a part or a report."""
    imports = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom))
    imported = {name.name for node in imports if node.module == "stream_protocol.adk" for name in node.names}
    for node in ast.walk(tree):
        match node:
            case ast.MatchClass(cls=ast.Name(id=name)):
                yield name in imported & FACTS
            case ast.Call(func=ast.Name(id="isinstance") | ast.Attribute(attr="report" | "reports_a"), args=args):
                names = {each.id for arg in args for each in ast.walk(arg) if isinstance(each, ast.Name)}
                yield bool(names & imported & FACTS)
