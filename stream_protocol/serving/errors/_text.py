"""The text of an exception, on one line, not too long, and without secrets."""

import re
from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from typing import Any, Final

from stream_protocol._secret_texts import message_without_secrets
from stream_protocol.wire import printable, whole_words

LIMIT: Final = 300
"""Characters of foreign text in a sentence."""

_TRACEBACK: Final = "Traceback (most recent call last)"
_RAISED: Final = re.compile(r"^\S.*", re.MULTILINE | re.DOTALL)
"""The exception below the frames of a traceback, which are indented."""

MAX_PROBLEMS: Final = 3
"""Errors of a group, and problems of a ``ValidationError``, that a sentence has. It counts the others."""


def one_line(text: str, limit: int = LIMIT, *, known: Collection[str] = ()) -> str:
    """Return the text on one line of at most ``limit`` characters, without secrets and tracebacks.

    A longer text ends after a whole word. A text that is only a traceback becomes its exception.
    Control characters are escaped: see ``printable``. ``known``: words that look like a key and are not.
    """
    read = whole_words(text, 20 * limit)
    told, traceback, _ = read.partition(_TRACEBACK)
    if traceback and not told.strip():
        told = _raised(text[-20 * limit :])
    line = printable(message_without_secrets(" ".join(told.split()), known=known))
    if len(line) <= limit and (traceback or len(read) == len(text)):
        return line
    return f"{whole_words(line, limit - 1)}…"


def _raised(traceback: str) -> str:
    """Return the exception at the end of a printed traceback."""
    *_, frames = traceback.split(_TRACEBACK)
    *_, frame = frames.split('  File "')
    found = _RAISED.search(frame.partition("\n")[2])
    return found[0] if found else traceback


def said(error: BaseException) -> str:
    """``str(error)``; empty if the exception cannot be written, as anybody's class may fail there."""
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - anybody's code
        return ""


def error_text(error: BaseException) -> str:
    """The type of the exception, and what it says."""
    name, text = type(error).__name__, one_line(_message(error))
    return f"{name}: {text}" if text else name


def _message(error: BaseException) -> str:
    match error:
        case KeyError(args=(str() as text,)):  # its own text is that of `repr`
            return text if " " in text else repr(text)
        case BaseExceptionGroup():
            return "; ".join(error_text(inner) for inner in islice(_inner(error), MAX_PROBLEMS))
    if (problems := _validation_problems(error)) is not None:
        return problems
    return said(error)


def _inner(group: BaseExceptionGroup) -> Iterator[BaseException]:
    """The exceptions in the group and in the groups in it, however deep they are."""
    left: list[BaseException] = [group]
    while left:
        error = left.pop()
        if isinstance(error, BaseExceptionGroup):
            left.extend(reversed(error.exceptions))
        else:
            yield error


def _validation_problems(error: BaseException) -> str | None:
    """Return what a pydantic ``ValidationError`` says, without the values that it refuses and without links."""
    if type(error).__name__ != "ValidationError" or not hasattr(error, "errors"):
        return None
    try:
        problems: list[dict[str, Any]] = error.errors()
        told = [problem_text(problem) for problem in problems[:MAX_PROBLEMS]]
        more = len(problems) - len(told)
        told += [f"{more} more problem{'s' * (more > 1)}"] if more else []
        return f"{getattr(error, 'title', '')}: {'; '.join(told)}".removeprefix(": ")
    except Exception:  # noqa: BLE001 - another library's class of this name
        return None


def problem_text(problem: Mapping[str, Any]) -> str:
    """Return one problem of a ``ValidationError``, with the name of the field if it is that of a field."""
    place = f"`{'.'.join(map(str, problem['loc']))}`" if problem["loc"] else ""
    match problem["type"]:
        case "missing":
            return f"{place} is missing"
        case "extra_forbidden":
            return f"{place} is not one of its fields"
    reason = str(problem["msg"]).removeprefix("Value error, ").removeprefix("Assertion failed, ").rstrip(".")
    return f"{place}: {reason}" if place else reason
