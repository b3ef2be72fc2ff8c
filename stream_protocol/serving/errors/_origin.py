"""Finds the tool, model or agent that raised an exception, and the line of the app's code in its traceback."""

import sysconfig
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Final

from google.adk.agents import BaseAgent
from google.adk.models import BaseLlm
from google.adk.sessions import BaseSessionService
from google.adk.tools.base_tool import BaseTool
from yaml import MarkedYAMLError

Origin = BaseTool | BaseLlm | BaseAgent

_LIBRARIES: Final = tuple(
    str(Path(path).resolve()) for name, path in sysconfig.get_paths().items() if name.endswith(("lib", "stdlib"))
)
_PACKAGE: Final = str(Path(__file__).parents[2])


def find_origin(error: BaseException) -> Origin | None:
    """Return the tool, model or agent whose method raised the exception, or ``None``. If one runs inside another,
    return the innermost.

    A tool is also the origin if its callback raised the exception, or if ADK refused its result. If an agent inside a
    tool raised the exception, the inner agent is the origin.
    """
    found: Origin | None = None
    for frame, _ in _frames(error):
        names = frame.f_locals
        objects = [names.get("self"), names.get("tool") if "tool_context" in names else None]
        found = next((found for found in objects if isinstance(found, Origin)), found)
    return found


def is_of_session_store(error: BaseException) -> bool:
    return any(isinstance(frame.f_locals.get("self"), BaseSessionService) for frame, _ in _frames(error))


def app_line(error: BaseException) -> str | None:
    """Return the innermost line of the app's own code in the traceback, such as ``agent.py, line 8``. Returns ``None``
    if the traceback has no such line.
    """
    found: str | None = None
    for frame, line in _frames(error):
        file = frame.f_code.co_filename
        if not file.startswith("<") and not str(Path(file).resolve()).startswith((*_LIBRARIES, _PACKAGE)):
            found = _place(file, line)
    return found


def stated_problem(error: BaseException) -> tuple[str, str] | None:
    """Return the message of a Python or YAML syntax error, and its file and line; ``None`` for other errors."""
    match error:
        case SyntaxError(msg=str() as problem, filename=str() as file, lineno=int() as line) if file[:1] != "<":
            return problem, _place(file, line)
        case MarkedYAMLError(problem=str() as problem, problem_mark=mark) if mark is not None:
            return problem, _place(mark.name, mark.line + 1)
    return None


def _place(file: str, line: int) -> str:
    path = Path(file)
    name = f"{path.parent.name}/{path.name}" if path.name == "__init__.py" else path.name
    return f"{name}, line {line}"


def _frames(error: BaseException) -> Iterator[tuple[FrameType, int]]:
    trace = error.__traceback__
    while trace is not None:
        yield trace.tb_frame, trace.tb_lineno
        trace = trace.tb_next
