"""``adk-ui-stream check``: exit 0 legal, 1 not, 2 bad usage or unreadable input, told in one line on stderr."""

import sys
import tempfile

import click

from stream_protocol.cli._command_options import AI_SDK_VERSIONS, HELD_OUTPUT, ai_sdk_version, refuse


@click.command()
@click.argument("file")
@click.option("--session", metavar="ID", help="Which session, in a store or an evalset that has several.")
@click.option("--ai-sdk", type=AI_SDK_VERSIONS, help="Judge for this major version of `ai` only.")
def check(file: str, *, session: str | None, ai_sdk: str | None) -> None:
    """Say whether FILE is a legal stream for v6 and v7 clients: an SSE capture, chunks on lines, or ADK events in any
    form that `replay` reads."""
    from stream_protocol.check import BOTH, check_file, write_report
    from stream_protocol.recording.read import UnreadableError

    versions = BOTH if ai_sdk is None else (ai_sdk_version(ai_sdk),)
    name = click.format_filename(file)
    with tempfile.SpooledTemporaryFile(HELD_OUTPUT, "w+", encoding="utf-8", newline="\n") as out:
        try:
            legal = write_report(out, name, check_file(file, session=session, versions=versions), versions)
        except UnreadableError as error:
            refuse(f"{name}: {error}")
        out.seek(0)
        sys.stdout.writelines(out)
    sys.exit(0 if legal else 1)
