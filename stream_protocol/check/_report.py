"""Findings as lines for a terminal, and the verdict behind them."""

from collections import Counter
from collections.abc import Iterable
from typing import IO

from stream_protocol.check._rules import Finding, Level
from stream_protocol.wire import AiSdkVersion


def write_report(out: IO[str], name: str, findings: Iterable[Finding], versions: Iterable[AiSdkVersion]) -> bool:
    """Writes a line for each finding in the file called ``name``, then the verdict for these clients.

    Returns whether the stream is legal for them.
    """
    levels: Counter[Level] = Counter()
    for finding in findings:
        levels[finding.rule.level] += 1
        where = f"chunk {finding.chunk}, {_clients(finding.versions)}"
        out.write(f"{name}:{finding.line}: {finding.rule.level} [{finding.rule}] {where}: {finding.text}\n")
    out.write(f"{name}: {_verdict(levels, versions)}\n")
    return not levels[Level.ERROR]


def _clients(versions: Iterable[AiSdkVersion]) -> str:
    return " and ".join(f"v{version}" for version in versions)


def _verdict(levels: Counter[Level], versions: Iterable[AiSdkVersion]) -> str:
    verdict = "not legal" if levels[Level.ERROR] else "legal"
    counts = [f"{levels[level]} {level}{'s' * (levels[level] > 1)}" for level in Level if levels[level]]
    return f"{verdict} for {_clients(versions)}" + (f" ({', '.join(counts)})" if counts else "")
