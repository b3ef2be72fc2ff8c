"""A fingerprint of a request, by which a double click or a retry is known to be the same request."""

import hashlib
from collections.abc import Mapping
from typing import Any, Final

import orjson

from stream_protocol.wire import ChatRequest, UIMessage, is_tool_part

_ANSWER_KEYS: Final = ("toolCallId", "state", "output", "errorText", "approval")


def fingerprint(request: ChatRequest) -> str:
    """A SHA-256 digest as hexadecimal text; equal for requests that must not be run twice.

    It covers the last message. Of a user's message: its parts and its id, so that the same words sent again are another
    turn. Of an assistant's message: the answers in its tool parts, since two tabs may hold messages that differ in the
    rest.
    """
    last = request.messages[-1]
    payloads = request.body.get("approvalPayloads")
    content = _message_content(last, payloads if isinstance(payloads, dict) else {})
    fields = [request.trigger, request.message_id, last["id"], last["role"], content]
    return hashlib.sha256(orjson.dumps(fields, option=orjson.OPT_SORT_KEYS)).hexdigest()


def _message_content(message: UIMessage, payloads: Mapping[str, Any]) -> list[Any]:
    if message["role"] == "user":
        return [dict(part) for part in message["parts"]]
    return [
        [*(part.get(key) for key in _ANSWER_KEYS), payloads.get(part.get("approval", {}).get("id", ""))]
        for part in message["parts"]
        if is_tool_part(part)
    ]
