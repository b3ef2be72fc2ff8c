"""A response that begins with earlier events which the client has not received."""

from typing import Any

import pytest

from stream_protocol.stream import Settings, sse_conversion
from stream_protocol.wire.client import parse_sse
from tests.stream.building import call, event, response, results, text, user

PAST = [
    user(text("hi")),
    event(text("One. "), call("look", {}, "c1")),
    results(response("look", {"n": 1}, "c1")),
    event(call("look", {}, "c2")),
    results(response("look", {"n": 2}, "c2")),
    event(text("Two.")),
    user(text("again")),
    event(text("Three.")),
]


def begun(seen: int | None, **options: Any) -> list[Any]:
    conversion = sse_conversion(PAST, "m1", Settings(**options), seen=seen)
    assert conversion.take() == []
    conversion.finish()
    return [*parse_sse(conversion.take())]


def shown(chunks: list[Any]) -> list[str]:
    return [chunk.get("toolCallId") or chunk["delta"] for chunk in chunks if "toolCallId" in chunk or "delta" in chunk]


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        (None, []),
        (8, []),
        (7, ["Three."]),
        (6, ["Three."]),
        (5, ["Two.", "Three."]),
        (3, ["c2", "c2", "c2", "Two.", "Three."]),
        (2, ["c1", "c2", "c2", "c2", "Two.", "Three."]),
    ],
)
def test_the_response_begins_with_the_events_that_the_client_lacks(seen: int | None, expected: list[str]) -> None:
    chunks = begun(seen)
    assert chunks[0] == {"type": "start", "messageId": "m1"}
    assert chunks[-1]["type"] == "finish"
    assert shown(chunks) == expected


def test_the_hook_gets_only_the_chunks_that_are_sent() -> None:
    given: list[Any] = []

    def transform(chunk: Any) -> Any:
        given.append(chunk)
        return chunk

    chunks = begun(5, transform=transform)
    assert sorted(map(str, given)) == sorted(map(str, chunks))
