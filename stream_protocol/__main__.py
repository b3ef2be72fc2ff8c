"""``python -m stream_protocol``: the command ``adk-ui-stream``."""

from stream_protocol.cli import main

if __name__ == "__main__":  # not in the processes of its own that it starts
    main()
