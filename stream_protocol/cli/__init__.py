"""The command ``adk-ui-stream``: serves an agent to ``useChat``, records it, replays recorded events, checks a stream.

Exit codes: 0: no error; 1: ``check`` found an error; 2: bad usage, or a target or a file that cannot be used. With 2,
one line on stderr says why, and stdout is empty. ``--help`` loads neither ADK nor Starlette: each command imports what
it needs when it runs.
"""

import click

from stream_protocol.cli.check_command import check
from stream_protocol.cli.record_command import record
from stream_protocol.cli.replay_command import replay
from stream_protocol.cli.serve_command import serve

__all__ = ["main"]


@click.group()
@click.version_option(package_name="adk-ui-stream")
def main() -> None:
    """Google ADK agents for the AI SDK's useChat."""


main.add_command(check)
main.add_command(record)
main.add_command(replay)
main.add_command(serve)
