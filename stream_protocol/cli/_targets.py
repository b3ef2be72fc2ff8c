"""Loading the TARGET of a command. A module of its own, since importing it loads ADK."""

from __future__ import annotations

import shlex

from stream_protocol.cli._program import refuse
from stream_protocol.serving.adk_runner import Target, TargetError, load_target


def load_or_refuse(target: str, command: str) -> Target:
    """Load the agent, App or Runner. Ends the process with exit code 2 if it cannot be loaded.

    ``command``: the command line in which another target is offered, with ``{}`` in its place.
    """
    try:
        return load_target(target)
    except TargetError as error:
        text = str(error)
        if error.example is not None:
            text = f"{text} Try: adk-ui-stream {command.format(shlex.quote(error.example))}"
        refuse(text, can_be_mended=error.can_be_mended)
