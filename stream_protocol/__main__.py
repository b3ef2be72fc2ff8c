"""``python -m stream_protocol``: the command ``adk-ui-stream``."""

from stream_protocol.cli import main

main()
