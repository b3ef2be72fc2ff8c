"""Finds the stored response to a repeated request. Decides whether the client gets this response or the agent runs
again.

A client repeats a request if it lost the response.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import orjson

from stream_protocol.adk import is_user_event
from stream_protocol.session._request_plans import NothingToRun
from stream_protocol.session._submitted_answers import (
    SubmittedAnswer,
    answered_call,
    approval_payloads,
    calls_by_client_id,
    is_stored_answer,
    submitted_answers,
)
from stream_protocol.session.transcript import EventMetadata
from stream_protocol.wire import ChatRequestError, is_tool_part

if TYPE_CHECKING:
    from hashlib import _Hash

    from stream_protocol.session.transcript import StoredCall, Transcript, Turn
    from stream_protocol.wire import ChatRequest, UIMessage


_ANSWER_KEYS: Final = ("type", "toolName", "toolCallId", "state", "output", "errorText", "approval")

TEXT_PIECE: Final = 256 * 1024
"""The maximum number of characters that are hashed in one step. Other threads can run between two steps."""


def idempotency_key(request: ChatRequest) -> str:
    """Return a key that is equal for a request and its repetitions: a SHA-256 digest in hexadecimal.

    The key covers ``trigger``, ``messageId``, and the target message's id and role. If the target is a user message,
    the key also covers the message's parts, and the denials in the request. If it is an assistant message, the key also
    covers the answers in its tool parts, and the payloads of approvals. Other parts and messages have no effect,
    because they may differ between two tabs. Raises ``ChatRequestError`` (422) for invalid payloads.
    """
    target = request.target
    content = _user_parts(request) if target["role"] == "user" else _answers(request)
    digest = hashlib.sha256()
    _add(digest, [request.trigger, request.message_id, target["id"], target["role"], content])
    return digest.hexdigest()


def _add(digest: _Hash, value: Any) -> None:
    """Add a JSON value to the hash ``digest``. Different values give different hashes. The order of keys does not
    matter."""
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
    }  # a set, so that a large payload is hashed once even if many parts name it
    return [
        [[part.get(key) for key in _ANSWER_KEYS] for part in parts],
        {name: payload for name, payload in payloads.items() if name in approvals},
    ]


def wants_stored_response(request: ChatRequest, turn: Turn, transcript: Transcript) -> bool:
    """Return True if a repeated request gets the stored response of the turn. Return False if the agent must run again,
    because the stored response is incomplete or the client wants a new response.
    """
    if not request.says_new_words:
        return False
    goes_on = turn is not transcript.turns[-1] or len(turn.response_starts) > 1
    return goes_on or turn.ended_by_itself(turn.first_response)


def response_to_equal_message(key: str, turn: Turn) -> NothingToRun | None:
    """If a request with this idempotency key started the turn, return the turn's stored response; otherwise
    ``None``.
    """
    if EventMetadata.of(turn.stored[0]).idempotency_key != key:
        return None
    return NothingToRun(
        message_id=turn.message_id,
        past=(),
        events=turn.first_response,
        is_interrupted=all(map(is_user_event, turn.first_response)),
        repeats="words",
        call_ids=turn.call_ids,
    )


def response_with_steering(turn: Turn, *, is_superseded: bool) -> NothingToRun:
    """A steering message is a message that the user sends while the agent works. The client has sent one again, which a
    run of ``turn`` has already read. Return the stored assistant message of ``turn``.

    ``is_superseded``: True if the user has started a newer turn.
    """
    return NothingToRun(
        message_id=turn.message_id,
        past=(),
        events=turn.events,
        repeats="steering",
        is_superseded=is_superseded,
        call_ids=turn.call_ids,
    )


def response_to_superseded_answers(
    request: ChatRequest, message: UIMessage, transcript: Transcript, known_key: str | None
) -> NothingToRun | None:
    """If a client repeats answers to tool calls after a newer user message, return the stored response to them;
    otherwise ``None``.

    For example, a tab sends answers and goes offline. The user sends a message in a second tab. Then the first tab
    repeats its request.
    """
    key = known_key or idempotency_key(request)
    for turn in transcript.turns:
        is_equal = any(EventMetadata.of(event).idempotency_key == key for event in turn.stored if is_user_event(event))
        if turn is transcript.current or not is_equal:
            continue
        calls = calls_by_client_id(turn)
        matched = [(answer, answered_call(answer, calls)) for answer in submitted_answers(message, turn)]
        if matched:
            stored = response_to_equal_answers(message["id"] or turn.message_id, matched, turn)
            return replace(stored, is_superseded=True)
    return None


def response_to_equal_answers(
    target_id: str, matched: list[tuple[SubmittedAnswer, StoredCall]], turn: Turn
) -> NothingToRun:
    """Return the stored response to answers that the client has sent again. Raises ``ChatRequestError`` (409) if an
    answer differs from the stored answer.
    """
    if any(not is_stored_answer(answer, call) for answer, call in matched):
        raise ChatRequestError("That request was answered differently before.", status=409)
    awaited = [
        call.answered_index for answer, call in matched if answer.awaits_response and call.answered_index is not None
    ]
    end = len(turn.stored)
    seen = max(awaited, default=end)
    events = turn.shown(seen, end)
    return NothingToRun(
        message_id=target_id,
        past=turn.shown(0, seen),
        events=events,
        is_interrupted=bool(events) and all(map(is_user_event, events)),
        repeats="answers",
        call_ids=turn.call_ids,
    )
