from typing import Any

import pytest

from stream_protocol.wire import AiSdkVersion
from stream_protocol.wire.client import unknown_keys


@pytest.mark.parametrize(
    ("chunk", "ai_sdk", "unknown"),
    [
        ({"type": "text-delta", "id": "1", "delta": "x"}, 6, set()),
        ({"type": "text-delta", "id": "1", "delta": "x", "more": 1}, 7, {"more"}),
        ({"type": "data-x", "data": 1, "transient": True, "more": 1}, 6, {"more"}),
        ({"type": "tool-output-error", "toolCallId": "A", "errorText": "e", "toolMetadata": {}}, 6, {"toolMetadata"}),
        ({"type": "tool-output-error", "toolCallId": "A", "errorText": "e", "toolMetadata": {}}, 7, set()),
    ],
)
def test_the_keys_that_the_oldest_clients_of_a_version_refuse(
    chunk: dict[str, Any], ai_sdk: AiSdkVersion, unknown: set[str]
) -> None:
    assert unknown_keys(chunk, ai_sdk=ai_sdk) == unknown
