"""``adk-ui-stream check``: exit 0 legal, 1 not, 2 bad usage or unreadable input, told in one line on stderr."""

import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from typing import IO

import click

from stream_protocol.check import BOTH, Finding, Level, check_file
from stream_protocol.cli._command_options import AI_SDK_VERSIONS, HELD_OUTPUT, ai_sdk_version, refuse
from stream_protocol.recording.read import UnreadableError
from stream_protocol.wire import AiSdkVersion


@click.command()
@click.argument("file")
@click.option("--session", metavar="ID", help="Which session, in a store or an evalset that has several.")
@click.option("--ai-sdk", type=AI_SDK_VERSIONS, help="Judge for this major version of `ai` only.")
def check(file: str, *, session: str | None, ai_sdk: str | None) -> None:
    """Say whether FILE is a legal stream for v6 and v7 clients: an SSE capture, chunks on lines, or ADK events in any
    form that `replay` reads."""
    versions = BOTH if ai_sdk is None else (ai_sdk_version(ai_sdk),)
    name = click.format_filename(file)
    with tempfile.SpooledTemporaryFile(HELD_OUTPUT, "w+", encoding="utf-8", newline="\n") as out:
        try:
            levels = _write_findings(out, name, check_file(file, session=session, versions=versions))
        except UnreadableError as error:
            refuse(f"{name}: {error}")
        out.write(f"{name}: {_summary(levels, versions)}\n")
        _print(out)
    sys.exit(1 if levels[Level.ERROR] else 0)


def _write_findings(out: IO[str], name: str, findings: Iterable[Finding]) -> Counter[Level]:
    levels: Counter[Level] = Counter()
    for finding in findings:
        levels[finding.rule.level] += 1
        out.write(f"{name}:{finding.line}: {finding.rule.level} [{finding.rule}] {_where(finding)}: {finding.text}\n")
    return levels


def _print(out: IO[str]) -> None:
    out.seek(0)
    sys.stdout.writelines(out)


def _where(finding: Finding) -> str:
    return f"chunk {finding.chunk}, {_clients(finding.versions)}"


def _clients(versions: Iterable[AiSdkVersion]) -> str:
    return " and ".join(f"v{version}" for version in versions)


def _summary(levels: Counter[Level], versions: Iterable[AiSdkVersion]) -> str:
    verdict = "not legal" if levels[Level.ERROR] else "legal"
    counts = [f"{levels[level]} {level}{'s' * (levels[level] > 1)}" for level in Level if levels[level]]
    return f"{verdict} for {_clients(versions)}" + (f" ({', '.join(counts)})" if counts else "")
