"""The call registry: every tool call of a message, under the id that the client knows it by.

The client finds a call by its ``toolCallId`` alone, so that id is fixed when the call is first seen. ADK's id for the
same call can be missing, can differ from fragment to fragment (before 2.11) or between fragments and the finished call
(models that give no ids), and can come twice in one message (servers that count from zero in every response, agents in
parallel). So an id is looked up among the calls of its own speaker first, then among all; nothing is ever looked up by
a tool's name alone except where an id is missing: a response without one answers the oldest unanswered call of that
name, and a response with one that nobody has used the oldest of those that came without.

A call's life: ``HELD`` (nothing sent: it has no name yet) -> ``STREAMING`` (announced; its input grows) -> ``OPEN``
(its input stands; an output is awaited, from the tool or from a person) -> ``ANSWERED``. A hidden call lives the same
life and sends nothing.
"""

import logging
from collections.abc import Iterable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Literal

from stream_protocol.convert.calls._streamed_arguments import GrowingText, PathText, RawText
from stream_protocol.wire import ProviderMetadata, WriteDelta

logger = logging.getLogger(__name__)


class CallState(IntEnum):
    """In the order of a call's life."""

    HELD = 0
    STREAMING = 1
    OPEN = 2
    ANSWERED = 3


Known = MutableMapping[str, "ToolCall"]
"""One speaker's calls, by every id that ADK has used for them."""

Awaiting = Literal["approval", "credential", "client"]
"""Who a call waits for, where that is not its tool: its gate, somebody's credential, the client itself."""


@dataclass(slots=True, eq=False)
class ToolCall:
    """One tool call of the message."""

    id: str
    """``toolCallId``: what the client knows it by."""
    name: str
    """Empty while ``HELD``."""
    state: CallState = CallState.HELD
    hidden: bool = False
    dynamic: bool = False
    provider_executed: bool = False
    title: str | None = None
    provider: ProviderMetadata | None = None
    """Provider metadata of the call's own chunks: who called, and the thought signature."""
    text: PathText | RawText | GrowingText | None = None
    """Its streamed arguments; ``None`` until a fragment with arguments comes."""
    more_to_come: bool = False
    """ADK's ``will_continue`` on the newest fragment."""
    write: WriteDelta | None = None
    """Writes ``tool-input-delta``; ``None`` while the call has not been announced or is hidden."""
    backlog: list[str] = field(default_factory=list)
    """Deltas of a held call, sent when it is named."""
    paths: set[str] = field(default_factory=set)
    """JSON paths seen while held: they may tell the tool."""
    fitting: Sequence[str] | None = None
    """The tools that have all these paths; ``None`` before the first one."""
    awaiting: Awaiting | None = None
    approval_id: str | None = None
    """The newest approval request that the client has seen."""
    approved: bool | None = None
    """The person's answer to the newest approval request; ``None`` before it."""
    long_running: bool = False
    """The client or a backend gives the output."""
    input: Any = None
    """The complete input as it was sent, plain JSON."""
    interim: Any = None
    """The output that stands in for one that comes in a later response; ``None`` where there is none."""
    wants_credential: bool = False
    """Whether its tool has said that it lacks a credential."""
    gated: bool = True
    """Whether a gate in front of the tool asked for approval, not the tool itself while it ran."""

    @property
    def visible(self) -> bool:
        """Whether the client has a part of it. One that ended while it was held, nobody has heard of."""
        return self.write is not None

    @property
    def pending(self) -> bool:
        """Whether somebody outside can still answer: not if a run broke off before it asked for an approval."""
        return self.awaiting is not None and (self.awaiting != "approval" or self.approval_id is not None)


class CallRegistry:
    """All calls of a message, in order of first sight."""

    def __init__(self) -> None:
        self._by_id: dict[str, ToolCall] = {}
        self._unanswered: dict[str, ToolCall] = {}
        self._approvals: dict[str, ToolCall] = {}
        self._without_id: set[str] = set()
        """The calls for which ADK has given no id."""
        self._unnamed = 0
        self._used: dict[str, int] = {}
        """How many calls each id has been used for, where it is more than one."""

    def new(self, adk_id: str | None, known: Known) -> ToolCall:
        """Enters a call under a client id of its own, and among those of its speaker."""
        call = ToolCall(id=self._client_id(adk_id), name="")
        self._unanswered[call.id] = call
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
        logger.warning("ADK gave a function call no id; it is %s", call_id)
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

    def alias(self, adk_id: str | None, call: ToolCall, known: Known) -> None:
        """Lets ``adk_id``, too, find the call: for its speaker, and for others if no older call waits under it."""
        if not adk_id:
            return
        self._without_id.discard(call.id)
        known[adk_id] = call
        holder = self._by_id.setdefault(adk_id, call)
        if holder.state is CallState.ANSWERED:
            self._by_id[adk_id] = call

    def get(self, adk_id: str | None) -> ToolCall | None:
        return self._by_id.get(adk_id) if adk_id else None

    def answered_by(self, adk_id: str | None, name: str, known: Known) -> ToolCall | None:
        """The call that a function response answers; its speaker's own come first."""
        if not adk_id:
            return _oldest(self._unanswered.values(), name, known)
        call = known.get(adk_id) or self._by_id.get(adk_id)
        if call is None:
            call = _oldest((call for call in self._unanswered.values() if call.id in self._without_id), name, known)
            if call is not None:
                self.alias(adk_id, call, known)
        return call

    def unanswered(self) -> Iterable[ToolCall]:
        return tuple(self._unanswered.values())

    def waiting(self) -> Iterator[ToolCall]:
        """The calls that the client shows without a result."""
        return (call for call in self._unanswered.values() if call.visible)

    def answer(self, call: ToolCall) -> None:
        call.state = CallState.ANSWERED
        call.awaiting = None
        self._unanswered.pop(call.id, None)

    def request_approval(self, approval_id: str, call: ToolCall) -> None:
        call.state = CallState.OPEN
        call.awaiting = "approval"
        call.approval_id = approval_id
        call.approved = None
        self._unanswered[call.id] = call
        self._approvals[approval_id] = call

    def approval(self, approval_id: str | None) -> ToolCall | None:
        """The call of which this is the newest approval request; an answer to an older one means nothing."""
        call = self._approvals.get(approval_id) if approval_id else None
        return call if call is not None and call.approval_id == approval_id else None


def _oldest(calls: Iterable[ToolCall], name: str, known: Known) -> ToolCall | None:
    """The oldest of these calls that has the name; the speaker's own come first."""
    named = (call for call in calls if call.name == name)
    oldest = next(named, None)
    if oldest is None or oldest.id in known:
        return oldest
    return next((call for call in named if call.id in known), oldest)
