"""The calls of an exchange and their answers, read from its stored events.

The converter and this module find by the same ``KnownCalls`` which call an event means. So both show it under the same
id, and this one needs no conversion of all the past to know it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from stream_protocol.adk import (
    USER,
    CallKind,
    KnownCalls,
    ProviderCall,
    external_kind,
    gated_call,
    is_placeholder,
    is_user_event,
    provider_part,
)
from stream_protocol.session.transcript._metadata import shown_event

if TYPE_CHECKING:
    from collections.abc import Sequence

    from google.adk.events import Event
    from google.genai import types

    from stream_protocol.adk import CallIds, KnownCall, ProviderResult, SpeakerKey


class StoredResponse(NamedTuple):
    """A response to a call: not ADK's placeholder for one that waits for an approval or a credential."""

    event: Event
    event_index: int
    response: types.FunctionResponse


@dataclass(slots=True, kw_only=True, eq=False)
class StoredCall:
    """A function call that an event of the exchange has made; a repetition of it is none."""

    event: Event
    index: int
    """The index of its event."""
    call: types.FunctionCall
    kind: CallKind | None
    """Who outside the agent answers it, if not one of the agent's tools."""
    known: KnownCall
    """What is shown of it in the client: for ADK's question whether a call may run, that call."""
    responses: list[StoredResponse] = field(default_factory=list)
    """In their order; empty while it is pending."""
    has_placeholder: bool = False

    @property
    def page_id(self) -> str:
        """The id by which the page answers it: for an approval, that of ADK's question."""
        return self.call.id or "" if self.kind is CallKind.APPROVAL else self.known.id


def stored_calls(stored: Sequence[Event], hidden_events: frozenset[str], ids: CallIds) -> tuple[StoredCall, ...]:
    """The calls of an exchange, in their order. Gives each that the page was shown its id from ``ids``."""
    reader = CallReader(ids)
    for event in stored:
        is_hidden = event.id in hidden_events
        reader.read(event if is_hidden else shown_event(event), is_hidden=is_hidden)
    return tuple(reader.calls)


class CallReader:
    """Reads the events of an exchange one after the other, as ``Conversion.feed`` does with complete ones.

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

    def read(self, event: Event, *, is_hidden: bool = False) -> None:
        """Takes the next event, with the content that the page saw. ``is_hidden``: it saw nothing of it."""
        self._index += 1
        if is_user_event(event):
            self._known.begin_run()
        if event.partial or event.content is None:
            return
        speaker = None if event.author == USER else (event.author, event.branch, event.node_info.path)
        for part in event.content.parts or ():
            if part.function_response is not None:
                self._add_response(event, speaker, part.function_response)
            elif speaker is None or part.text:
                continue
            elif part.function_call is not None:
                self._add_call(event, speaker, part.function_call, shown=not is_hidden)
            elif not is_hidden and (by_provider := provider_part(part)) is not None:
                self._add_provider_part(event, speaker, by_provider)

    def _add_call(self, event: Event, speaker: SpeakerKey, call: types.FunctionCall, *, shown: bool) -> None:
        kind = external_kind(event, call)
        name, args = call.name or "", call.args or {}
        if kind is CallKind.APPROVAL:
            original = gated_call(args)
            known = self._known.resolve_confirmation(speaker, original)
            if known is None:
                known = self._known.new(original.get("id"), speaker, shown=shown)
                self._known.complete(None, known, original.get("name", ""), original.get("args", {}))
        elif self._known.find_duplicate(event, speaker, call.id, name, args) is not None:
            return
        else:
            known = self._known.new(call.id, speaker, shown=shown)
            self._known.complete(event, known, name, args)
        made = StoredCall(event=event, index=self._index, call=call, kind=kind, known=known)
        self.calls.append(made)
        if kind is CallKind.APPROVAL:
            self._approvals[call.id or ""] = made
        else:
            self._by_known[known] = made

    def _add_provider_part(self, event: Event, speaker: SpeakerKey, part: ProviderCall | ProviderResult) -> None:
        if isinstance(part, ProviderCall):
            self._known.new(part.id, speaker, part.name)
        else:
            self._known.resolve_response(event, speaker, part.id, part.name)

    def _add_response(self, event: Event, speaker: SpeakerKey | None, response: types.FunctionResponse) -> None:
        waits = is_placeholder(event, response)
        call = self._approvals.get(response.id or "")
        if call is None:
            known, waits = self._known.resolve_response(
                event, speaker, response.id, response.name or "", is_placeholder=waits
            )
            call = self._by_known.get(known) if known is not None else None
        if call is None:
            return
        if waits:
            call.has_placeholder = True
        else:
            call.responses.append(StoredResponse(event, self._index, response))
