"""What the arguments of a schema's keywords must be: a keyword with another argument is not run."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from typing import Any, Final


def is_number(value: Any) -> bool:
    """Whether it is a number of JSON's."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_integer(value: Any) -> bool:
    """Whether it is a number without a fraction, as 1.0 is."""
    return is_number(value) and (isinstance(value, int) or value.is_integer())


TYPES: Final[dict[str, Callable[[Any], bool]]] = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "integer": is_integer,
    "number": is_number,
    "string": lambda value: isinstance(value, str),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}
"""Name of a type -> whether a value is of it."""


def is_anything(_argument: Any) -> bool:
    """True."""
    return True


def is_divisor(argument: Any) -> bool:
    """Whether it is a number above zero."""
    return is_number(argument) and isfinite(argument) and argument > 0


def is_count(argument: Any) -> bool:
    """Whether it is an integer from zero on."""
    return is_integer(argument) and argument >= 0


def is_flag(argument: Any) -> bool:
    """Whether it is true or false."""
    return isinstance(argument, bool)


def is_text(argument: Any) -> bool:
    """Whether it is a text."""
    return isinstance(argument, str)


def is_list(argument: Any) -> bool:
    """Whether it is an array."""
    return isinstance(argument, list)


def is_map(argument: Any) -> bool:
    """Whether it is an object."""
    return isinstance(argument, dict)


def are_types(argument: Any) -> bool:
    """Whether it is the name of a type, or an array of such."""
    names = argument if isinstance(argument, list) else [argument]
    return all(isinstance(name, str) and name in TYPES for name in names)


def are_names(argument: Any) -> bool:
    """Whether it is an array of texts."""
    return isinstance(argument, list) and all(isinstance(name, str) for name in argument)


def are_maps_of_names(argument: Any) -> bool:
    """Whether it is an object of arrays of texts."""
    return isinstance(argument, dict) and all(map(are_names, argument.values()))
