"""Convert any Python value to plain JSON: ``dict`` with ``str`` keys, ``list``, ``str``, number, ``bool``, ``None``.

The result is a copy, because a tool may later change the dictionary that it has returned. Each value is converted only
once, before it becomes part of a chunk.

``orjson`` copies a value, and calls ``_Walk`` for each inner value that is not plain JSON. If ``orjson`` refuses the
value, ``_Walk`` converts the whole value.
"""

import base64
import math
import re
import sys
from collections import UserString
from collections.abc import ItemsView, Iterator, KeysView, Mapping, Sequence, Set as AbstractSet, ValuesView
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, Final
from uuid import UUID

import orjson

from stream_protocol.wire._forbidden_keys import free_key, may_hold_forbidden_key, rename_forbidden_keys

MAX_DEPTH: Final = 246
"""The maximum number of nesting levels in one value. The limit of ``orjson`` is 254. The remaining levels are for the
objects around a value, such as a message.
"""

JSON_OPTIONS: Final = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME
"""Options with which ``orjson`` calls ``_Walk`` for dataclasses and datetimes."""

_INT_RANGE: Final = range(-(2**63), 2**64)
_PATH_SHOWN: Final = 80


class UnrepresentableValueError(ValueError):
    """Raised for a value that contains itself, is nested too deeply, or has an unknown type. ``str(error)`` is one line
    with the type of the value and the path to it.
    """


def json_value(value: Any, *, lossy: bool = False) -> Any:
    """Return a copy of the value as plain JSON.

    - NaN and infinities -> ``None``; integers beyond 64 bits and ``Decimal`` -> their digits as text
    - bytes -> standard base64; date and time -> ISO 8601; ``timedelta`` -> seconds; UUID, path -> text; enum -> its
      value
    - sets -> sorted lists; any ``Mapping`` -> object; any ``Sequence`` (also a named tuple) and dict view -> list
    - dataclass -> object of its fields; pydantic model -> ``model_dump(by_alias=True)``, as ADK stores it; numpy ->
      ``tolist``
    - URLs, IP addresses, patterns and other types that ``pydantic_core`` supports -> the JSON of ``pydantic_core``
    - keys that are not texts -> their JSON as text (``True`` -> ``"true"``) or their ``str``; keys that become equal
      get numbers
    - texts -> ``to_well_formed``; keys that clients refuse, such as ``__proto__`` -> in brackets: ``[__proto__]``

    Raises ``UnrepresentableValueError`` for any other value. An iterator is also refused, because it can be read only
    once. With ``lossy``, the function never raises: a refused value becomes ``None``.
    """
    try:
        wrapped = orjson.dumps([[[[[[[[value]]]]]]]], default=_json_of_foreign_type, option=JSON_OPTIONS)
    except orjson.JSONEncodeError:
        return rename_forbidden_keys(_Walk(lossy=lossy).visit(value))
    encoded = wrapped[8:-8]
    plain = orjson.loads(encoded)
    return rename_forbidden_keys(plain) if may_hold_forbidden_key(encoded) else plain


