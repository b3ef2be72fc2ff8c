"""Command ``adk-ui-stream check URL``: checks a running server, and prints the result of each check."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import click

from stream_protocol.backend_check import (
    PROFILES,
    NoBackendError,
    Outcome,
    Result,
    Settings,
    SettingsError,
    badge,
    checks_of,
    failures,
    read_settings,
    report,
    run_checks,
)
from stream_protocol.cli._output import print_at_once, progress
from stream_protocol.cli._program import INTERRUPTED, can_move_cursor, refuse, warn
from stream_protocol.wire import printable, short_json

if TYPE_CHECKING:
    from stream_protocol.wire import AiSdkVersion

_COLORS: Final = {Outcome.HOLDS: "green", Outcome.BROKEN: "red", Outcome.NOT_OFFERED: "yellow"}
_INDENT: Final = 15


def check_backend(
    url: str, *, prompts: str | None, claimed: Sequence[str], versions: Sequence[AiSdkVersion], as_json: bool
) -> bool:
    """Check the server, and print the report. The progress is printed on stderr.

    Returns True if the server breaks no rule, and has all features of the profiles in ``claimed``.
    """
    _check_url(url)
    checks = checks_of(claimed or PROFILES)
    known: list[Result] = []
    is_interrupted = False

    def current() -> str:
        last = known[-1].check if known else checks[0]
        return f"Checking {len(known)} of {len(checks)}, {last.profile}: {last.name}"

    def add(result: Result) -> None:
        known.append(result)
        if not can_move_cursor(sys.stderr):
            check = result.check
            click.echo(f"{len(known)} of {len(checks)}: {check.profile}: {check.name}: {result.outcome}", err=True)

    try:
        settings = Settings() if prompts is None else read_settings(prompts)
        with progress(current), _ends_as_after_ctrl_c():
            asyncio.run(run_checks(url, settings, profiles=claimed or PROFILES, versions=versions, on_result=add))
    except (SettingsError, NoBackendError) as error:
        refuse(str(error))
    except KeyboardInterrupt:
        is_interrupted = True
    results = sorted(known, key=lambda each: checks.index(each.check))
    if as_json and not is_interrupted:
        print_at_once([json.dumps(report(url, results, versions, claimed), indent=2) + "\n"])
    elif results and not as_json:
        print_at_once(f"{line}\n" for line in _grid(url, results, versions, claimed))
    if is_interrupted:
        warn(f"Interrupted: {len(known)} of {len(checks)} checks have ended.")
        sys.exit(INTERRUPTED)
    return not failures(results, claimed)


@contextmanager
def _ends_as_after_ctrl_c() -> Iterator[None]:
    """Context manager: handles SIGTERM and SIGHUP like Ctrl-C, so that the chats of the checks are deleted."""
    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    default = [number for number in numbers if signal.getsignal(number) is signal.SIG_DFL]
    for number in default:
        signal.signal(number, _interrupt)
    try:
        yield
    finally:
        for number in default:
            signal.signal(number, signal.SIG_DFL)


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Call the process's handler for Ctrl-C. If the process ignores Ctrl-C, as a background process does, raise
    ``KeyboardInterrupt``.
    """
    handler = signal.getsignal(signal.SIGINT)
    (handler if callable(handler) else signal.default_int_handler)(number, frame)


def _check_url(url: str) -> None:
    try:
        url.encode()  # the shell may pass bytes that are not UTF-8
        parts = urlsplit(url)
        is_address = parts.scheme in ("http", "https") and parts.hostname is not None and parts.port != 0
    except ValueError:
        is_address = False
    if not is_address:
        refuse(f"{url} is not an HTTP address: pass the chat endpoint, such as http://localhost:8000/api/chat")


def _grid(url: str, results: Sequence[Result], versions: Sequence[AiSdkVersion], claimed: Sequence[str]) -> list[str]:
    summary = badge(results, versions, claimed)
    lines = [f"{url}, as clients of {summary['label']} use it"]
    for profile in PROFILES:
        of_profile = [each for each in results if each.check.profile == profile]
        if of_profile:
            lines += ["", click.style(profile, bold=True)]
        for result in of_profile:
            lines += _rows(result)
    missing = [each for each in failures(results, claimed) if each.outcome is Outcome.NOT_OFFERED]
    if missing:
        names = ", ".join(each.check.name for each in missing)
        lines += ["", f"Required by --profile, but the server does not offer: {names}."]
    return [*lines, "", click.style(f"{summary['label']}: {summary['message']}", fg=summary["color"])]


def _rows(result: Result) -> list[str]:
    """Return the lines for one result. The first line has the outcome. For a broken rule, more lines have the reason,
    the chunk, and the document that contains the rule.
    """
    check = result.check
    outcome = click.style(f"{result.outcome:{_INDENT - 2}}", fg=_COLORS[result.outcome])
    rows = [f"  {outcome}{check.name:26}{check.rule}"]
    details = [result.reason] if result.reason else []
    if result.outcome is Outcome.BROKEN:
        details += [f"chunk: {short_json(result.chunk)}"] if result.chunk is not None else []
        details.append(f"source: {result.source}")
    return rows + [" " * _INDENT + printable(" ".join(text.split())) for text in details]
