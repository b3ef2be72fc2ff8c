"""Whether two requests say the same, as a double click and a retry do."""

import hashlib
from collections.abc import Mapping
from typing import Any, Final

import orjson

from stream_protocol.wire import ChatRequest, UIMessage, is_tool_part

_ANSWER_KEYS: Final = ("toolCallId", "state", "output", "errorText", "approval")


def fingerprint(request: ChatRequest) -> str:
    """A digest of what the request says: equal for requests that must not be run twice.

    What counts is the last message: words together with the id that the client gave them, so that the same words said
    again are another turn; of an assistant's message the answers that it brings, which two tabs may hold in messages
    that differ otherwise.
    """
    last = request.messages[-1]
    payloads = request.body.get("approvalPayloads")
    answers = _said(last, payloads if isinstance(payloads, dict) else {})
    said = [request.trigger, request.message_id, last["id"], last["role"], answers]
    return hashlib.sha256(orjson.dumps(said, option=orjson.OPT_SORT_KEYS)).hexdigest()


def _said(message: UIMessage, payloads: Mapping[str, Any]) -> list[Any]:
    if message["role"] == "user":
        return [dict(part) for part in message["parts"]]
    return [
        [*(part.get(key) for key in _ANSWER_KEYS), payloads.get(part.get("approval", {}).get("id", ""))]
        for part in message["parts"]
        if is_tool_part(part)
    ]
