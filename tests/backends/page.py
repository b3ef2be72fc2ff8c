"""Writes docs/backends.md and bench/reports/backends.md from the results of the last run."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from tests.backends.backends import BACKENDS, SERVERS, Backend

RESULTS: Final = Path(__file__).parent / "results.json"
ROOT: Final = Path(__file__).parents[2]
PAGE: Final = ROOT / "docs" / "backends.md"
REPORT: Final = ROOT / "bench" / "reports" / "backends.md"
LINKS: Final = "../../tests/backends"
SIGNS: Final = {"holds": "✓", "broken": "**✗**", "not offered": "-"}
PROFILES: Final = ("stream", "chat", "tools", "durable")

HEAD: Final = """\
# Backends compared

Results of [`adk-ui-stream check --url`](check-backend.md) for other backends of `useChat`. Each server runs the same
small agent, follows the package's own documentation, and gets the same prompts.
{clients}
[The report](../bench/reports/backends.md) has the versions, the servers and their setup.
"""

REPORT_HEAD: Final = """\
# The servers of the comparison

The details of [Backends compared](../../docs/backends.md). `python -m tests.backends` writes both pages. {clients}
"""

FAIRNESS: Final = """\
## How to read it

- **We wrote the checks.** Their [sources](check-backend.md#profiles) are the AI SDK's client and documentation, RFC
  9110, and two promises of our own.
- **A low count is not always a fault.** The other packages are libraries. Your app adds routes for resume, stop and
  histories. The server of the last column has routes for resume and stop, as in the AI SDK's guide.
- **A short test server may cause a broken check.** An app can catch more errors than these servers.
- **The results are a snapshot.** Please report an unfair setup.
"""

REPEAT: Final = """\
## Repeat it

```sh
make setup
.venv/bin/python -m tests.backends
```

The script installs the newest version of each package into `.venv-backends`, and checks each server.
It needs PyPI, the npm registry, Node 20.19 or later, and Python 3.12 or later. To check only one backend, name it:
`python -m tests.backends ai-node`.
"""

Results = Mapping[str, Mapping[str, Any]]


def load_results() -> Results:
    """Return the results of each backend, by its key."""
    results: Results = json.loads(RESULTS.read_text(encoding="utf-8"))
    return results


def page(results: Results) -> str:
    """Return the page."""
    head = HEAD.format(clients=_clients(results))
    tables = "\n".join(_counts(results)), FAIRNESS, "\n".join(_broken(results)), "\n".join(_grid(results))
    return _joined(head, *tables, REPEAT)


def report(results: Results) -> str:
    """Return the report: the servers, and the chunk and the source of each broken check."""
    head = REPORT_HEAD.format(clients=_clients(results))
    broken = "\n".join(_broken(results, in_report=True))
    return _joined(head, "\n".join(_setups(results)), broken)


def date(results: Results) -> str:
    """Return the day of the newest result."""
    return max(str(result["date"]) for result in results.values())


def checks_of(results: Results, backend: Backend) -> dict[str, Mapping[str, Any]]:
    """Return name of a check -> result, for one backend."""
    return {check["name"]: check for check in results[backend.key]["report"]["checks"]}


def _clients(results: Results) -> str:
    return f"The check ran on {date(results)}, for clients with `ai` 6 and 7."


def _joined(*sections: str) -> str:
    return "\n".join(f"{section.rstrip()}\n" for section in sections)


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _head(first: str) -> list[str]:
    return [_row(first, *(backend.title for backend in BACKENDS)), "|---" * (len(BACKENDS) + 1) + "|"]


def _counts(results: Results) -> Iterator[str]:
    yield from _head("Profile")
    for profile in PROFILES:
        cells = []
        for backend in BACKENDS:
            outcomes = [each["outcome"] for each in checks_of(results, backend).values() if each["profile"] == profile]
            cells.append(f"{outcomes.count('holds')} of {len(outcomes)}")
        yield _row(f"`{profile}`", *cells)


def _setups(results: Results) -> Iterator[str]:
    yield from ("## The servers", "")
    yield from ("| Backend | Versions | Server | Setup | Guide |", "|---|---|---|---|---|")
    for backend in BACKENDS:
        versions = ", ".join(f"{name} {version}" for name, version in results[backend.key]["versions"].items())
        server = f"[{backend.server}]({LINKS}/{SERVERS.name}/{backend.server})"
        yield _row(backend.title, versions, server, backend.setup, backend.guide)
    yield ""
    for backend in BACKENDS:
        yield from (f"- **{backend.title}**, {note}" for note in backend.notes)
    yield ""


def _grid(results: Results) -> Iterator[str]:
    yield from (
        "## The grid",
        "",
        "✓ holds · ✗ is broken · - is not offered. [The list of checks](check-backend.md#checks) has each rule.",
        "",
    )
    for profile in PROFILES:
        yield from (f"### {profile}", "", *_head("Check"))
        columns = [checks_of(results, backend) for backend in BACKENDS]
        for name, check in columns[0].items():
            if check["profile"] == profile:
                yield _row(name, *(SIGNS[column[name]["outcome"]] for column in columns))
        yield ""


def _broken(results: Results, *, in_report: bool = False) -> Iterator[str]:
    yield from ("## What is broken", "")
    for backend in BACKENDS:
        broken = [each for each in checks_of(results, backend).values() if each["outcome"] == "broken"]
        yield f"**{backend.title}**: {len(broken) or 'nothing'}."
        yield ""
        for check in broken:
            yield f"- **{check['name']}**: {_plain(check['reason'])}"
            if in_report and check["chunk"] is not None:
                yield f"  The chunk: `{json.dumps(check['chunk'])}`."
            if in_report:
                yield f"  Source of the rule: {check['source']}."
            for note in backend.notes:
                name, _, text = note.partition(": ")
                if name == f"`{check['name']}`":
                    yield f"  Note: {text}"
        yield from [""] if broken else []


def _plain(text: str) -> str:
    """Return a reason as one line of Markdown. It may quote a server's response."""
    return " ".join(text.split()).replace("<", "&lt;").replace("[", "\\[")
