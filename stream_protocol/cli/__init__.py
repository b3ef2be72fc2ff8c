"""``adk-ui-stream``: serve an agent to ``useChat``, record it, replay recorded events, check a stream.

Exit codes: 0 fine, 1 the check found an error, 2 bad usage, or a target or file that can't be used, which one line on
stderr tells. Nothing is on stdout then.
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
