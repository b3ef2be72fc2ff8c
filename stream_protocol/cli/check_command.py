"""``adk-ui-stream check``: exit code 0 for a valid stream, 1 for an invalid one, 2 for a file that is not a stream."""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from typing import IO, TYPE_CHECKING, Final

import click

from stream_protocol.cli._command_options import AI_SDK_MAJORS, FILE, major_version
from stream_protocol.cli._output import SPOOL_BYTES, print_at_once, progress
from stream_protocol.cli._program import DocumentedCommand, refuse

if TYPE_CHECKING:
    from collections.abc import Iterable

    from stream_protocol.check import Finding, Severity
    from stream_protocol.wire import AiSdkVersion


_EXAMPLES: Final = {
    "A stream that was captured with curl": "adk-ui-stream check capture.sse",
    "The stream of recorded ADK events, for a client with `ai` 7": "adk-ui-stream check weather.jsonl --ai-sdk 7",
    "One session of a store": "adk-ui-stream check sessions.db --session c1",
}


@click.command(cls=DocumentedCommand, short_help="Check a stream against the AI SDK's protocol.", examples=_EXAMPLES)
@click.argument("file", type=FILE)
@click.option("--session", metavar="ID", help="Session to use, in a store or an evalset with several.")
@click.option("--ai-sdk", type=AI_SDK_MAJORS, help="Check only for this major version of `ai`.")
def check(file: str, *, session: str | None, ai_sdk: str | None) -> None:
    """Check whether FILE is a valid stream for v6 and v7 clients. FILE is an SSE capture, chunks on lines, or ADK
    events in any form that `replay` reads.
    """
    from stream_protocol.check import ALL_VERSIONS, UnreadableError, check_file

    versions = ALL_VERSIONS if ai_sdk is None else (major_version(ai_sdk),)
    name = click.format_filename(file)
    with tempfile.SpooledTemporaryFile(SPOOL_BYTES, "w+", encoding="utf-8", newline="\n") as out:
        try:
            with progress(f"Checking {name}"):
                is_valid = _write_report(out, name, check_file(file, session=session, versions=versions), versions)
        except UnreadableError as error:
            refuse(f"{name}: {error}")
        out.seek(0)
        print_at_once("".join(lines) for lines in iter(lambda: out.readlines(SPOOL_BYTES), []))
    sys.exit(0 if is_valid else 1)


def _write_report(out: IO[str], name: str, findings: Iterable[Finding], versions: Iterable[AiSdkVersion]) -> bool:
    """Writes a line for each finding in the file ``name``, then the verdict. Returns whether the stream is valid."""
    counts: Counter[Severity] = Counter()
    for finding in findings:
        severity = finding.rule.severity
        counts[severity] += 1
        where = f"chunk {finding.chunk}, {_clients(finding.versions)}"
        colored = click.style(severity, fg="red" if severity == "error" else "yellow")
        out.write(f"{name}:{finding.line}: {colored} [{finding.rule}] {where}: {finding.text}\n")
    is_valid = not any(severity == "error" for severity in counts)
    numbers = [f"{counts[severity]} {severity}{'s' * (counts[severity] > 1)}" for severity in sorted(counts)]
    verdict = click.style("valid", fg="green") if is_valid else click.style("invalid", fg="red")
    verdict = f"{verdict} for {_clients(versions)}"
    out.write(f"{name}: {verdict}" + (f" ({', '.join(numbers)})" if numbers else "") + "\n")
    return is_valid


def _clients(versions: Iterable[AiSdkVersion]) -> str:
    return " and ".join(f"v{version}" for version in versions)
