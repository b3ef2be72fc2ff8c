"""Whatever a tool returned -> plain JSON: ``dict`` with ``str`` keys, ``list``, ``str``, a number, ``bool``, ``None``.

A value is made JSON once, before a chunk holds it; from then on nothing about it can fail, neither our encoder nor the
client's parser. The result is a copy: a tool may change its own dictionary later.

Nearly all values are plain JSON already. ``orjson`` writes and reads those at C speed and hands every other type to the
walk below; where it refuses altogether (a key that is not a string, a lone surrogate, an integer beyond 64 bits, too
deep) the walk takes the whole value. Its options keep it from types whose text would differ from the walk's.
"""

import base64
import math
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
"""Levels of arrays and objects in one value. orjson stops at 254; 8 are left for what we put around a value: an output
in a part in ``parts`` in a message in ``messages`` in a body is 6 levels down."""

JSON_OPTIONS: Final = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME
"""What orjson must leave to the walk: it would skip dataclass fields that begin with ``_``, and reformat datetimes."""

_INT_RANGE: Final = range(-(2**63), 2**64)
_PATH_SHOWN: Final = 80


class UnrepresentableValueError(ValueError):
    """The value has no JSON form: it is circular, too deep, or of a type that says nothing about itself.

    ``str(error)`` is one line with the type and the place of the offending piece.
    """


def json_value(value: Any, *, lossy: bool = False) -> Any:
    """Returns the value as plain JSON that shares nothing with it.

    - not a number and infinities -> ``None``; integers beyond 64 bits and ``Decimal`` -> their digits as text
    - bytes -> standard base64; date and time -> ISO 8601; ``timedelta`` -> seconds; UUID, path -> text; enum -> its
      value
    - sets -> sorted lists; any ``Mapping`` -> object; any ``Sequence`` (a named tuple, too) and dict view -> list
    - dataclass -> object of its fields; pydantic model -> ``model_dump(by_alias=True)``, as ADK stores it; numpy ->
      ``tolist``
    - keys -> what JSON makes of them (``True`` -> ``"true"``), others by ``str``; keys that become one are numbered
    - halves of a surrogate pair -> joined, or U+FFFD if alone; ``__proto__`` keys -> see ``forbidden_keys``

    Iterators and generators are refused: reading one would use it up. Raises ``UnrepresentableValueError``; with
    ``lossy`` it never raises, and the unrepresentable piece is ``None``.
    """
    try:
        wrapped = orjson.dumps([[[[[[[[value]]]]]]]], default=_plain, option=JSON_OPTIONS)
    except orjson.JSONEncodeError:
        return rename_forbidden_keys(_Walk(lossy=lossy).visit(value))
    encoded = wrapped[8:-8]
    plain = orjson.loads(encoded)
    return rename_forbidden_keys(plain) if may_hold_forbidden_key(encoded) else plain


def to_well_formed(text: str) -> str:
    """The text with surrogate pairs joined and lone surrogates replaced by U+FFFD: UTF-8 has no bytes for them."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _plain(value: Any) -> Any:
    return _Walk(lossy=False).visit(value)


class _Walk:
    """One value on its way to JSON. Two Python frames a level, so that ``MAX_DEPTH`` levels fit a default stack."""

    def __init__(self, *, lossy: bool) -> None:
        self._lossy = lossy
        self._path: list[str] = []
        self._open: set[int] = set()

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
        if id(value) in self._open:
            raise self._refusal(value, "contains itself")
        if len(self._open) == MAX_DEPTH:
            raise self._refusal(value, f"stands deeper than {MAX_DEPTH} levels")
        self._open.add(id(value))
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
            self._open.discard(id(value))
            del self._path[depth:]
        if isinstance(shape, frozenset):
            return sorted(plain, key=_order)
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
    """A plain scalar; or a ``dict``, ``list`` or ``frozenset`` of raw members; or an enum member. Else it raises."""
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
    return _foreign(value)


def _foreign(value: Any) -> Any:
    """The shape of what other modules made. Looked up, not imported: no such value exists before its module does."""
    if _made_by(value, "pydantic", "BaseModel"):
        return _shape(value.model_dump(by_alias=True, warnings=False))
    if _made_by(value, "pathlib", "PurePath"):
        return to_well_formed(str(value))
    if _made_by(value, "numpy", "ndarray", "generic"):
        return _shape(value.tolist())
    if "pydantic_core" in sys.modules and not isinstance(value, Iterator):
        # URLs, IP addresses, patterns; and secrets, which stay masked
        return _shape(sys.modules["pydantic_core"].to_jsonable_python(value))
    raise TypeError("no JSON form")


def _made_by(value: Any, module: str, *classes: str) -> bool:
    loaded = sys.modules.get(module)
    return loaded is not None and isinstance(value, tuple(getattr(loaded, name) for name in classes))


def _order(item: Any) -> tuple[int, float, str]:
    """Sorts plain JSON of any mix: nulls, booleans, numbers, texts, then arrays and objects by their JSON."""
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
