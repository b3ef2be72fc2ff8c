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

The table has results of [`adk-ui-stream check URL`](check-backend.md) for five backends of `useChat`. All servers run
the same small agent, and get the same prompts. Each server follows the documentation of its package.
{clients}
[The report](../bench/reports/backends.md) has the versions, the setup, and the reason of each ✗.

Bold rows are [profiles](check-backend.md#profiles). ✓: the backend passes the check. ✗: it fails. -: it does not offer
the feature. [This list](../bench/reports/backends.md#the-checks) describes all checks. The table omits checks that all
backends pass.
"""

REPORT_HEAD: Final = """\
# The servers of the comparison

This page has the details of [Backends compared](../../docs/backends.md). `python -m tests.backends` writes both pages.
{clients}
"""

FAIRNESS: Final = """\
- **We wrote the checks**, from [these sources](check-backend.md#profiles).
- **A low count is not always a fault.** With the other packages, you write the routes for resume, stop and histories.
- **A real app can handle more errors** than the short servers of this test.
- **ai (Node), resumable** follows the AI SDK's guide to resumable streams.
"""

REPEAT: Final = """\
## Repeat it

```sh
make setup
.venv/bin/python -m tests.backends
```

The script installs the newest version of each package into `.venv-backends`, and checks each server. It
needs PyPI, the npm registry, Node 20.19 or later, and Python 3.12 or later. To check only one backend, name it:
`python -m tests.backends ai-node`.
"""

Results = Mapping[str, Mapping[str, Any]]


def load_results() -> Results:
    """Return the results of each backend, by its key."""
    results: Results = json.loads(RESULTS.read_text(encoding="utf-8"))
    return results


def page(results: Results) -> str:
    """Return the page."""
    return _joined(HEAD.format(clients=_clients(results)), "\n".join(_table(results)), FAIRNESS)


def report(results: Results) -> str:
    """Return the report: the servers, the chunk and the source of each broken check, and how to repeat it."""
    head = REPORT_HEAD.format(clients=_clients(results))
    sections = (_setups(results), _broken(results), _checks(results))
    return _joined(head, *map("\n".join, sections), REPEAT)


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


def _table(results: Results) -> Iterator[str]:
    """Yield the counts of each profile, and the checks that not all backends hold.

    Checks with the same outcomes share a row.
    """
    columns = [checks_of(results, backend) for backend in BACKENDS]
    yield _row("Profile or check", *(backend.title for backend in BACKENDS))
    yield "|---" * (len(BACKENDS) + 1) + "|"
    for profile in PROFILES:
        rows: dict[tuple[str, ...], list[str]] = {}
        for name, check in columns[0].items():
            if check["profile"] == profile:
                rows.setdefault(tuple(column[name]["outcome"] for column in columns), []).append(name)
        counts = [sum(len(names) for each, names in rows.items() if each[i] == "holds") for i in range(len(BACKENDS))]
        yield _row(f"**`{profile}`**", *(f"{count} of {sum(map(len, rows.values()))}" for count in counts))
        for outcomes, names in rows.items():
            if {*outcomes} != {"holds"}:
                yield _row(", ".join(names), *(SIGNS[each] for each in outcomes))


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


def _broken(results: Results) -> Iterator[str]:
    yield from ("## Failed checks", "")
    for backend in BACKENDS:
        for check in checks_of(results, backend).values():
            if check["outcome"] != "broken":
                continue
            yield f"- **{backend.title}, {check['name']}**: {_plain(check['reason'])}"
            if check["chunk"] is not None:
                yield f"  Chunk at the failure: `{json.dumps(check['chunk'])}`."
            yield f"  Source of the rule: {check['source']}."
    yield ""


def _checks(results: Results) -> Iterator[str]:
    yield from ("## The checks", "")
    checks = checks_of(results, BACKENDS[0])
    for profile in PROFILES:
        yield from (_row(f"`{profile}`", "Rule"), "|---|---|")
        yield from (_row(name, check["rule"]) for name, check in checks.items() if check["profile"] == profile)
        yield ""


def _plain(text: str) -> str:
    """Return a reason as one line of Markdown. It may quote a server's response."""
    return " ".join(text.split()).replace("<", "&lt;").replace("[", "\\[")
