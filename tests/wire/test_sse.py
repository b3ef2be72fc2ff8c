import enum
import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson
import pytest

from stream_protocol.wire import SSE_HEADERS, encode_sse, json_value
from stream_protocol.wire._forbidden_keys import has_forbidden_key
from stream_protocol.wire.client import parse_sse


class Colour(enum.Enum):
    RED = "red"


@dataclass
class Point:
    _x: int = 1


def test_a_chunk_is_one_event() -> None:
    assert encode_sse({"type": "text-delta", "id": "0", "delta": "é\n"}) == (
        'data: {"type":"text-delta","id":"0","delta":"é\\n"}\n\n'.encode()
    )


@pytest.mark.parametrize(
    "data",
    [
        datetime(2024, 1, 2, 3),
        Point(),
        Colour.RED,
        uuid.UUID(int=1),
        {1: 2},
        {"a": "\ud800"},
        float("nan"),
        {"__proto__": 1},
        {"constructor": {"prototype": 1}},
        {"constructor": 1},
        {"x": '"__proto__":'},
        2**70,
        (1, {2}),
    ],
    ids=repr,
)
def test_a_hand_built_chunk_follows_the_rules_of_json_value(data: Any) -> None:
    event = encode_sse({"type": "data-x", "data": data})
    chunk = orjson.loads(event.removeprefix(b"data: "))
    assert chunk == {"type": "data-x", "data": json_value(data)}
    assert not has_forbidden_key(chunk)


def test_the_headers_cannot_be_changed() -> None:
    headers: Any = SSE_HEADERS
    with pytest.raises(TypeError):
        headers["x"] = "y"


@pytest.mark.slow
def test_what_is_encoded_is_read_back() -> None:
    chunks: list[Any] = [{"type": "start"}, {"type": "data-x", "data": "\u2028\r\n: []"}]
    assert list(parse_sse(b"".join(encode_sse(chunk) for chunk in chunks))) == chunks
