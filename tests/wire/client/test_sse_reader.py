from typing import Any

import pytest

from stream_protocol.wire import ClientStreamError, parse_client_json, parse_json
from stream_protocol.wire.client import OverlongLineError, parse_sse, split_lines

BODIES: list[tuple[bytes, list[Any]]] = [
    (b"", []),
    (b'data: {"a":1}\n\n', [{"a": 1}]),
    (b'data:{"a":1}\n\n', [{"a": 1}]),
    (b'data:  {"a":1}\n\n', [{"a": 1}]),
    (b'\xef\xbb\xbfdata: {"a":1}\n\n', [{"a": 1}]),
    (b'data: {"a":1}\r\n\r\n', [{"a": 1}]),
    (b'data: {"a":1}\r\n\ndata: 2\n\r\n', [{"a": 1}, 2]),
    (b"data: 1\r\rdata: 2\r\n\r\n", [1, 2]),
    (b"data: 1\r\r", []),
    (b"data: 1\n\r", []),
    (b": ping\n\ndata: 1\n\n: pong\n\n", [1]),
    (b"event: x\nid: 7\nretry: 10\nnonsense\ndata: 1\n\n", [1]),
    (b"event: x\n\n\n\n", []),
    (b'data: {"a":\ndata: 1}\n\n', [{"a": 1}]),
    (b"data: [DONE]\n\ndata: 1\n\n", [1]),
    (b"data: 1\n\ndata: 2", [1]),
    (b"data: 1\n\ndata: 2\n", [1]),
    ('data: "é😀\u2028"\n\n'.encode(), ["é😀\u2028"]),
    (b'data: "\xff"\n\n', ["\ufffd"]),
    (b'data: "\\ud83d\\ude00\\ud83d"\n\n', ["😀\ufffd"]),
    (
        b'data: {"constructor":1,"prototype":2,"x":"__proto__"}\n\n',
        [{"constructor": 1, "prototype": 2, "x": "__proto__"}],
    ),
]


@pytest.mark.parametrize(("body", "chunks"), BODIES, ids=repr)
def test_a_body_is_read_whole_and_byte_by_byte(body: bytes, chunks: list[Any]) -> None:
    assert list(parse_sse(body)) == chunks
    assert list(parse_sse(body[place : place + 1] for place in range(len(body)))) == chunks


@pytest.mark.parametrize(
    "data",
    [
        "",
        "NaN",
        '{"v":Infinity}',
        "{",
        "{'a':1}",
        '{"__proto__":1}',
        '{"a":[{"constructor":{"prototype":{}}}]}',
        '"\t"',
    ],
)
def test_an_event_that_the_client_cannot_parse_is_its_error(data: str) -> None:
    chunks = parse_sse(f"data: 1\n\ndata: {data}\n\ndata: 2\n\n".encode())
    assert next(iter(chunks)) is not None
    with pytest.raises(ClientStreamError) as caught:
        next(chunks)
    assert (caught.value.error_class, caught.value.text) == ("AI_JSONParseError", f"JSON parsing failed: Text: {data}.")


def test_data_without_a_colon_is_an_empty_line() -> None:
    with pytest.raises(ClientStreamError):
        list(parse_sse(b"data\n\n"))


def test_a_long_event_in_tiny_pieces_is_read() -> None:
    body = b'data: "' + b"x" * 300_000 + b'"\n\n'
    (text,) = map(str, parse_sse(body[place : place + 7] for place in range(0, len(body), 7)))
    assert text == "x" * 300_000


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r'"\ud83d\ude00"', "😀"),
        (r'"\ud83d"', "\ufffd"),
        (r'"\ude00\ud83d"', "\ufffd\ufffd"),
        (r'"\\ud83d"', r"\ud83d"),
        (r'"\\\ud83d\n"', "\\\ufffd\n"),
        ('"\ud83d"', "\ufffd"),
    ],
)
def test_lone_surrogates_are_replaced_and_escaped_backslashes_are_not_misread(text: str, value: str) -> None:
    assert parse_json(text) == value


@pytest.mark.parametrize("text", [b'"\xff"', "NaN", r'["\ud83d", NaN]', "[" * 2000, ""])
def test_anything_else_is_a_value_error(text: str | bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  # the class is the contract: json and unicode errors are both of it
        parse_json(text)


def test_the_clients_parser_also_refuses_forbidden_keys() -> None:
    assert parse_json('{"__proto__":1}') == {"__proto__": 1}
    with pytest.raises(ValueError, match="forbidden"):
        parse_client_json('{"__proto__":1}')


def test_a_line_that_never_ends_is_refused_with_its_number() -> None:
    lines = split_lines([b"one\n", b"two", b"three"], max_length=6)
    assert next(lines).text == "one"
    with pytest.raises(OverlongLineError) as refused:
        next(lines)
    assert refused.value.number == 2
