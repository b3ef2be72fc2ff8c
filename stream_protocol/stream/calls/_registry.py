"""The tool calls of a message, with the states that the client shows.

``KnownCalls`` finds the call to which an event refers. ``CallRegistry`` also knows the state of each call in the
client, and finds the call to which a streamed fragment belongs.

ADK generates ids with the prefix ``adk-`` for models that send no ids. These ids can change with every event. So a
fragment with a new ``adk-`` id may continue the newest unfinished call. If the model itself sends ids, a new id always
means a new call.
"""

import logging
from collections.abc import Callable, Collection, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from stream_protocol.adk import (
    NO_NOTE,
    ApprovalNote,
    Call,
    CallIds,
    CallPiece,
    CallReference,
    KnownCall,
    KnownCalls,
    SpeakerKey,
)
from stream_protocol.stream.calls._call_states import CallState
from stream_protocol.stream.calls._tool_call import ToolCall
from stream_protocol.wire import Sink

if TYPE_CHECKING:
    from google.adk.events import Event

    from stream_protocol.stream._speakers import AuthorStream

logger = logging.getLogger(__name__)

_ADK_ID = "adk-"


class CallRegistry:
    """All tool calls of a message, in order. ``ids``: the ``toolCallId`` of each call in earlier messages."""

    __slots__ = ("_event", "_mentioned", "_sink", "_unsettled", "_warn", "known")

    def __init__(self, sink: Sink[Any], ids: CallIds, warn: Callable[[str], object] = logger.warning) -> None:
        self._sink = sink
        self._warn = warn
        self.known = KnownCalls(ids.copy())
        """Finds the call to which an event refers."""
        self._unsettled: list[ToolCall] | None = None
        """The calls without a result, in order. Calls that got a result are removed at the next reading."""
        self._event: Event | None = None
        """The newest event, if it has pieces of calls."""
        self._mentioned: tuple[ToolCall, ...] = ()
        """The calls that have a piece in ``_event`` so far."""

    def new(
        self, adk_id: str | None, speaker: SpeakerKey, name: str = "", *, provider_executed: bool = False
    ) -> ToolCall:
        """Add a call with a new ``toolCallId``. ``name``: the tool's name; empty if unknown."""
        return self._add(self.known.new(adk_id, speaker, name), provider_executed=provider_executed)

    def _add(self, known: KnownCall, *, provider_executed: bool = False) -> ToolCall:
        if not (known.has_id or provider_executed):
            self._warn(f"ADK gave a function call no id; it is {known.id}")
        known.entry = call = ToolCall(self._sink, known, provider_executed=provider_executed)
        self._unsettled = self._unsettled or []
        self._unsettled.append(call)
        return call

    def of(self, known: KnownCall) -> ToolCall:
        """Return the ``ToolCall`` for the call ``known``. Creates the ``ToolCall`` if necessary."""
        return known.entry or self._add(known)

    def of_fragment(self, event: "Event", speaker: "AuthorStream", fragment: CallPiece) -> ToolCall | None:
        """Return the call to which a streamed fragment belongs. Adds a new call if necessary.

        Returns ``None`` if the call already has its complete input.
        """
        if event is not self._event:
            self._event, self._mentioned = event, ()
        call = self.newest(fragment.id, speaker.key)
        if call is not None and call.is_open:
            return None
        if call is None or call not in speaker.streaming_calls:
            call = self._continued(speaker, fragment)
            if call is None:
                call = self.new(fragment.id, speaker.key)
                speaker.streaming_calls += (call,)
            if fragment.id:
                self.known.alias(fragment.id, call.known)
        self._mentioned += (call,)
        return call

    def _continued(self, speaker: "AuthorStream", fragment: CallPiece) -> ToolCall | None:
        """``fragment`` is a streamed part of a call with an unknown id. Return the call that it continues; ``None`` if
        it begins a new call.
        """
        if not speaker.streaming_calls or (fragment.id and not fragment.id.startswith(_ADK_ID)):
            return None
        newest = speaker.streaming_calls[-1]
        if not fragment.name:
            return newest
        return newest if newest not in self._mentioned and newest.takes(fragment) else None

    def streamed(self, speaker: "AuthorStream", complete: Call, ids: Collection[str | None]) -> ToolCall | None:
        """Return the streamed call to which a complete function call belongs; ``None`` if the call was not streamed.

        ``ids``: the ids of all complete calls in the same event.
        """
        self._event, self._mentioned = None, ()
        calls = (*speaker.streaming_calls, *speaker.unfinished_calls)
        streamed = [call for call in calls if call.state <= CallState.INPUT_STREAMING]
        if not streamed:
            return None
        same_id = self.newest(complete.id, speaker.key)
        if same_id in streamed:
            return same_id
        claimed = {self.newest(call_id, speaker.key) for call_id in ids}
        unclaimed = (call for call in streamed if call not in claimed)
        return next((call for call in unclaimed if call.name in {"", complete.name}), None)

    def newest(self, adk_id: str | None, speaker: SpeakerKey) -> ToolCall | None:
        """Return the newest call with this ADK id from the agent ``speaker``; ``None`` if there is no such call."""
        found = self.known.newest(adk_id, speaker) if adk_id else None
        return None if found is None else found.entry

    def find(self, reference: CallReference, *, event: object = None) -> ToolCall | None:
        """Return the call that ``reference`` identifies; ``None`` if there is none."""
        found = self.known.find(reference, lambda known: self.of(known).is_settled, event=event)
        return None if found is None else self.of(found)

    def unsettled(self) -> list[ToolCall]:
        """Return the calls without an output, an error or a denial, including calls that the client does not get."""
        return [*self._read_unsettled()]

    def _read_unsettled(self) -> Iterator[ToolCall]:
        calls = self._unsettled or []
        first = next((place for place, call in enumerate(calls) if not call.is_settled), len(calls))
        del calls[:first]
        self._unsettled = calls or None
        return (call for call in calls if not call.is_settled)

    def waiting(self) -> Iterator[ToolCall]:
        """Yield the calls that wait for a result, except calls that the client does not get."""
        return (call for call in self._read_unsettled() if call.is_shown)

    def raising(self, speaker: SpeakerKey) -> ToolCall | None:
        """The agent ``speaker`` has failed because a tool raised an exception. Return the call of this tool; ``None``
        if this is not certain.

        ADK's failure event does not name the call. So the result is certain only if the agent has a single unfinished
        call. Calls that wait for the client are also unfinished calls, because their tools can raise exceptions.
        """
        own = (call for call in self._read_unsettled() if call.known.speaker == speaker)
        running = [*islice((call for call in own if call.state in (CallState.RUNNING, CallState.AWAITING_CLIENT)), 2)]
        return running[0] if len(running) == 1 and running[0].state is CallState.RUNNING else None

    def request_approval(self, call: ToolCall, note: ApprovalNote = NO_NOTE) -> None:
        """Write a request to approve the call. If the call already had a result, it is unfinished again."""
        was_settled = call.is_settled
        call.request_approval(note)
        if was_settled:  # the call becomes the newest
            self._unsettled = [*(other for other in self._unsettled or () if other is not call), call]
