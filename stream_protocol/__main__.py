"""Runs the command ``adk-ui-stream`` for ``python -m stream_protocol``."""

from stream_protocol.cli import main

if __name__ == "__main__":  # false in the processes that this command starts
    main()
