"""The command line program ``adk-ui-stream``: serves agents, records and replays chats, checks streams, and prints
types.

``EXIT_CODES``: the exit codes. With 2, stderr has a line ``error: …`` with the reason, and stdout is empty.

``--help`` must be fast. So ADK and Starlette are imported only when a command runs.

Where to change what:

- ``_serve_options``: the options of ``serve``.
- ``_program``: exit codes, colours and the help. After a change, run ``python -m tests.cli.reference > docs/cli.md``.
- ``_serve_agent``: the server of ``serve TARGET``.
- ``_serve_screen``: the text that ``serve`` prints at its start.
- ``_reload``: ``serve --reload``.
- ``_broken_agent``: the server of ``serve --reload`` while the agent cannot be loaded.
- ``_workers``: ``serve --workers``.
- ``project``: the project that ``init`` creates. Its page is a symbolic link to ``examples/nextjs``. On Windows, Git
  creates symbolic links only with the setting ``core.symlinks``. If you change the project's agent, update the types:
  ``cd stream_protocol/cli/project; adk-ui-stream types my_package``.
"""

from typing import Final

import click

from stream_protocol.cli._program import Program
from stream_protocol.cli.check_command import check
from stream_protocol.cli.demo_command import demo
from stream_protocol.cli.init_command import init
from stream_protocol.cli.record_command import record
from stream_protocol.cli.replay_command import replay
from stream_protocol.cli.serve_command import serve
from stream_protocol.cli.types_command import types

__all__ = ["EXIT_CODES", "main"]

EXIT_CODES: Final = {
    0: "no error, or Ctrl-C has ended a server",
    1: "`check` found an error, the file of `types --check` is outdated, or all turns of `record` failed",
    2: "wrong usage, or a target or file that cannot be used; stderr has the reason",
    130: "Ctrl-C has ended a command that is not a server",
}
"""Exit code -> meaning."""


@click.group(
    cls=Program,
    headings={
        "Talk with an agent": ["demo", "serve", "init"],
        "Record, replay and check": ["record", "replay", "check", "types"],
    },
    exit_codes=EXIT_CODES,
    context_settings={"help_option_names": ["-h", "--help"]},
    invoke_without_command=True,
)
@click.version_option(package_name="adk-ui-stream")
@click.pass_context
def main(ctx: click.Context) -> None:
    """Google ADK agents for the AI SDK's useChat."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


main.add_command(check)
main.add_command(demo)
main.add_command(init)
main.add_command(record)
main.add_command(replay)
main.add_command(serve)
main.add_command(types)
