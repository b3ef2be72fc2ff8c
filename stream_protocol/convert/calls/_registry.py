"""The call registry: every tool call of a message, under the id that the client knows it by.

The client finds a call by its ``toolCallId`` alone, so that id is fixed when the call is first seen. ADK's id for the
same call can be missing, can differ from fragment to fragment (before 2.11) or between fragments and the finished call
(models that give no ids), and can come twice in one message (servers that count from zero in every response, agents in
parallel). So an id is looked up among the calls of its own speaker first, then among all. A tool's name is used only
where an id is missing: a response without an id answers the oldest unanswered call of that name, and a response with an
unknown id answers the oldest of those calls that came without one.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, MutableMapping
from typing import Any

from stream_protocol.convert.calls._tool_call import ToolCall
from stream_protocol.wire import Sink

logger = logging.getLogger(__name__)

CallsById = MutableMapping[str, ToolCall]
"""One speaker's calls, by every id that ADK has used for them."""


class CallRegistry:
    """All calls of a message, in the order in which they came."""

    def __init__(self, sink: Sink[Any], warn: Callable[[str], object] = logger.warning) -> None:
        self._sink = sink
        self._warn = warn
        self._by_id: dict[str, ToolCall] = {}
        self._unsettled: dict[str, ToolCall] = {}
        """Calls that were not settled when ``unsettled`` last looked; read them by that."""
        self._approvals: dict[str, ToolCall] = {}
        self._without_id: set[str] = set()
        """The calls for which ADK has given no id."""
        self._unnamed = 0
        self._used: dict[str, int] = {}
        """How many calls each id has been used for, where it is more than one."""

    def new(self, adk_id: str | None, known: CallsById, *, provider_executed: bool = False) -> ToolCall:
        """Adds a call under a client id of its own, here and to ``known``, the calls of its speaker."""
        call = ToolCall(self._sink, self._client_id(adk_id), provider_executed=provider_executed)
        self._unsettled[call.id] = call
        self._without_id.add(call.id)
        known[call.id] = self._by_id[call.id] = call
        self.alias(adk_id, call, known)
        return call

    def _client_id(self, adk_id: str | None) -> str:
        if adk_id and adk_id not in self._by_id:
            return adk_id
        if adk_id:
            return self._next_of(adk_id)
        call_id = self.next_id()
        self._warn(f"ADK gave a function call no id; it is {call_id}")
        return call_id

    def _next_of(self, adk_id: str) -> str:
        while True:
            self._used[adk_id] = number = self._used.get(adk_id, 1) + 1
            if (call_id := f"{adk_id}.{number}") not in self._by_id:
                return call_id

    def next_id(self) -> str:
        """The next free id of the sequence ``call_0``, ``call_1``, …"""
        while True:
            call_id = f"call_{self._unnamed}"
            self._unnamed += 1
            if call_id not in self._by_id:
                return call_id

    def alias(self, adk_id: str | None, call: ToolCall, known: CallsById) -> None:
        """Makes ``adk_id`` an id of the call: for its speaker, and for others unless an unsettled call has it."""
        if not adk_id:
            return
        self._without_id.discard(call.id)
        known[adk_id] = call
        if self._by_id.setdefault(adk_id, call).is_settled:
            self._by_id[adk_id] = call

    def get(self, adk_id: str | None) -> ToolCall | None:
        return self._by_id.get(adk_id) if adk_id else None

    def answered_by(self, adk_id: str | None, name: str, known: CallsById) -> ToolCall | None:
        """The call that a function response answers; its speaker's own come first."""
        if not adk_id:
            return _oldest(self.unsettled(), name, known)
        call = known.get(adk_id) or self._by_id.get(adk_id)
        if call is None:
            call = _oldest((call for call in self.unsettled() if call.id in self._without_id), name, known)
            if call is not None:
                self.alias(adk_id, call, known)
        return call

    def unsettled(self) -> list[ToolCall]:
        """The calls that something is still expected of in this response."""
        settled = [call_id for call_id, call in self._unsettled.items() if call.is_settled]
        for call_id in settled:
            del self._unsettled[call_id]
        return list(self._unsettled.values())

    def waiting(self) -> Iterator[ToolCall]:
        """The calls that the client shows without a result."""
        return (call for call in self.unsettled() if call.is_shown)

    def request_approval(self, approval_id: str, call: ToolCall) -> None:
        """Asks for approval of the call, which may have looked settled."""
        if call.is_settled:
            self._unsettled.pop(call.id, None)  # it is the newest again
        call.request_approval(approval_id)
        self._unsettled[call.id] = call
        self._approvals[approval_id] = call

    def approval(self, approval_id: str | None) -> ToolCall | None:
        """The call whose newest approval request has this id. An answer to an older request is ignored."""
        call = self._approvals.get(approval_id) if approval_id else None
        return call if call is not None and call.approval_id == approval_id else None


def _oldest(calls: Iterable[ToolCall], name: str, known: CallsById) -> ToolCall | None:
    """The oldest of these calls that has the name; the speaker's own come first."""
    named = (call for call in calls if call.name == name)
    oldest = next(named, None)
    if oldest is None or oldest.id in known:
        return oldest
    return next((call for call in named if call.id in known), oldest)
