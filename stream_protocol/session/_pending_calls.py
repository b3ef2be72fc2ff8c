"""Which of the agent's calls wait for somebody outside, as the stored events tell it.

Two kinds wait: long-running calls (client tools, ``adk_request_input``), answered under their own id, and calls that
need approval: ADK adds a synthetic ``adk_request_confirmation`` call, whose id takes the answer for the call it names.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from stream_protocol.convert.calls import REQUEST_CONFIRMATION, REQUEST_CREDENTIAL, REQUEST_INPUT, gated_call

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from google.adk.events import Event
    from google.genai import types


class CallKind(StrEnum):
    """Who answers a call, and how."""

    APPROVAL = "approval"
    CLIENT_TOOL = "client-tool"
    INPUT = "input"
    CREDENTIAL = "credential"


_KINDS: Final[Mapping[str, CallKind]] = MappingProxyType(
    {
        REQUEST_CONFIRMATION: CallKind.APPROVAL,
        REQUEST_INPUT: CallKind.INPUT,
        REQUEST_CREDENTIAL: CallKind.CREDENTIAL,
    }
)

KEPT_FROM_THE_MODEL: Final = frozenset({REQUEST_CONFIRMATION, REQUEST_CREDENTIAL})
"""ADK shows the model no event that holds a call or a response of these names, whatever else is in it."""


@dataclass(frozen=True, kw_only=True)
class OutsideCall:
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
    """Where among the events the model response stands that made the call: calls with the same one are siblings."""
    answered_index: int | None = None
    """Where the first response to it stands; ``None`` while it waits."""
    answer: dict[str, Any] | None = None
    """What a user answered; ``None`` while it waits, and when not a user but the agent closed it."""

    @property
    def waits(self) -> bool:
        return self.answered_index is None


def outside_calls(events: Sequence[Event]) -> list[OutsideCall]:
    """Every call among these events that needs, or needed, an answer from outside, in the order of the calls."""
    made_at = {call.id: index for index, event in enumerate(events) for call in event.get_function_calls()}
    answers = _first_responses(events)
    found = [
        _outside_call(call, index, made_at, answers)
        for index, event in enumerate(events)
        for call in event.get_function_calls()
        if call.id in (event.long_running_tool_ids or ())
    ]
    gated = {call.call_id for call in found if call.kind is CallKind.APPROVAL and call.waits}
    return [call for call in found if call.kind is CallKind.APPROVAL or call.call_id not in gated]


def _outside_call(
    call: types.FunctionCall, index: int, made_at: dict[str | None, int], answers: dict[str, tuple[int, Any]]
) -> OutsideCall:
    answer_id, name = call.id or "", call.name or ""
    answered_index, answer = answers.get(answer_id, (None, None))
    kind = _KINDS.get(name, CallKind.CLIENT_TOOL)
    call_id = answer_id
    if kind is CallKind.APPROVAL:
        call_id = gated_call(call.args or {}).get("id") or answer_id
    return OutsideCall(
        call_id=call_id,
        answer_id=answer_id,
        answer_name=name,
        args=call.args or {},
        kind=kind,
        response_index=made_at.get(call_id, index),
        answered_index=answered_index,
        answer=answer,
    )


def _first_responses(events: Sequence[Event]) -> dict[str, tuple[int, Any]]:
    """Call id -> where its first response stands, and what it says if a user gave it. Placeholders are no responses."""
    first: dict[str, tuple[int, Any]] = {}
    for index, event in enumerate(events):
        asked = {**event.actions.requested_tool_confirmations, **event.actions.requested_auth_configs}
        for response in event.get_function_responses():
            if response.id and response.id not in asked:
                first.setdefault(response.id, (index, response.response if event.author == "user" else None))
    return first
