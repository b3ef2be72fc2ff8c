"""Finds values that are too large without converting them to JSON."""

from collections import UserDict, UserList
from dataclasses import dataclass
from enum import Enum
from typing import Any

import pytest
from pydantic import BaseModel

from stream_protocol.wire import is_too_large
from stream_protocol.wire._value_size import MAX_VALUE_ITEMS, MAX_VALUE_LENGTH

LONG = "x" * (MAX_VALUE_LENGTH + 1)


class Report(BaseModel):
    text: str


@dataclass
class Row:
    text: str


class Colour(Enum):
    RED = 1
    BLUE = 2


class Broken(UserList[Any]):
    def __iter__(self) -> Any:
        raise RuntimeError


def laughs() -> Any:
    """A few lists that are billions of members in JSON."""
    value: list[Any] = ["ha"]
    for _ in range(30):
        value = [value] * 2
    return value


@pytest.mark.parametrize(
    "value",
    [
        LONG,
        LONG.encode(),
        {"result": [LONG]},
        {LONG: 1},
        {"result": [LONG[: MAX_VALUE_LENGTH // 4]] * 5},
        [0] * (MAX_VALUE_ITEMS + 1),
        [[0] * 1000] * (MAX_VALUE_ITEMS // 1000),
        dict.fromkeys(range(MAX_VALUE_ITEMS // 2 + 1)),
        range(10**12),
        UserDict(result=LONG),
        {"result": Report(text=LONG)},
        [Row(text=LONG)],
        {LONG},
        laughs(),
    ],
    ids=lambda value: type(value).__name__,
)
def test_too_large(value: Any) -> None:
    assert is_too_large(value)


@pytest.mark.slow
def test_not_too_large() -> None:
    loop: list[Any] = []
    loop.append(loop)
    scalars = [None, 1.5, Colour.RED, Colour, object(), iter(LONG)]
    small = [LONG[:-1], [0] * (MAX_VALUE_ITEMS - 1), Broken([1]), loop, *scalars]
    assert [value for value in small if is_too_large(value)] == []
