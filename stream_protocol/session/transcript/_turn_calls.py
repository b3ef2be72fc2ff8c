"""The calls of a turn and their answers, read from its stored events; which of them somebody outside answers.

The converter and this module find by the same ``KnownCalls`` which call an event means. So both show it under the same
id, and this one needs no conversion of all the past to know it.

Two kinds of calls wait for somebody outside. Long-running ones (client tools, ``adk_request_input``) are answered under
their own id. For those that need approval ADK adds a call ``adk_request_confirmation``: the answer goes to its id.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from stream_protocol.adk import (
    ABORTED,
    REQUEST_CONFIRMATION,
    REQUEST_CREDENTIAL,
    Call,
    CallKind,
    KnownCalls,
    ProviderCall,
    ProviderPart,
    ProviderResult,
    Result,
    read,
)
from stream_protocol.session.transcript._metadata import shown_event

if TYPE_CHECKING:
    from collections.abc import Iterable

    from google.adk.events import Event

    from stream_protocol.adk import CallIds, EventFacts, KnownCall, SpeakerKey

HIDDEN_FROM_MODEL: Final = frozenset({REQUEST_CONFIRMATION, REQUEST_CREDENTIAL})
"""Function names. ADK hides an event from the model if it holds a call or a response of such a name, with whatever
else is in it."""


class StoredResponse(NamedTuple):
    """A response to a call: not ADK's placeholder for one that waits for an approval or a credential."""

    said: EventFacts
    """The facts of the event with the response."""
    event_index: int
    result: Result


@dataclass(slots=True, kw_only=True, eq=False)
class StoredCall:
    """A function call that an event of the turn has made; a repetition of it does not count."""

    event: Event
    index: int
    """The index of its event."""
    call: Call
    known: KnownCall
    """The call as the client knows it. For ADK's question whether a call may run: the call in question."""
    response_index: int
    """The index of the event with the model response that made the call. Calls of one response have the same."""
    responses: list[StoredResponse] = field(default_factory=list)
    """In their order; empty while it is pending."""
    has_placeholder: bool = False
    earlier_responses: int = 0
    """For an approval: how many responses the call that is to be approved had before."""

    @property
    def is_awaited(self) -> bool:
        """True if somebody outside the agent is still to answer it."""
        was_run = self.call.kind is CallKind.APPROVAL and self.known.responses > self.earlier_responses
        return self.call.kind is not None and not self.responses and not was_run

    @property
    def is_pending(self) -> bool:
        """True while it has no response."""
        return not self.responses

    @property
    def kind(self) -> CallKind | None:
        """The kind of person or page that answers it; ``None`` if one of the agent's tools does."""
        return self.call.kind

    @property
    def name(self) -> str:
        """The function name, which ADK wants on the answer, too."""
        return self.call.name

    @property
    def args(self) -> dict[str, Any]:
        """The arguments of the call that takes the answer."""
        return self.call.args

    @property
    def call_id(self) -> str:
        """The ``toolCallId`` that the client knows: for an approval, that of the gated call."""
        return self.known.id

    @property
    def reply_id(self) -> str:
        """The id that ADK wants on the answer: for an approval, that of ADK's question. It may come again in a chat."""
        return self.call.id or ""

    @property
    def tool_call_id(self) -> str:
        """The id by which the page answers it: its ``approvalId`` or ``toolCallId``."""
        return self.reply_id if self.kind is CallKind.APPROVAL else self.known.id

    @property
    def answered_index(self) -> int | None:
        """The index of the event with the first response to it; ``None`` while it is pending."""
        return self.responses[0].event_index if self.responses else None

    @property
    def answer(self) -> dict[str, Any] | None:
        """The user's answer; ``None`` while the call is pending, and if the agent closed it."""
        return self.responses[0].result.value if self.responses and self.responses[0].said.by_user else None


def external_calls(calls: Iterable[StoredCall]) -> list[StoredCall]:
    """Those of a turn's calls that need, or needed, an answer from outside, in their order."""
    external = [call for call in calls if call.kind is not None]
    gated = {call.known for call in external if call.kind is CallKind.APPROVAL and call.is_pending}
    return [call for call in external if call.kind is CallKind.APPROVAL or call.known not in gated]


