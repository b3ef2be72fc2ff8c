"""Command ``adk-ui-stream check``.

Exit codes:

- 0: all streams are valid, or the server is valid.
- 1: a stream is invalid, or the server is invalid.
- 2: a file is not a stream, or the server cannot be reached.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

import click

from stream_protocol.cli._command_options import AI_SDK_MAJORS, FILE, FILE_OR_URL, major_version
from stream_protocol.cli._output import SPOOL_BYTES, print_at_once, progress
from stream_protocol.cli._program import DocumentedCommand, refuse

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from stream_protocol.check import Finding, Severity
    from stream_protocol.wire import AiSdkVersion


_EXAMPLES: Final = {
    "A stream that was captured with curl": "adk-ui-stream check capture.sse",
    "The output of another command": "curl -sN -d @request.json localhost:8000/api/chat | adk-ui-stream check -",
    "The stream of recorded ADK events, for a client with `ai` 7": "adk-ui-stream check weather.jsonl --ai-sdk 7",
    "Several files, with a count at the end": "adk-ui-stream check capture.sse weather.jsonl",
    "One session of a store": "adk-ui-stream check sessions.db --session c1",
    "A running server, in any language": "adk-ui-stream check http://localhost:8000/api/chat",
    "In CI, with prompts for its agent": (
        "adk-ui-stream check http://localhost:8000/api/chat --prompts prompts.toml --profile chat --json"
    ),
}

_STDIN: Final = "-"
"""Name of the standard input on the command line."""

_WITHOUT_SCHEME: Final = re.compile(r"[\w.-]+:\d+(/|$)")
"""Start of an address such as ``localhost:8000/api/chat``."""


@click.command(
    cls=DocumentedCommand,
    short_help="Check a stream or a running server against the AI SDK's protocol.",
    examples=_EXAMPLES,
    sections={"--session": "A file", "--prompts": "A running server", "--ai-sdk": "A file or a server"},
)
@click.argument("targets", metavar="URL|FILE...", type=FILE_OR_URL, nargs=-1)
@click.option("--session", metavar="ID", help="Session to use, if the file has several sessions.")
@click.option("--prompts", type=FILE, help="TOML file with prompts to send, the server's routes, and request headers.")
@click.option(
    "--profile",
    "profiles",
    type=click.Choice(["stream", "chat", "tools", "durable"]),
    multiple=True,
    help="Run only the checks of this profile. A missing feature of the profile is an error. Repeatable.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.option("--ai-sdk", type=AI_SDK_MAJORS, help="Check for this version of `ai` only.  [default: both]")
def check(
    targets: tuple[str, ...],
    *,
    session: str | None,
    prompts: str | None,
    profiles: tuple[str, ...],
    as_json: bool,
    ai_sdk: str | None,
) -> None:
    """Check whether each FILE is a valid stream for v6 and v7 clients. FILE contains one of these: an SSE capture; JSON
    chunks, one per line; ADK events in any form that `replay` reads. The FILE `-` is the standard input.

    With a URL, check a running server. URL is the chat endpoint to which `useChat` posts. The command sends about a
    hundred requests, and model calls cost money.
    """
    if not targets:
        raise click.UsageError("Nothing to check: pass the URL of a chat endpoint, or FILE.")
    if any(_is_url(target) for target in targets):
        if len(targets) > 1:
            raise click.UsageError("A URL is checked alone: pass one URL, or one or more FILE.")
        if session is not None:
            raise click.UsageError("--session needs FILE: it cannot be combined with a URL.")
        from stream_protocol.cli._check_backend import check_backend
        from stream_protocol.wire import AI_SDK_VERSIONS

        versions = AI_SDK_VERSIONS if ai_sdk is None else (major_version(ai_sdk),)
        claimed = [*dict.fromkeys(profiles)]
        passed = check_backend(targets[0], prompts=prompts, claimed=claimed, versions=versions, as_json=as_json)
        sys.exit(0 if passed else 1)
    if prompts is not None or profiles or as_json:
        raise click.UsageError("--prompts, --profile and --json need a URL: they cannot be combined with FILE.")
    if session is not None and len(targets) > 1:
        raise click.UsageError("--session needs one FILE.")
    if _STDIN in targets and (session is not None or targets.count(_STDIN) > 1):
        raise click.UsageError(
            "--session needs a file: it cannot be combined with `-`."
            if session is not None
            else "The standard input is read once: pass `-` once."
        )
    for target in targets:
        if _WITHOUT_SCHEME.match(target) and not Path(target).exists():
            refuse(f"{target}: No such file. To check a running server, pass its URL: http://{target}")
    _check_files(targets, session=session, ai_sdk=ai_sdk)


def _is_url(target: str) -> bool:
    return "://" in target


def _shown_name(file: str) -> str:
    """Return the name of a file for the report. The path is relative if the file is below the working directory."""
    if file == _STDIN:
        return "stdin"
    with suppress(ValueError, OSError):  # the file is elsewhere, or the working directory was deleted
        file = str(Path(file).relative_to(Path.cwd()))
    return click.format_filename(file)


def _check_files(files: Sequence[str], *, session: str | None, ai_sdk: str | None) -> None:
    """Print the reports about all files, and exit. If a file cannot be read, nothing is printed on stdout."""
    from stream_protocol.check import ALL_VERSIONS, UnreadableError, check_file, check_stream

    versions = ALL_VERSIONS if ai_sdk is None else (major_version(ai_sdk),)
    valid = 0
    with tempfile.SpooledTemporaryFile(SPOOL_BYTES, "w+", encoding="utf-8", newline="\n") as out:
        for file in files:
            name = _shown_name(file)
            try:
                with progress(f"Checking {name}"):
                    findings = (
                        check_stream(sys.stdin.buffer, versions=versions)
                        if file == _STDIN
                        else check_file(file, session=session, versions=versions)
                    )
                    valid += _write_report(out, name, findings, versions)
            except UnreadableError as error:
                refuse(f"{name}: {error}")
        if len(files) > 1:
            out.write(f"{len(files)} files: {valid} valid, {len(files) - valid} invalid\n")
        out.seek(0)
        print_at_once("".join(lines) for lines in iter(lambda: out.readlines(SPOOL_BYTES), []))
    sys.exit(0 if valid == len(files) else 1)


def _write_report(out: IO[str], name: str, findings: Iterable[Finding], versions: Iterable[AiSdkVersion]) -> bool:
    """Write a line for each finding, and the result for the file ``name``. Returns True if the stream is valid."""
    counts: Counter[Severity] = Counter()
    refusing: set[AiSdkVersion] = set()
    for finding in findings:
        severity = finding.rule.severity
        counts[severity] += 1
        if severity == "error":
            refusing.update(finding.versions)
        where = f"chunk {finding.chunk}, {_clients(finding.versions)}"
        colored = click.style(severity, fg="red" if severity == "error" else "yellow")
        out.write(f"{name}:{finding.line}: {colored} [{finding.rule}] {where}: {finding.text}\n")
    numbers = [f"{counts[severity]} {severity}{'s' * (counts[severity] > 1)}" for severity in sorted(counts)]
    invalid, valid = (sorted(part) for part in (refusing, {*versions} - refusing))
    verdicts = [
        f"{click.style(verdict, fg=color)} for {_clients(clients)}"
        for verdict, color, clients in (("invalid", "red", invalid), ("valid", "green", valid))
        if clients
    ]
    out.write(f"{name}: {', '.join(verdicts)}" + (f" ({', '.join(numbers)})" if numbers else "") + "\n")
    return not invalid


def _clients(versions: Iterable[AiSdkVersion]) -> str:
    return " and ".join(f"v{version}" for version in versions)
