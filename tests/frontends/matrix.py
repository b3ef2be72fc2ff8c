"""Prints the tested actions of docs/frontends.md, made from the tests: ``python -m tests.frontends.matrix``."""

import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from stream_protocol.wire import AiSdkVersion
from tests.conformance.test_chat_against_server import VERSIONS
from tests.conformance.visits.kits import TEMPLATE
from tests.frontends import test_frontends
from tests.frontends.actions import ACTIONS, Action
from tests.frontends.test_frontends import Scenarios

COLUMNS: Final[Mapping[str, str]] = {
    "react": "React",
    "nextjs": "Next.js",
    "template": "Vercel's chatbot template",
    "assistant-ui": "assistant-ui",
    "vue": "Vue",
    "svelte": "Svelte",
}
"""Name of an example -> heading of its column. `template` is not an example: its calls are made in Node."""


@dataclass(frozen=True)
class Cell:
    """Cell of the table. ``tests``: names of its tests. Without tests, ``reason`` explains it."""

    frontend: str
    ai: AiSdkVersion
    action: Action
    tests: Sequence[str]
    reason: str = ""


def cells() -> list[Cell]:
    return [*_in_the_browser(), *_of_the_template()]


def _in_the_browser() -> Iterator[Cell]:
    for kind in vars(test_frontends).values():
        if isinstance(kind, type) and issubclass(kind, Scenarios) and hasattr(kind, "frontend"):
            for action in ACTIONS:
                reason = kind.cannot.get(action, "")
                tests = [] if reason else list(_tests_of(action))
                yield Cell(kind.frontend.example, kind.frontend.ai, action, tests, reason)


def _tests_of(action: Action) -> Iterator[str]:
    for name, test in vars(Scenarios).items():
        if any(mark.name == "action" and mark.args == (action,) for mark in getattr(test, "pytestmark", ())):
            yield name


def _of_the_template() -> Iterator[Cell]:
    for ai in VERSIONS:
        for action in ACTIONS:
            yield Cell("template", ai, action, [visit.name for visit in TEMPLATE if visit.action == action])


def table() -> str:
    """Return the actions that are tested everywhere, a table of the others, and its footnotes, in Markdown."""
    known = sorted(cells(), key=lambda cell: cell.ai)
    partly = {cell.action for cell in known if not cell.tests}
    names = [*COLUMNS.values()]
    everywhere = [f"- {action}" for action in ACTIONS if action not in partly]
    first = f"Tests run {', '.join(names[:-1])} and {names[-1]} with `ai` 6 and 7. All frontends support:"
    return "\n".join([first, "", *everywhere, *_partly(known, partly)])


def _partly(known: Sequence[Cell], actions: Collection[Action]) -> Iterator[str]:
    if not actions:
        return
    reasons = list(dict.fromkeys(cell.reason for cell in known if cell.reason))
    yield from ("", _row(["", *COLUMNS.values()]), _row(["---"] * (1 + len(COLUMNS))))
    for action in ACTIONS:
        if action in actions:
            of_action = [cell for cell in known if cell.action == action]
            shown = (_shown([cell for cell in of_action if cell.frontend == name], reasons) for name in COLUMNS)
            yield _row([action, *shown])
    yield from ("", *(f"{number}. {reason}." for number, reason in enumerate(reasons, 1)))


def _shown(versions: Sequence[Cell], reasons: Sequence[str]) -> str:
    """A check mark if both versions are tested, otherwise each version with its footnote."""
    if all(cell.tests for cell in versions):
        return "\N{CHECK MARK}"
    tested = [f"v{cell.ai}" for cell in versions if cell.tests]
    missing = [f"v{cell.ai} [{reasons.index(cell.reason) + 1}]" for cell in versions if cell.reason]
    return ", ".join([*tested, *(f"not {one}" for one in missing)])


def _row(texts: Sequence[str]) -> str:
    return f"| {' | '.join(texts)} |"


if __name__ == "__main__":
    sys.stdout.write(f"{table()}\n")
