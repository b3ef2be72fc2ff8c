"""Reads the calls of a turn and their answers from stored events.

The client answers calls of client tools and of ``adk_request_input``, and calls that need approval. If a call needs
approval, ADK adds a call of ``adk_request_confirmation``. The id of the added call is the approval id.

This module and the converter both use ``KnownCalls``, so a call gets the same ``toolCallId`` in both.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from stream_protocol.adk import (
    REQUEST_CONFIRMATION,
    REQUEST_CREDENTIAL,
    Call,
    CallKind,
    CallReference,
    KnownCalls,
    ProviderCall,
    ProviderPart,
    ProviderResult,
    Result,
    is_confirmed,
    read,
)
from stream_protocol.session.transcript._metadata import EventMetadata, shown_event

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from google.adk.events import Event

    from stream_protocol.adk import CallIds, EventFacts, KnownCall

HIDDEN_FROM_MODEL: Final = frozenset({REQUEST_CONFIRMATION, REQUEST_CREDENTIAL})
"""Names of ADK's functions for approvals and credentials. ADK hides an event with such a call or response from the
model."""


class StoredResponse(NamedTuple):
    """A function response to a tool call. ADK's placeholders for an approval or a credential are not included."""

    facts: EventFacts
    event_index: int
    result: Result


class UserDecision(NamedTuple):
    approval_id: str | None
    approved: bool
    reason: str | None


@dataclass(slots=True, kw_only=True, eq=False)
class StoredCall:
    """A function call of a turn. If several events repeat a call, there is only one ``StoredCall``."""

    event: Event
    index: int
    """The index of the event with the call."""
    call: Call
    known: KnownCall
    """The entry in ``KnownCalls``, with the client id. For ``adk_request_confirmation``: the entry of the call that
    needs approval."""
    response_index: int
    """The index of the event with the model response that made the call. Calls of one model response have the same
    index."""
    responses: list[StoredResponse] = field(default_factory=list)
    """The responses in order."""
    has_placeholder: bool = False
    is_delegated: bool = False
    """True if a task-mode agent works on the call. The result may come in a later message."""

    @property
    def is_awaited(self) -> bool:
        """True if the client must still answer the call. False if the tool has already run without an answer."""
        return self.kind is not None and self.is_pending and self.known.is_open

    @property
    def is_pending(self) -> bool:
        """True if the call has no response. False for an approval request that a newer request has replaced."""
        return not self.responses and (self.kind is not CallKind.APPROVAL or self.known.approval_id == self.reply_id)

    @property
    def lacks_result(self) -> bool:
        """True if this is a call of the agent's own tools and has no response. False if the result may come in a later
        turn.
        """
        return not (self.kind is not None or self.has_placeholder or self.is_delegated or self.responses)

    @property
    def kind(self) -> CallKind | None:
        """The kind of answer that the client must give; ``None`` for a call of the agent's own tools."""
        return self.call.kind

    @property
    def name(self) -> str:
        return self.call.name

    @property
    def args(self) -> dict[str, Any]:
        """The call's arguments. For an approval request, the arguments of ``adk_request_confirmation``."""
        return self.call.args

    @property
    def reply_id(self) -> str:
        """The call id that a response to ADK must have. For an approval request, this is the id of the call of
        ``adk_request_confirmation``. It is not always unique in the chat.
        """
        return self.call.id or ""

    @property
    def tool_call_id(self) -> str:
        """The id in the client's answer: ``approvalId`` for an approval request, otherwise ``toolCallId``."""
        return self.reply_id if self.kind is CallKind.APPROVAL else self.known.id

    @property
    def answered_index(self) -> int | None:
        """The index of the event with the call's first response; ``None`` without a response."""
        return self.responses[0].event_index if self.responses else None

    @property
    def answer(self) -> dict[str, Any] | None:
        """The user's answer to the call; ``None`` if the first response does not come from the user."""
        return self.responses[0].result.value if self.responses and self.responses[0].facts.by_user else None


def external_calls(calls: Iterable[StoredCall]) -> list[StoredCall]:
    """Return the tool calls that the client can answer or has answered, in order."""
    external = [call for call in calls if call.kind is not None]
    confirmed_calls = {call.known for call in external if call.kind is CallKind.APPROVAL and call.is_pending}
    return [call for call in external if call.kind is CallKind.APPROVAL or call.known not in confirmed_calls]


def shown_facts(facts: EventFacts) -> EventFacts:
    shown = shown_event(facts.event)
    return facts if shown is facts.event else read(shown)


def user_decisions(response: Iterable[EventFacts]) -> Iterator[UserDecision]:
    """Yield the approvals and denials in the user's events at the beginning of a response."""
    for facts in takewhile(lambda facts: facts.by_user, response):
        reasons = EventMetadata.of(facts.event).reasons
        for result in facts.results:
            if (approved := is_confirmed(result.value)) is not None:
                yield UserDecision(result.id, approved, reasons.get(result.id or ""))


class CallReader:
    """Reads the tool calls of a turn from complete events, in order. A call gets the same ``toolCallId`` as in the
    converter."""

    def __init__(self, ids: CallIds) -> None:
        self.calls: list[StoredCall] = []
        self._index = -1
        self.known = KnownCalls(ids)
        self._approvals: dict[str, StoredCall] = {}
        """Id of ``adk_request_confirmation`` -> the approval request."""

    @property
    def any_awaited(self) -> bool:
        return any(call.is_awaited for call in self.calls)

    def read(self, facts: EventFacts, *, is_hidden: bool = False) -> None:
        """Read the next event, with the content that the client received. ``is_hidden``: True if the client did not
        receive the event."""
        self._index += 1
        self.known.read_event(facts)
        if facts.scope is not None and (worked_on := self.find(CallReference(facts.scope, facts.speaker[0]))):
            worked_on.is_delegated = worked_on.is_delegated or worked_on.name == facts.speaker[0]
        if facts.is_fragment:
            return
        speaker = None if facts.in_users_name else facts.speaker
        for part in facts.parts:
            match part:
                case Result():
                    self._add_result(facts, part)
                case Call() if speaker is not None:
                    self._add_call(facts, part, shown=not is_hidden)
                case ProviderPart(value=ProviderCall() as run) if speaker is not None and not is_hidden:
                    self.known.new(run.id, speaker, run.name)
                case ProviderPart(value=ProviderResult() as run) if speaker is not None and not is_hidden:
                    self.known.resolve_response(facts.event, speaker, CallReference(run.id, run.name))

    def _add_call(self, facts: EventFacts, call: Call, *, shown: bool) -> None:
        known = self.known.read_call(facts, call, shown=shown)
        if known is None:
            return
        asked_about: StoredCall | None = known.entry
        made = StoredCall(
            event=facts.event,
            index=self._index,
            call=call,
            known=known,
            response_index=self._index if asked_about is None else asked_about.index,
        )
        self.calls.append(made)
        if call.kind is CallKind.APPROVAL:
            self._approvals[call.id or ""] = made
        else:
            known.entry = made

    def _add_result(self, facts: EventFacts, result: Result) -> None:
        known, waits, is_approval = self.known.read_result(facts, result)
        if is_approval:
            call: StoredCall | None = self._approvals[result.id or ""]
        else:
            call = known.entry if known is not None else None
        if call is None:
            return
        if waits:
            call.has_placeholder = True
        else:
            call.responses.append(StoredResponse(facts, self._index, result))

    def find(self, reference: CallReference) -> StoredCall | None:
        """Return the call that ``reference`` identifies; ``None`` if there is none."""
        known = self.known.find(reference)
        call: StoredCall | None = None if known is None else known.entry
        return call
