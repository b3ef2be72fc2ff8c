"""Where an exception comes from: the tool, the model or the agent that raised it, and the line of the app's code."""

import sysconfig
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Final

from google.adk.agents import BaseAgent
from google.adk.models import BaseLlm
from google.adk.sessions import BaseSessionService
from google.adk.tools.base_tool import BaseTool

Origin = BaseTool | BaseLlm | BaseAgent

_LIBRARIES: Final = tuple(
    str(Path(path).resolve()) for name, path in sysconfig.get_paths().items() if name.endswith(("lib", "stdlib"))
)
_PACKAGE: Final = str(Path(__file__).parents[2])


def find_origin(error: BaseException) -> Origin | None:
    """The innermost tool, model or agent whose method was running.

    A tool that asks another agent is not the origin of what fails in that agent.
    """
    found: Origin | None = None
    for frame, _ in _frames(error):
        running = frame.f_locals.get("self")
        if isinstance(running, Origin):
            found = running
    return found


def is_of_session_store(error: BaseException) -> bool:
    """Return True if a method of a session service raised the error."""
    return any(isinstance(frame.f_locals.get("self"), BaseSessionService) for frame, _ in _frames(error))


def own_line(error: BaseException) -> str | None:
    """The innermost line of the app's own code: ``agent.py, line 8``."""
    found: str | None = None
    for frame, line in _frames(error):
        file = frame.f_code.co_filename
        if not file.startswith("<") and not str(Path(file).resolve()).startswith((*_LIBRARIES, _PACKAGE)):
            found = f"{Path(file).name}, line {line}"
    return found


def _frames(error: BaseException) -> Iterator[tuple[FrameType, int]]:
    trace = error.__traceback__
    while trace is not None:
        yield trace.tb_frame, trace.tb_lineno
        trace = trace.tb_next
