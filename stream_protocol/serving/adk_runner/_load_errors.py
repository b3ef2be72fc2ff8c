"""Formats the exceptions that an agent's code raises while it is loaded."""

import re
from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ValidationError

from stream_protocol.serving.errors import app_line, exception_text, listed_problems, located_text, problem_text
from stream_protocol.wire import whole_words

_ADK_PREFIX: Final = re.compile(r"Fail to load '([^']*)' (module|config)\. ?")
"""Pattern of the text that ADK puts before the message of an error in an agent's files."""

_CLOSENESS: Final = 0.7
"""The minimum similarity, by ``difflib``, of a word and its misspelling."""

_NAME_LENGTH: Final = 60
"""The maximum number of characters of an invalid name that an error message shows."""


def load_problem(error: BaseException) -> str:
    """Return one line about the exception. If known, the line names the file and the line number of the code that
    raised it.
    """
    prefix = _ADK_PREFIX.search(exception_text(error))
    if type(error).__name__ == "_AgentLoadError" and error.__cause__ is not None:  # ADK wraps each ValueError
        error = error.__cause__
    if not isinstance(error, ValidationError):
        return _ADK_PREFIX.sub("", located_text(error))
    place = app_line(error)
    if place is None and prefix is not None and prefix[2] == "config":
        place = Path(prefix[1]).name
    return _construction_problem(error) + (f" ({place})" if place else "")


def _construction_problem(error: ValidationError) -> str:
    problems = listed_problems(error.errors(), partial(_problem, fields=_fields(error)))
    return f"{error.title} cannot be created: {problems}"


def _problem(problem: Mapping[str, Any], fields: Collection[str]) -> str:
    match problem:
        case {"loc": ("name",), "type": "missing"}:
            return "it has no `name`: give it one, such as my_agent"
        case {"loc": ("name",), "input": str() as name}:
            shown = whole_words(name, _NAME_LENGTH)
            return f"its name cannot be {shown!r}: take letters, digits and underscores, no digit first, and not 'user'"
        case {"loc": (str() as key,), "type": "extra_forbidden"} if close := closest(key, fields):
            return f"it has no field `{key}` (did you mean `{close}`?)"
    return problem_text(problem)


def _fields(error: BaseException) -> Collection[str]:
    trace = error.__traceback__
    fields: Collection[str] = ()
    while trace is not None:
        created = trace.tb_frame.f_locals.get("self")
        if isinstance(created, BaseModel):
            fields = type(created).model_fields
        trace = trace.tb_next
    return fields


def closest(word: str, words: Iterable[str]) -> str | None:
    words = [*words]
    same_letters = [each for each in words if sorted(each.lower()) == sorted(word.lower())]
    return next(iter(same_letters or get_close_matches(word, words, 1, _CLOSENESS)), None)
