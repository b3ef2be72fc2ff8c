"""Which of the agent's calls wait for somebody outside, read from the stored events.

Two kinds wait: long-running calls (client tools, ``adk_request_input``), which are answered under their own id, and
calls that need approval. For these ADK adds a synthetic ``adk_request_confirmation`` call: the answer goes to its id.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from stream_protocol.adk import REQUEST_CONFIRMATION, REQUEST_CREDENTIAL, CallKind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from google.adk.events import Event

    from stream_protocol.adk import KnownCall
    from stream_protocol.session.transcript._exchange_calls import StoredCall

HIDDEN_FROM_MODEL: Final = frozenset({REQUEST_CONFIRMATION, REQUEST_CREDENTIAL})
"""Function names. ADK hides an event from the model if it holds a call or a response of such a name, with whatever
else is in it."""


@dataclass(frozen=True, kw_only=True)
class ExternalCall:
    """A call that only somebody outside the agent can answer."""

    call_id: str
    """The ``toolCallId`` that the client knows: for an approval, that of the gated call."""
    answer_id: str
    """The id that ADK wants on the answer: for an approval, that of the synthetic call. It may come again in a chat."""
    page_id: str
    """The id by which the page answers it: its ``approvalId`` or ``toolCallId``."""
    event: Event
    """The event with the call that takes the answer."""
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


def external_calls(calls: Iterable[StoredCall]) -> list[ExternalCall]:
    """Those of an exchange's calls that need, or needed, an answer from outside, in their order."""
    made_at: dict[KnownCall, int] = {}
    found: list[tuple[StoredCall, ExternalCall]] = []
    for call in calls:
        kind = call.call.kind
        if kind is not CallKind.APPROVAL:
            made_at[call.known] = call.index
        if kind is not None:
            found.append((call, _external_call(call, kind, made_at.get(call.known, call.index))))
    gated = {call.known for call, one in found if one.kind is CallKind.APPROVAL and one.is_pending}
    return [one for call, one in found if one.kind is CallKind.APPROVAL or call.known not in gated]


def _external_call(call: StoredCall, kind: CallKind, response_index: int) -> ExternalCall:
    first = call.responses[0] if call.responses else None
    return ExternalCall(
        call_id=call.known.id,
        answer_id=call.call.id or "",
        page_id=call.page_id,
        event=call.event,
        answer_name=call.call.name,
        args=call.call.args,
        kind=kind,
        response_index=response_index,
        answered_index=first.event_index if first is not None else None,
        answer=first.result.value if first is not None and first.said.by_user else None,
    )
