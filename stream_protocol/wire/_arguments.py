"""Check the arguments of the library's public functions, so that a wrong value raises an error before it is used.

Each error message is one plain sentence.
"""

import inspect
import json
import math
import os
import re
import sys
from collections.abc import AsyncIterable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from stream_protocol.wire._errors import InvalidArgumentError

MAX_SHOWN: Final = 60
"""The maximum number of characters of a wrong text in an error message."""

MAX_SECONDS: Final = 10**9
"""The maximum number of seconds in an argument, about 30 years. Timers refuse much larger numbers, but only at the
first use."""

_SIMILAR: Final = 0.7
"""The minimum similarity of a suggested name, from 0 (different) to 1 (equal)."""

_USER_OF_URL: Final = re.compile(r"//[^/?#\s]*@")
"""Pattern for the user name and password in a URL."""


_HEADER: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")


def argument_error(name: str, expected: str, value: object, hint: str = "") -> InvalidArgumentError:
    """Return an error with the text "`name` must be EXPECTED, not VALUE: HINT." The words in capitals stand for the
    arguments.

    ``hint``: how to fix the mistake. If the value is a class or a coroutine, and ``hint`` is empty, the error has a
    default hint.
    """
    if inspect.iscoroutine(value):
        value.close()  # prevents Python's warning about a coroutine that was never awaited
    hint = hint or _hint(value)
    return InvalidArgumentError(f"`{name}` must be {expected}, not {shown(value)}{f': {hint}' if hint else ''}.")


def _hint(value: object) -> str:
    if isinstance(value, type):
        return f"give an instance, {value.__name__}(…)"
    return "await it first" if inspect.iscoroutine(value) else ""


def check_option_names(given: Iterable[str], known: Collection[str]) -> None:
    """Raise ``TypeError`` if a name in ``given`` is not in ``known``. The error suggests similar names in ``known``."""
    if not (unknown := sorted({*given} - {*known})):
        return
    from difflib import get_close_matches  # noqa: PLC0415 - only for an error

    close = [repr(match) for name in unknown for match in get_close_matches(name, known, 1, _SIMILAR)]
    hint = f" Did you mean {', '.join(close)}?" if close else ""
    raise TypeError(f"There is no option {', '.join(map(repr, unknown))}.{hint}")


