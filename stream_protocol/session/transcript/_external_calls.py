"""Which of the agent's calls wait for somebody outside, read from the stored events.

Two kinds wait: long-running calls (client tools, ``adk_request_input``), which are answered under their own id, and
calls that need approval. For these ADK adds a synthetic ``adk_request_confirmation`` call: the answer goes to its id.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from stream_protocol.convert import is_user_event
from stream_protocol.convert.calls import REQUEST_CONFIRMATION, REQUEST_CREDENTIAL, CallKind, external_kind, gated_call

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from google.adk.events import Event
    from google.genai import types

HIDDEN_FROM_MODEL: Final = frozenset({REQUEST_CONFIRMATION, REQUEST_CREDENTIAL})
"""Function names. ADK hides an event from the model if it holds a call or a response of such a name, with whatever
else is in it."""


@dataclass(frozen=True, kw_only=True)
class ExternalCall:
    """A call that only somebody outside the agent can answer."""

    call_id: str
    """The ``toolCallId`` that the client knows: for an approval, that of the gated call."""
    answer_id: str
    """The id that ADK wants on the answer: for an approval, that of the synthetic call. Also the ``approvalId``."""
    answer_name: str
    """The function name that ADK wants on the answer."""
    args: dict[str, Any]
    """The arguments of the call that takes the answer."""
    kind: CallKind
    response_index: int
    """The index of the event with the model response that made the call. Calls of one response have the same."""
    answered_index: int | None = None
    """The index of the event with the first response to it; ``None`` while it is pending."""
    answer: dict[str, Any] | None = None
    """What a user answered; ``None`` while it is pending, and if the agent closed it."""

    @property
    def is_pending(self) -> bool:
        return self.answered_index is None


def external_calls(events: Sequence[Event]) -> list[ExternalCall]:
    """Every call among these events that needs, or needed, an answer from outside, in the order of the calls."""
    made_at = {call.id: index for index, event in enumerate(events) for call in event.get_function_calls()}
    answers = _first_responses(events)
    found = [
        _external_call(call, kind, index, made_at, answers)
        for index, event in enumerate(events)
        for call in event.get_function_calls()
        if (kind := external_kind(event, call)) is not None
    ]
    gated = {call.call_id for call in found if call.kind is CallKind.APPROVAL and call.is_pending}
    return [call for call in found if call.kind is CallKind.APPROVAL or call.call_id not in gated]


def _external_call(
    call: types.FunctionCall,
    kind: CallKind,
    index: int,
    made_at: Mapping[str | None, int],
    answers: Mapping[str, tuple[int, Any]],
) -> ExternalCall:
    answer_id = call.id or ""
    answered_index, answer = answers.get(answer_id, (None, None))
    call_id = answer_id
    if kind is CallKind.APPROVAL:
        call_id = gated_call(call.args or {}).get("id") or answer_id
    return ExternalCall(
        call_id=call_id,
        answer_id=answer_id,
        answer_name=call.name or "",
        args=call.args or {},
        kind=kind,
        response_index=made_at.get(call_id, index),
        answered_index=answered_index,
        answer=answer,
    )


def _first_responses(events: Sequence[Event]) -> dict[str, tuple[int, Any]]:
    """Call id -> the index of the event with its first response, and the response if a user gave it.

    ADK's placeholder for a call that waits for an approval or a credential is no response.
    """
    first: dict[str, tuple[int, Any]] = {}
    for index, event in enumerate(events):
        placeholders = {**event.actions.requested_tool_confirmations, **event.actions.requested_auth_configs}
        for response in event.get_function_responses():
            if response.id and response.id not in placeholders:
                first.setdefault(response.id, (index, response.response if is_user_event(event) else None))
    return first
