from typing import Any

import pytest

from stream_protocol.adk import client_output, failure_text


@pytest.mark.parametrize(
    ("response", "text"),
    [
        ({"error": "Not found"}, "Not found"),
        ({"error": ""}, ""),
        ({"error": {"code": 3, "at": {1}}}, '{"code":3,"at":[1]}'),
        ({"error": "a\ud800"}, "a\ufffd"),
        ({"isError": True, "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "a\nb"),
        ({"is_error": True, "content": [{"type": "image"}, "junk", {"text": 3}, {"text": "a\ud800"}]}, "a\ufffd"),
        ({"isError": True, "content": []}, '{"isError":true,"content":[]}'),
        ({"isError": True, "content": "boom"}, '{"isError":true,"content":"boom"}'),
        ({"isError": True}, '{"isError":true}'),
    ],
)
def test_a_failure_and_its_text(response: Any, text: str) -> None:
    assert failure_text(response) == text


@pytest.mark.parametrize(
    "response",
    [
        *(None, {}, [], "error", {"result": "error"}),
        *({"error": None}, {"error": "no", "result": 1}, {"isError": False}, {"isError": 1}, {"is_error": "yes"}),
    ],
)
def test_everything_else_is_a_result(response: Any) -> None:
    assert failure_text(response) is None


@pytest.mark.parametrize(
    ("stored", "given"),
    [
        ({"result": "Ada"}, "Ada"),
        ({"result": {"result": 1}}, {"result": 1}),
        ({"result": None}, None),
        ({"result": 1, "at": 2}, {"result": 1, "at": 2}),
        ({"at": 2}, {"at": 2}),
        (None, None),
    ],
)
def test_what_a_client_gave_comes_out_of_the_object_that_is_stored(stored: Any, given: Any) -> None:
    assert client_output(stored) == given
