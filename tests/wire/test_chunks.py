from typing import Any, assert_type, get_args, get_type_hints

import pytest

from stream_protocol.wire import AiSdkVersion, ClientStreamError
from stream_protocol.wire._chunks import Chunk, TextDeltaChunk, ToolOutputDeniedChunk, V6Chunk, V7OnlyChunk
from stream_protocol.wire.client._chunk_schema import check_chunk


def words(chunk: Chunk) -> str:
    """mypy's result for this function is the test: it runs with ``--strict``, which reports an unused ignore."""
    if chunk["type"] == "text-delta":
        assert_type(chunk, TextDeltaChunk)
        return chunk["delta"]
    if chunk["type"] == "tool-output-denied":
        assert_type(chunk, ToolOutputDeniedChunk)
        return str(chunk["errorText"])  # type: ignore[typeddict-item]  # a key of another chunk must be an error
    return chunk["type"]


def test_a_chunk_is_narrowed_by_its_type() -> None:
    assert words({"type": "text-delta", "id": "0", "delta": "a"}) == "a"
    assert words({"type": "start"}) == "start"
    with pytest.raises(KeyError):
        words({"type": "tool-output-denied", "toolCallId": "t"})


def names(union: object) -> list[str]:
    return [get_args(get_type_hints(chunk)["type"])[0] for chunk in get_args(union)]


def is_known(kind: str, ai_sdk: AiSdkVersion) -> bool:
    """True if the client knows the type: a chunk with only known keys is accepted, or is refused for its keys."""
    try:
        check_chunk({"type": kind, **KEYS}, ai_sdk=ai_sdk)
    except ClientStreamError:
        return False
    return True


KEYS: dict[str, Any] = {
    **dict.fromkeys(("id", "delta", "errorText", "sourceId", "url", "mediaType", "title", "kind"), "x"),
    **dict.fromkeys(("toolCallId", "toolName", "inputTextDelta", "approvalId"), "x"),
    **dict.fromkeys(("input", "output", "messageMetadata")),
    "approved": True,
    "parts": [],
}


def test_the_unions_hold_what_the_clients_know() -> None:
    v6, v7_only = names(V6Chunk), names(V7OnlyChunk)
    assert len(v6) == 24
    assert all(is_known(kind, 6) and is_known(kind, 7) for kind in v6)
    assert all(is_known(kind, 7) and not is_known(kind, 6) for kind in v7_only)
