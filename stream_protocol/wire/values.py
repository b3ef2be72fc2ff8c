"""Any Python value -> plain JSON (placeholder: written by the wire work)."""

from typing import Any


class UnrepresentableValueError(ValueError):
    """The value has no JSON form: it is circular, too deep, or of a type that says nothing about itself."""


def json_value(value: Any, *, lossy: bool = False) -> Any:
    return value


def json_text(text: str) -> str:
    return text


def json_key(text: str) -> str:
    return text
