"""Computes the idempotency key of a request, to recognise a double click or a retry."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final

import orjson

from stream_protocol.session._submitted_answers import approval_payloads
from stream_protocol.wire import is_tool_part

if TYPE_CHECKING:
    from hashlib import _Hash

    from stream_protocol.wire import ChatRequest

_ANSWER_KEYS: Final = ("type", "toolName", "toolCallId", "state", "output", "errorText", "approval")

TEXT_PIECE: Final = 256 * 1024
"""The most characters that are hashed at once, so that other threads can run in between."""


def idempotency_key(request: ChatRequest) -> str:
    """Return a SHA-256 digest in hexadecimal. It is equal for requests that must run only once.

    The digest covers the parts of ``ChatRequest.target`` that ``plan`` reads. For a user message, these are its parts,
    its id, and the denials that came with it. Because of the id, the same text in a new message starts a new turn.
    Earlier messages do not count, because the first request with this id has already rewound the chat. For an assistant
    message, the digest covers the user's answers in its tool parts, and the payloads of these answers. The digest
    ignores other parts, because they may differ between two tabs. Raises ``ChatRequestError`` (422) for invalid
    payloads.
    """
    target = request.target
    content = _user_parts(request) if target["role"] == "user" else _answers(request)
    digest = hashlib.sha256()
    _add(digest, [request.trigger, request.message_id, target["id"], target["role"], content])
    return digest.hexdigest()


def _add(digest: _Hash, value: Any) -> None:
    """Hash a JSON value. Different values give different bytes; the order of keys does not matter."""
    match value:
        case str():
            digest.update(b'"%d:' % len(value))
            for start in range(0, len(value), TEXT_PIECE):
                digest.update(value[start : start + TEXT_PIECE].encode(errors="surrogatepass"))
        case list():
            digest.update(b"[%d:" % len(value))
            for item in value:
                _add(digest, item)
        case dict():
            digest.update(b"{%d:" % len(value))
            for key in sorted(value):
                _add(digest, key)
                _add(digest, value[key])
        case _:
            digest.update(orjson.dumps(value) + b",")


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
    parts = [part for part in request.target["parts"] if is_tool_part(part)]
    approvals = {
        part.get("approval", {}).get("id", "") for part in parts
    }  # a set, because many parts may share one large payload
    return [
        [[part.get(key) for key in _ANSWER_KEYS] for part in parts],
        {name: payload for name, payload in payloads.items() if name in approvals},
    ]