def to_well_formed(text: str) -> str:
    """Return the text with U+FFFD in place of lone surrogates, like JavaScript's ``toWellFormed``."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def storable_text(text: str) -> str:
    """Return the text with U+FFFD in place of lone surrogates and U+0000. All session stores accept the result."""
    return to_well_formed(text).replace("\0", "\ufffd")


_CONTROLS: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\ud800-\udfff\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
"""Pattern for characters that control a terminal, change the direction of text, break a line, or are invisible. Lone
surrogates match, because they cannot be written to a file. Zero-width joiners do not match, because letters and emoji
need them.
"""


def printable(text: str) -> str:
    r"""Return the text with control characters and invisible characters as JSON escapes, such as ``\u202e``.

    If the text is a line of JSON, its value does not change.
    """
    return _CONTROLS.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[index]:02x}{units[index + 1]:02x}" for index in range(0, len(units), 2))


SHORT_JSON_LENGTH: Final = 60
"""The maximum number of characters of an id or value in an error message."""


def short_json(value: object) -> str:
    """Return the value as short JSON text for an error message, in printable ASCII."""
    text = printable(orjson.dumps(json_value(value, lossy=True)).decode()).encode("ascii", "backslashreplace").decode()
    if len(text) <= SHORT_JSON_LENGTH:
        return text
    return whole_words(text, SHORT_JSON_LENGTH) + ('..."' if text.startswith('"') else "...")


def whole_words(text: str, limit: int) -> str:
    """Return the beginning of the text: at most ``limit`` characters, up to the end of a word.

    A word that takes more than half of ``limit`` characters is cut, because some texts have no spaces.
    """
    if len(text) <= limit:
        return text
    end = max(text.rfind(space, 0, limit + 1) for space in " \n\t")
    return text[: end if end > limit // 2 else limit].rstrip()


def _json_of_foreign_type(value: Any) -> Any:
    return _Walk(lossy=False).visit(value)


class _Walk:
    """Converts a value to plain JSON. Uses only two Python frames for each nesting level, because Python's stack must
    have space for ``MAX_DEPTH`` levels.
    """

    def __init__(self, *, lossy: bool) -> None:
        self._lossy = lossy
        self._path: list[str] = []
        self._ancestors: set[int] = set()
        """The ``id()`` of each container around the current value."""

    def visit(self, value: Any) -> Any:
        try:
            shape = _shape(value)
            if isinstance(shape, Enum):
                return self.visit(shape.value)
            if isinstance(shape, dict | list | frozenset):
                return self._descend(value, shape)
            return shape
        except UnrepresentableValueError:
            if self._lossy:
                return None
            raise
        except Exception as error:  # foreign code ran: properties, iterators, serialisers
            if self._lossy:
                return None
            raise self._refusal(value, "has no JSON form") from error

    def _descend(self, value: Any, shape: dict[Any, Any] | list[Any] | frozenset[Any]) -> Any:
        if id(value) in self._ancestors:
            raise self._refusal(value, "contains itself")
        if len(self._ancestors) == MAX_DEPTH:
            raise self._refusal(value, f"stands deeper than {MAX_DEPTH} levels")
        self._ancestors.add(id(value))
        depth = len(self._path)
        try:
            plain: dict[str, Any] | list[Any] = {} if isinstance(shape, dict) else []
            for key, item in shape.items() if isinstance(shape, dict) else enumerate(shape):
                self._path.append(f"[{key!r}]" if isinstance(key, str | int) else "[?]")
                if isinstance(plain, dict):
                    plain[free_key(_key(key), plain)] = self.visit(item)
                else:
                    plain.append(self.visit(item))
                self._path.pop()
        finally:
            self._ancestors.discard(id(value))
            del self._path[depth:]
        if isinstance(shape, frozenset):
            return sorted(plain, key=_sort_key)
        return plain

    def _refusal(self, value: Any, why: str) -> UnrepresentableValueError:
        place = "$" + "".join(self._path)
        if len(place) > _PATH_SHOWN:
            place = place[:_PATH_SHOWN] + "…"
        kind = type(value)
        return UnrepresentableValueError(f"A value of type {kind.__module__}.{kind.__qualname__} at {place} {why}.")


def _key(key: Any) -> str:
    if isinstance(key, Enum):
        return _key(key.value)
    if isinstance(key, tuple):
        return to_well_formed(str(key))
    scalar = _shape(key)
    if isinstance(scalar, dict | list | frozenset):
        raise TypeError("not a key")
    return scalar if isinstance(scalar, str) else orjson.dumps(scalar).decode()


def _shape(value: Any) -> Any:
    """Convert only the value itself, and not its members. Returns a scalar, an enum member, or a ``dict``, ``list`` or
    ``frozenset``.

    Raises an exception for any other type.
    """
    match value:
        case Enum() | None | bool():
            return value
        case int():
            return int(value) if int(value) in _INT_RANGE else str(int(value))
        case float():
            return float(value) if math.isfinite(value) else None
        case str():
            return to_well_formed(str.__str__(value))
        case bytes() | bytearray() | memoryview():
            return base64.b64encode(value if isinstance(value, bytes) else bytes(value)).decode()
        case dict():
            return value
        case Mapping():
            return dict(value.items())
        case UserString() | UUID():
            return to_well_formed(str(value))
        case KeysView() | ItemsView() | ValuesView() | Sequence():
            return list(value)
        case AbstractSet():
            return frozenset(value)
        case datetime() | date() | time():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case Decimal():
            return str(value) if value.is_finite() else None
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    return _shape_of_library_type(value)


def _shape_of_library_type(value: Any) -> Any:
    """Convert a value of a library's type, such as a numpy array, as ``_shape`` does."""
    if is_instance(value, "pydantic", "BaseModel"):
        return _shape(value.model_dump(by_alias=True, warnings=False))
    if is_instance(value, "pathlib", "PurePath"):
        return to_well_formed(str(value))
    if is_instance(value, "numpy", "ndarray", "generic"):
        return _shape(value.tolist())
    if isinstance(value, Iterator):
        raise TypeError("no JSON form")
    from pydantic_core import to_jsonable_python

    return _shape(to_jsonable_python(value))  # secrets stay masked


def is_instance(value: Any, module: str, *classes: str) -> bool:
    """Return True if the value is an instance of one of the ``classes`` of ``module``.

    Does not import the module. If the module is not loaded, its classes have no instances, and the result is False.
    """
    loaded = sys.modules.get(module)
    return loaded is not None and isinstance(value, tuple(getattr(loaded, name) for name in classes))


def _sort_key(item: Any) -> tuple[int, float, str]:
    """Return a key for sorting JSON values: nulls, booleans, numbers, texts, and then arrays and objects by their JSON
    text.
    """
    match item:
        case None:
            return (0, 0, "")
        case bool():
            return (1, item, "")
        case int() | float():
            return (2, item, "")
        case str():
            return (3, 0, item)
    return (4, 0, orjson.dumps(item, option=orjson.OPT_SORT_KEYS).decode())