def shown(value: object) -> str:
    """Return a value as text for an error message.

    - Texts are cut after ``MAX_SHOWN`` characters. If the text is a URL, user name and password are removed.
    - Numbers, bools and ``None`` appear as they are.
    - A class or function appears as its name, and any other value as the name of its type.
    """
    match value:
        case int() if abs(value) >= 10**MAX_SHOWN:
            return f"a number of more than {MAX_SHOWN} digits"  # Python refuses to print very long numbers
        case None | bool() | int() | float():
            return repr(value)
        case str():
            text = _USER_OF_URL.sub("//…@", value)
            return json.dumps(text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…", ensure_ascii=False)
        case type():
            return f"the class {value.__name__}"
    if inspect.iscoroutine(value):
        return f"the coroutine {value.__name__}"
    if inspect.isroutine(value):
        return f"the function {value.__name__}"
    return type(value).__name__


def check_choice(name: str, value: object, choices: Sequence[str | int]) -> None:
    if not any(type(value) is type(choice) and value == choice for choice in choices):
        *others, last = map(shown, choices)
        raise argument_error(name, f"{', '.join(others)} or {last}", value)


def check_flag(name: str, value: object) -> None:
    if not isinstance(value, bool):
        raise argument_error(name, "True or False", value)


def check_text(name: str, value: object, *, or_none: bool = False, expected: str = "text", empty: bool = True) -> None:
    """Raise ``InvalidArgumentError`` if the value is not a text. With ``empty=False``, the empty text is refused,
    too.
    """
    if or_none and value is None:
        return
    if not isinstance(value, str) or not (value or empty):
        raise argument_error(name, _or_none(expected, or_none=or_none), value)


def check_pattern(name: str, value: object, pattern: re.Pattern[str], expected: str) -> None:
    """Raise ``InvalidArgumentError`` unless the value is a text that matches ``pattern``. ``expected``: a description
    of valid values, for the error message.
    """
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise argument_error(name, expected, value)


def check_header_name(name: str, value: object) -> None:
    check_pattern(name, value, _HEADER, 'the name of a header, such as "X-User"')


def check_count(
    name: str, value: object, *, minimum: int = 1, maximum: int | None = None, or_none: bool = False
) -> None:
    """Raise ``InvalidArgumentError`` unless the value is a whole number from ``minimum`` to ``maximum``."""
    if or_none and value is None:
        return
    highest = math.inf if maximum is None else maximum
    if not isinstance(value, int) or isinstance(value, bool) or not minimum <= value <= highest:
        limits = f"from {minimum}" if maximum is None else f"from {minimum} to {maximum}"
        raise argument_error(name, _or_none(f"a whole number {limits}", or_none=or_none), value)


def check_seconds(name: str, value: object, *, zero: bool = False, or_none: bool = False) -> None:
    """Raise ``InvalidArgumentError`` unless the value is a positive number up to ``MAX_SECONDS``. ``zero``: True to
    also accept 0.
    """
    if or_none and value is None:
        return
    expected = _or_none("0 or more seconds" if zero else "a positive number of seconds", or_none=or_none)
    check_number(name, value, lambda seconds: seconds > 0 or (zero and seconds == 0), expected)
    if value > MAX_SECONDS:  # type: ignore[operator]  # a number, as checked above
        raise argument_error(name, expected, value, f"use at most {MAX_SECONDS:,}")


def check_number(name: str, value: object, accepts: Callable[[float], bool], expected: str) -> None:
    """Raise ``InvalidArgumentError`` unless the value is a number for which ``accepts`` returns True. ``expected``: a
    description of valid values, for the error message.
    """
    is_wrong = not isinstance(value, int | float) or isinstance(value, bool) or not accepts(value)
    if is_wrong or (isinstance(value, int) and abs(value) > sys.float_info.max):
        raise argument_error(name, expected, value)


def check_callable(
    name: str,
    value: object,
    arguments: Sequence[str],
    *,
    or_none: bool = False,
    plain: bool = False,
    may_yield: bool = False,
    expected: str = "a function",
) -> None:
    """Raise ``InvalidArgumentError`` if the value cannot be called with the right number of arguments.

    ``arguments``: the names of the positional arguments. ``plain``: True to refuse an ``async def`` function.
    ``may_yield``: True to accept a generator function.
    """
    if or_none and value is None:
        return
    if not callable(value):
        hint = "give the function itself, without calling it" if inspect.iscoroutine(value) else ""
        raise argument_error(name, _or_none(expected, or_none=or_none), value, hint)
    call = f"`{name}` is called as {name}({', '.join(arguments)})"
    functions = (value, type(value).__call__)
    if plain and any(map(inspect.iscoroutinefunction, functions)):
        raise InvalidArgumentError(f"{call} and not awaited: it must be a plain def, not an async def.")
    yields = any(map(inspect.isgeneratorfunction, functions)) and not may_yield
    if yields or any(map(inspect.isasyncgenfunction, functions)):
        raise InvalidArgumentError(f"{call} and not iterated: it must return its result, and not yield.")
    try:
        inspect.signature(value).bind(*arguments)
    except TypeError:
        raise InvalidArgumentError(f"{call}: {shown(value)} does not take these arguments.") from None
    except ValueError:  # a builtin without a signature
        return


def check_texts(name: str, value: Any, *, expected: str = "a list of texts") -> Collection[str]:
    """Return the value if it is a collection of texts. Otherwise raise ``InvalidArgumentError``."""
    if isinstance(value, str):
        raise argument_error(name, expected, value, f"write [{shown(value)}]")
    if not isinstance(value, Collection) or isinstance(value, bytes | bytearray):
        raise argument_error(name, expected, value)
    _check_items(name, value, expected)
    return value


def check_mapping(name: str, value: object, *, of_texts: bool = False, or_none: bool = False) -> None:
    """Raise ``InvalidArgumentError`` unless the value is a dictionary whose keys are texts. ``of_texts``: True to
    require texts as values, too.
    """
    if or_none and value is None:
        return
    expected = "a dictionary of texts" if of_texts else "a dictionary"
    if not isinstance(value, Mapping):
        raise argument_error(name, _or_none(expected, or_none=or_none), value)
    _check_items(name, (*value, *(value.values() if of_texts else ())), expected)


def _check_items(name: str, items: Iterable[object], expected: str) -> None:
    for item in items:
        if not isinstance(item, str):
            raise InvalidArgumentError(f"`{name}` must be {expected}, and {shown(item)} in it is not text.")


def check_path(name: str, value: object) -> None:
    """Raise ``InvalidArgumentError`` unless the value is a path object or a text with at least one character."""
    path = os.fspath(value) if isinstance(value, os.PathLike) and not isinstance(value, type) else value
    if not isinstance(path, str) or not path:
        raise argument_error(name, "the path of a file or folder", value)


def check_instance(
    name: str, value: object, kind: type | tuple[type, ...], expected: str, *, or_none: bool = False, hint: str = ""
) -> None:
    """Raise ``InvalidArgumentError`` unless the value is an instance of ``kind``. ``expected``: a description of valid
    values, for the error message.
    """
    if not isinstance(value, kind) and not (or_none and value is None):
        raise argument_error(name, _or_none(expected, or_none=or_none), value, hint)


def check_interface(
    name: str, value: object, interface: type, expected: str, *, or_none: bool = False, hint: str = ""
) -> None:
    """Raise ``InvalidArgumentError`` unless the value has every public member of the ``Protocol`` class ``interface``.

    ``hint``: names of this library's classes that implement the interface.
    """
    if or_none and value is None:
        return
    members = list(_members(interface))
    missing = [member for member in members if not hasattr(value, member)]
    if missing or isinstance(value, type):
        is_one = len(missing) < len(members) and not isinstance(value, type)
        hint = f"it has no `{missing[0]}`" if is_one else "" if isinstance(value, type) else hint
        raise argument_error(name, _or_none(expected, or_none=or_none), value, hint)


def check_iterable(function: str, value: object, items: str, *, is_async: bool = False, otherwise: str = "") -> None:
    """Raise ``TypeError`` if the value is not an iterable of items. Also raises it for a text, a dictionary or a
    pydantic model.

    ``function`` and ``items``: names for the error message. ``is_async``: True to require an asynchronous iterable,
    False to require a synchronous one. ``otherwise``: a hint for the error message if the value is of the other kind.
    """
    if isinstance(value, AsyncIterable if is_async else Iterable) and (is_async or not _is_one_value(value)):
        return
    hint = ""
    if inspect.iscoroutine(value):
        value.close()
        hint = "await it first"
    elif inspect.isroutine(value):
        hint = "call it"
    elif isinstance(value, Iterable if is_async else AsyncIterable) and not _is_one_value(value):
        hint = otherwise
    kind = "an asynchronous iterator" if is_async else "a list or another synchronous iterable"
    raise TypeError(f"`{function}` takes {kind} of {items}, not {shown(value)}{f': {hint}' if hint else ''}.")


def _is_one_value(value: object) -> bool:
    """Return True for a text, a dictionary or a pydantic model. They are iterable, but probably passed by mistake."""
    return isinstance(value, str | bytes | bytearray | Mapping) or hasattr(type(value), "model_fields")


def _members(interface: type) -> Iterator[str]:
    for name in {**vars(interface), **inspect.get_annotations(interface)}:
        if not name.startswith("_"):
            yield name


def _or_none(expected: str, *, or_none: bool) -> str:
    return f"{expected}, or None" if or_none else expected