def shown_facts(said: EventFacts) -> EventFacts:
    """Return the facts of an event as the client was shown it."""
    shown = shown_event(said.event)
    return said if shown is said.event else read(shown)


class CallReader:
    """Reads the events of a turn one after the other, as ``Conversion.feed`` does with complete ones.

    It gives each call that the page is shown its id from ``ids``.
    """

    def __init__(self, ids: CallIds) -> None:
        self.calls: list[StoredCall] = []
        self._index = -1
        """The index of the newest event."""
        self._known = KnownCalls(ids)
        self._by_known: dict[KnownCall, StoredCall] = {}
        self._approvals: dict[str, StoredCall] = {}
        """By the id of ADK's question."""
        self._unapproved: set[KnownCall] = set()
        """Calls of which nothing says yet that they were approved or denied."""

    @property
    def any_awaited(self) -> bool:
        """True if somebody outside the agent is still to answer one of the calls."""
        return any(call.is_awaited for call in self.calls)

    def shows_approval(self, said: EventFacts) -> bool:
        """Return True if the event, which is not read yet, is the first to show that a call was approved."""
        is_abort = said.failure is not None and said.failure.code == ABORTED  # ADK closes the calls of a stopped run
        if not self._unapproved or said.by_user or is_abort:
            return False
        speaker = None if said.in_users_name else said.speaker
        meant = (
            self._known.find_answered(
                said.event, speaker, result.id, result.name, is_placeholder=result.waits_for is not None
            )
            for result in said.results
            if result.id and result.waits_for is not CallKind.APPROVAL
        )
        return not self._unapproved.isdisjoint(meant)

    def read(self, said: EventFacts, *, is_hidden: bool = False) -> None:
        """Takes the next event, with the content that the page saw. ``is_hidden``: it saw nothing of it."""
        self._index += 1
        if said.by_user:
            self._known.begin_run()
        if said.is_fragment:
            return
        speaker = None if said.in_users_name else said.speaker
        for part in said.parts:
            match part:
                case Result():
                    self._add_result(said, speaker, part)
                case Call() if speaker is not None:
                    self._add_call(said, speaker, part, shown=not is_hidden)
                case ProviderPart(value=ProviderCall() as run) if speaker is not None and not is_hidden:
                    self._known.new(run.id, speaker, run.name)
                case ProviderPart(value=ProviderResult() as run) if speaker is not None and not is_hidden:
                    self._known.resolve_response(said.event, speaker, run.id, run.name)

    def _add_call(self, said: EventFacts, speaker: SpeakerKey, call: Call, *, shown: bool) -> None:
        known: KnownCall | None
        if call.kind is CallKind.APPROVAL:
            known = self._known.add_confirmation(speaker, call.id or "", call.args, shown=shown)
        else:
            known = self._known.add_call(said.event, speaker, call.id, call.name, call.args, shown=shown)
        if known is None:
            return
        asked_about = self._by_known.get(known)
        made = StoredCall(
            event=said.event,
            index=self._index,
            call=call,
            known=known,
            response_index=self._index if asked_about is None else asked_about.index,
            earlier_responses=known.responses,
        )
        self.calls.append(made)
        if call.kind is CallKind.APPROVAL:
            self._unapproved.add(known)
            self._approvals[call.id or ""] = made
        else:
            self._by_known[known] = made

    def _add_result(self, said: EventFacts, speaker: SpeakerKey | None, result: Result) -> None:
        waits = result.waits_for is not None
        call = self._approvals.get(result.id or "")
        if call is None:
            known, waits = self._known.resolve_response(
                said.event, speaker, result.id, result.name, is_placeholder=waits
            )
            call = self._by_known.get(known) if known is not None else None
            if known is not None and result.waits_for is not CallKind.APPROVAL:
                self._unapproved.discard(known)
        elif said.by_user:
            self._unapproved.discard(call.known)
            if (known := self._known.resolve_approval(result.id)) is not None:
                self._known.decide(known)
        if call is None:
            return
        if waits:
            call.has_placeholder = True
        else:
            call.responses.append(StoredResponse(said, self._index, result))
