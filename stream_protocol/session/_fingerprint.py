"""A fingerprint of a request, by which a double click or a retry is known to be the same request."""

import hashlib
from typing import Any, Final

import orjson

from stream_protocol.session._submitted_answers import approval_payloads
from stream_protocol.wire import ChatRequest, is_tool_part

_ANSWER_KEYS: Final = ("type", "toolName", "toolCallId", "state", "output", "errorText", "approval")


def fingerprint(request: ChatRequest) -> str:
    """A SHA-256 digest as hexadecimal text; equal for requests that must not be run twice.

    It covers what ``plan`` reads: ``ChatRequest.target``. Of a user's message: its parts and its id, so that the same
    words sent again are another turn, and the denials that came with them. The rest of the history is left out: a
    message with this id took back what it does when it came first. Of an assistant's message: the answers in its tool
    parts and their payloads, since two tabs may hold messages that differ in the rest. Raises ``ChatRequestError``
    (422) for invalid payloads.
    """
    target = request.target
    content = _user_parts(request) if target["role"] == "user" else _answers(request)
    fields = [request.trigger, request.message_id, target["id"], target["role"], content]
    return hashlib.sha256(orjson.dumps(fields, option=orjson.OPT_SORT_KEYS)).hexdigest()


def _user_parts(request: ChatRequest) -> list[Any]:
    before = request.message_before_words
    denials = [
        [approval["id"], approval.get("reason")]
        for part in (before["parts"] if before is not None else ())
        if is_tool_part(part) and part["state"] == "approval-responded"
        if (approval := part.get("approval")) is not None and approval.get("approved") is False
    ]
    return [*map(dict, request.target["parts"]), *denials]


def _answers(request: ChatRequest) -> list[Any]:
    payloads = approval_payloads(request)
    return [
        [*(part.get(key) for key in _ANSWER_KEYS), payloads.get(part.get("approval", {}).get("id", ""))]
        for part in request.target["parts"]
        if is_tool_part(part)
    ]
