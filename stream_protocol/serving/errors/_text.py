"""Formats the text of an exception: on one line, shortened, and without secrets."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from stream_protocol._secret_texts import message_without_secrets
from stream_protocol.wire import printable, whole_words

LIMIT: Final = 300
"""The default maximum number of characters of a quoted text."""

_TRACEBACK: Final = "Traceback (most recent call last)"
_RAISED: Final = re.compile(r"^\S.*", re.MULTILINE | re.DOTALL)
"""Pattern for the exception at the end of a traceback. The lines above it are indented."""

MAX_PROBLEMS: Final = 3
"""The maximum number of exceptions of a group, or of problems of a ``ValidationError``, that a sentence quotes."""


def one_line(text: str, limit: int = LIMIT, *, known: Collection[str] = ()) -> str:
    """Return the text on one line of at most ``limit`` characters, without secrets and tracebacks.

    A longer text is cut after a whole word. If the text is a traceback, only the exception at its end is returned.
    Control characters are escaped. ``known``: words that look like API keys but are not.
    """
    read = whole_words(text, 20 * limit)
    beginning, traceback, _ = read.partition(_TRACEBACK)
    if traceback and not beginning.strip():
        beginning = _raised(text[-20 * limit :])
    line = printable(message_without_secrets(" ".join(beginning.split()), known=known))
    if len(line) <= limit and (traceback or len(read) == len(text)):
        return line
    return f"{whole_words(line, limit - 1)}…"


def _raised(traceback: str) -> str:
    *_, frames = traceback.split(_TRACEBACK)
    *_, frame = frames.split('  File "')
    found = _RAISED.search(frame.partition("\n")[2])
    return found[0] if found else traceback


def exception_text(error: BaseException) -> str:
    """Return ``str(error)``, or an empty text if the exception's ``__str__`` method raises."""
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - the method of any class
        return ""


def error_text(error: BaseException) -> str:
    name, text = type(error).__name__, one_line(_message(error))
    return f"{name}: {text}" if text else name


def _message(error: BaseException) -> str:
    match error:
        case KeyError(args=(str() as text,)):  # `str(error)` is the `repr` of the key
            return text if " " in text else repr(text)
        case BaseExceptionGroup():
            return "; ".join(error_text(inner) for inner in islice(_inner(error), MAX_PROBLEMS))
    if (problems := _validation_problems(error)) is not None:
        return problems
    return exception_text(error)


def _inner(group: BaseExceptionGroup) -> Iterator[BaseException]:
    left: list[BaseException] = [group]
    while left:
        error = left.pop()
        if isinstance(error, BaseExceptionGroup):
            left.extend(reversed(error.exceptions))
        else:
            yield error


def _validation_problems(error: BaseException) -> str | None:
    """Return the problems that a pydantic ``ValidationError`` lists, without the refused values and pydantic's links.
    Returns ``None`` for other exceptions.
    """
    if type(error).__name__ != "ValidationError" or not hasattr(error, "errors"):
        return None
    try:
        problems: list[dict[str, Any]] = error.errors()
        return f"{getattr(error, 'title', '')}: {listed_problems(problems, problem_text)}".removeprefix(": ")
    except Exception:  # noqa: BLE001 - another library may have a class of this name
        return None


def listed_problems(problems: Sequence[Mapping[str, Any]], text_of: Callable[[Mapping[str, Any]], str]) -> str:
    """Return the texts of the first ``MAX_PROBLEMS`` problems of a ``ValidationError``, and the number of the other
    problems.
    """
    texts = [text_of(problem) for problem in problems[:MAX_PROBLEMS]]
    more = len(problems) - len(texts)
    return "; ".join([*texts, f"{more} more problem{'s' * (more > 1)}"] if more else texts)


def problem_text(problem: Mapping[str, Any]) -> str:
    """Return the text of one problem in a ``ValidationError``, with the name of the field."""
    place = f"`{'.'.join(map(str, problem['loc']))}`" if problem["loc"] else ""
    match problem["type"]:
        case "missing":
            return f"{place} is missing"
        case "extra_forbidden":
            return f"{place} is not one of its fields"
    reason = str(problem["msg"]).removeprefix("Value error, ").removeprefix("Assertion failed, ").rstrip(".")
    return f"{place}: {reason}" if place else reason
