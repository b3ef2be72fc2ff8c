"""Values that none of our writers sends, but anybody may: the client in Python accepts or refuses them, and never
fails.
"""

import math
from contextlib import suppress
from typing import Any, get_args, get_type_hints

from hypothesis import given, strategies as st

from stream_protocol.wire import (
    AiSdkVersion,
    ChatRequestError,
    Chunk,
    ClientStreamError,
    SseSink,
    encode_sse,
    parse_chat_request,
    parse_json,
    short_json,
)
from stream_protocol.wire.client import (
    MessageReducer,
    auto_send_helper,
    close_stream,
    message_to_chunks,
    parse_sse,
    refusal,
)
from stream_protocol.wire.client._partial_json import parse_partial_json

INFINITE = math.inf
VERSIONS: st.SearchStrategy[AiSdkVersion] = st.sampled_from(get_args(AiSdkVersion))
CHUNK_KEYS = [
    ("data-x", ["data", "id"]),
    ("text-end", ["id", "citations"]),
    *((get_args(hints["type"])[0], [*hints]) for hints in map(get_type_hints, get_args(Chunk))),
]
CITED = {"type": "source", "sourceType": "url", "id": "s", "url": "u"}


def nested(levels: int, leaf: Any, *, objects: bool) -> Any:
    for _ in range(levels):
        leaf = {"in": leaf} if objects else [leaf]
    return leaf


EDGES = [INFINITE, -INFINITE, math.nan, -0.0, 1e308, 2**53, 2**64, 10**400, -(10**400), "\ud800", "a\udc00", "\x00"]
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(EDGES)
KEYS = st.text(max_size=4) | st.sampled_from(["\ud800", "__proto__", "constructor", "prototype"])
DEEP = st.builds(nested, st.integers(200, 1500), SCALARS, objects=st.booleans())
VALUES = st.recursive(
    SCALARS | DEEP, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=5
)
PIECES = [
    "1e400",
    "-1e400",
    "NaN",
    "9" * 500,
    "[" * 1100,
    "]" * 900,
    '{"a":' * 1100,
    "}" * 900,
    '"',
    "\\ud800",
    "\ud800",
]
TEXTS = st.lists(st.sampled_from([*PIECES, "[", "]", "{", "}", ",", ":", "0", "tru"]), max_size=6).map("".join)


@st.composite
def chunks(draw: st.DrawFn) -> Any:
    """A chunk of any kind, with a hostile value in one place."""
    kind, keys = draw(st.sampled_from(CHUNK_KEYS))
    plain = {key: draw(st.sampled_from(["0", "0", True, {}, {"p": {}}, "json"])) for key in keys}
    place = draw(st.sampled_from([*keys, "surplus", "type"]))
    value = draw(VALUES)
    if place == "citations":
        value = [{"source": CITED, draw(st.sampled_from(["startIndex", "endIndex", "citedText"])): value}]
    return {**plain, "type": kind, place: value}


@given(chunks(), VERSIONS)
def test_a_chunk_with_any_value_is_taken_or_refused(chunk: Any, ai_sdk: AiSdkVersion) -> None:
    reducer = MessageReducer(ai_sdk=ai_sdk)
    beginning: list[Any] = [
        {"type": "start", "messageMetadata": nested(1500, 1, objects=True)},
        {"type": "text-start", "id": "0"},
        {"type": "tool-input-start", "toolCallId": "0", "toolName": "w"},
    ]
    for first in beginning:
        reducer.apply(first)
    with suppress(ClientStreamError):
        reducer.apply(chunk)
        assert refusal(chunk, ai_sdk=ai_sdk) is None
        close_stream(SseSink(), [chunk], past=beginning, unanswered="lost")
    auto_send_helper(reducer.message["parts"])
    message_to_chunks(reducer.message, ai_sdk=ai_sdk)
    short_json(chunk)
    list(parse_sse(encode_sse(chunk)))


@given(TEXTS, VERSIONS)
def test_any_text_is_parsed_or_refused(text: str, ai_sdk: AiSdkVersion) -> None:
    for parse in (parse_json, lambda part: parse_partial_json(part, ai_sdk=ai_sdk)):
        with suppress(ValueError):
            parse(text)
    with suppress(ChatRequestError):
        parse_chat_request(text)
    with suppress(ClientStreamError):
        list(parse_sse(b"data: " + text.encode("utf-8", "surrogatepass") + b"\n\n"))
    reducer = MessageReducer(ai_sdk=ai_sdk)
    reducer.apply({"type": "tool-input-start", "toolCallId": "0", "toolName": "w"})
    reducer.apply({"type": "tool-input-delta", "toolCallId": "0", "inputTextDelta": text})
    message_to_chunks(reducer.message, ai_sdk=ai_sdk)


@given(VALUES)
def test_a_request_with_any_value_is_taken_or_refused(value: Any) -> None:
    part = {"type": "tool-w", "toolCallId": "0", "state": "output-available", "input": value, "output": value}
    message = {"id": "u1", "role": "user", "parts": [part]}
    for body in (
        {"id": "c", "messages": [message]},
        {"id": value, "messages": [message]},
        {"id": "c", "messages": value},
    ):
        with suppress(ChatRequestError):
            parse_chat_request(body)
