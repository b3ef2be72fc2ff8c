"""Loads the TARGET of a command. Importing this module loads ADK."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Final

from stream_protocol.cli._program import refuse
from stream_protocol.recording import RecordingError, load_recording
from stream_protocol.recording.read import is_expectation
from stream_protocol.serving.adk_runner import Target, TargetError, load_target

MAX_FILES: Final = 10
"""Maximum number of files of a folder that are searched for a recording."""


def load_or_refuse(target: str, command: str) -> Target:
    """Load the agent, App or Runner. Ends the process with exit code 2 if it cannot be loaded.

    ``command``: command line for the suggestion of a better target, with ``{}`` in the place of the target.
    """
    try:
        return load_target(target)
    except TargetError as error:
        text = str(error)
        if error.example is not None:
            text = f"{text} Try: adk-ui-stream {command.format(shlex.quote(error.example))}"
        elif not error.is_fixable and _has_recording(Path(target)):
            text = f"{text} It has recordings. Try: adk-ui-stream serve --replay {shlex.quote(target)}"
        refuse(text, is_fixable=error.is_fixable)


def _has_recording(path: Path) -> bool:
    """Return True if the path is a recording, or a folder with a recording among its first files."""
    files = [path] if path.is_file() else sorted(path.glob("*.json*"))[:MAX_FILES]
    return any(map(_is_recording, files))


def _is_recording(file: Path) -> bool:
    if is_expectation(file):
        return False
    try:
        load_recording(file)
    except (OSError, RecordingError):
        return False
    return True
