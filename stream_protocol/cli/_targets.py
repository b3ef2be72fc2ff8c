"""Loads the argument TARGET of a command. Importing this module loads ADK."""

from __future__ import annotations

import importlib
import shlex
import sys
from pathlib import Path
from typing import Final, TypeVar

from stream_protocol.cli._program import refuse
from stream_protocol.recording import RecordingError, load_recording
from stream_protocol.recording.read import is_expectation
from stream_protocol.serving.adk_runner import Target, TargetError, load_problem, load_target

_T = TypeVar("_T")

MAX_FILES: Final = 10
"""Maximum number of files in a folder that are checked for a recording."""


def load_or_refuse(target: str, command: str) -> Target:
    """Load the agent, ``App`` or ``Runner`` that ``target`` names. If it cannot be loaded, the process ends with exit
    code 2.

    ``command``: a command line for the error text, such as ``adk-ui-stream serve {}``. ``{}`` stands for the target.
    """
    try:
        return load_target(target)
    except TargetError as error:
        text = error.reason
        if error.example is not None:
            text = f"{text} Try: adk-ui-stream {command.format(shlex.quote(error.example))}"
        elif not error.is_fixable and _has_recording(Path(target)):
            text = f"{text} It has recordings. Try: adk-ui-stream serve --replay {shlex.quote(target)}"
        refuse(text, lines=error.found, is_fixable=error.is_fixable)


def load_declared(option: str, name: str | None, kind: type[_T]) -> _T | None:
    """Load the object that an option names as ``module:attr``. Call this function after the target is loaded.

    If the object cannot be loaded, or is not an instance of ``kind``, the process ends with exit code 2. Returns
    ``None`` if ``name`` is ``None``.
    """
    if name is None:
        return None
    module_name, _, attribute = name.partition(":")
    if (here := str(Path.cwd())) not in sys.path:  # the target may be a folder somewhere else
        sys.path.append(here)
    try:
        found = getattr(importlib.import_module(module_name), attribute, None)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - the app's module may raise anything, also SystemExit
        refuse(f"cannot load {option} = {name}: {load_problem(error)}", is_fixable=True)
    if not isinstance(found, kind):
        refuse(f"cannot load {option} = {name}: it is not a {kind.__name__}", is_fixable=True)
    return found


def _has_recording(path: Path) -> bool:
    """Return True if the path is a recording, or a folder with a recording. In a folder, at most ``MAX_FILES`` files
    are checked.
    """
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
