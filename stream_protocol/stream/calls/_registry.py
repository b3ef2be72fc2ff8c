"""The call registry: every tool call of a message, with the state that the client knows it in.

ADK's id for a call can be missing, can differ from fragment to fragment (before 2.11) or between fragments and the
finished call (models that give no ids), and can come again. ``KnownCalls`` finds which call is meant.
"""

import logging
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from stream_protocol.adk import CallIds, KnownCall, KnownCalls, SpeakerKey
from stream_protocol.stream.calls._call_states import CallState
from stream_protocol.stream.calls._tool_call import ToolCall
from stream_protocol.wire import Sink

logger = logging.getLogger(__name__)


class CallRegistry:
    """All calls of a message, in the order in which they came. ``ids``: those that the calls before it have."""

    __slots__ = ("_calls", "_known", "_sink", "_unsettled", "_warn")

    def __init__(self, sink: Sink[Any], ids: CallIds, warn: Callable[[str], object] = logger.warning) -> None:
        self._sink = sink
        self._warn = warn
        self._known = KnownCalls(ids.copy())
        self._calls: dict[str, tuple[ToolCall, KnownCall]] = {}
        """By the client's ids."""
        self._unsettled: list[ToolCall] = []
        """The calls that are not settled, in their order, and some that are settled since: not the first one, when it
        is read. So each call is taken out once, however often the others are read."""

    def begin_run(self) -> None:
        """The user has said or answered something: see ``KnownCalls.begin_run``."""
        self._known.begin_run()

    def new(
        self, adk_id: str | None, speaker: SpeakerKey, name: str = "", *, provider_executed: bool = False
    ) -> ToolCall:
        """Adds a call under a client id of its own. ``name``: the tool, if that is known."""
        known = self._known.new(adk_id, speaker, name)
        if not (adk_id or provider_executed):
            self._warn(f"ADK gave a function call no id; it is {known.id}")
        call = ToolCall(self._sink, known.id, provider_executed=provider_executed)
        self._calls[known.id] = call, known
        self._unsettled.append(call)
        return call

    def alias(self, adk_id: str | None, call: ToolCall) -> None:
        """Makes ``adk_id`` an id of the call, if there is one."""
        if adk_id:
            self._known.alias(adk_id, self._calls[call.id][1])

    def complete(self, event: object, call: ToolCall, name: str, args: dict[str, Any]) -> None:
        """The event has the whole call; ``None`` for an event that only quotes it."""
        self._known.complete(event, self._calls[call.id][1], name, args)

    def is_repeated(
        self, event: object, speaker: SpeakerKey, adk_id: str | None, name: str, args: dict[str, Any]
    ) -> bool:
        """Whether a complete call repeats an earlier one: see ``KnownCalls.find_duplicate``."""
        return self._known.find_duplicate(event, speaker, adk_id, name, args) is not None

    def gated_by(self, speaker: SpeakerKey, original: dict[str, Any]) -> ToolCall | None:
        """The call that ADK asks a person to approve. ``original``: what ``gated_call`` returns."""
        return self._call(self._known.resolve_confirmation(speaker, original))

    def find(self, adk_id: str | None, name: str = "") -> ToolCall | None:
        """The call with the id: that of the tool ``name``, else the oldest that is not settled, else the newest."""
        if not adk_id:
            return None
        calls = [self._calls[known.id][0] for known in self._known.by_id(adk_id)]
        unsettled = [call for call in calls if not call.is_settled]
        return min((*unsettled, *reversed(calls)), key=lambda call: call.name != name, default=None)

    def answered_by(
        self,
        event: object,
        speaker: SpeakerKey | None,
        adk_id: str | None,
        name: str,
        *,
        is_placeholder: bool = False,
    ) -> tuple[ToolCall | None, bool]:
        """The call of a tool that a function response answers, and whether that is a placeholder.

        See ``KnownCalls.resolve_response``.
        """
        known, waits = self._known.resolve_response(event, speaker, adk_id, name, is_placeholder=is_placeholder)
        return self._call(known), waits

    def _call(self, known: KnownCall | None) -> ToolCall | None:
        return None if known is None else self._calls[known.id][0]

    def unsettled(self) -> list[ToolCall]:
        """The calls that something is still expected of in this response."""
        return [*self._read_unsettled()]

    def _read_unsettled(self) -> Iterator[ToolCall]:
        calls = self._unsettled
        first = next((place for place, call in enumerate(calls) if not call.is_settled), len(calls))
        del calls[:first]
        return (call for call in calls if not call.is_settled)

    def waiting(self) -> Iterator[ToolCall]:
        """The calls that the client shows without a result.

        Mostly the first one is enough, and this is read for each call: so no call is looked at that is not asked for.
        """
        return (call for call in self._read_unsettled() if call.is_shown)

    def raising(self, speaker: SpeakerKey) -> ToolCall | None:
        """The call whose tool raised, if the speaker reports a failure now; ``None`` if that may have been another one.

        ADK's report names no call. A client's tool may have raised, too: its call then looks as if it waits.
        """
        own = (call for call in self._read_unsettled() if self._calls[call.id][1].speaker == speaker)
        running = [*islice((call for call in own if call.state in (CallState.RUNNING, CallState.AWAITING_CLIENT)), 2)]
        return running[0] if len(running) == 1 and running[0].state is CallState.RUNNING else None

    def request_approval(self, approval_id: str, call: ToolCall) -> None:
        """Asks for approval of the call, which may have looked settled."""
        was_settled = call.is_settled
        call.request_approval(approval_id)
        if was_settled:  # it is the newest again
            self._unsettled = [*(one for one in self._unsettled if one is not call), call]
        self._known.request_approval(approval_id, self._calls[call.id][1])

    def approval(self, approval_id: str | None) -> ToolCall | None:
        """The call whose newest approval request has this id: see ``KnownCalls.resolve_approval``."""
        return self._call(self._known.resolve_approval(approval_id))

    def decide(self, call: ToolCall) -> None:
        """A person has answered whether the call may run: see ``KnownCalls.decide``."""
        self._known.decide(self._calls[call.id][1])
