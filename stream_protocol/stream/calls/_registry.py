"""Every tool call of a message, with the state that the client knows it in.

``KnownCalls`` tells which call an event means. Here stands what the client was shown of each.
"""

import logging
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from stream_protocol.adk import NO_NOTE, ApprovalNote, CallIds, KnownCall, KnownCalls, SpeakerKey
from stream_protocol.stream.calls._call_states import CallState
from stream_protocol.stream.calls._tool_call import ToolCall
from stream_protocol.wire import Sink

logger = logging.getLogger(__name__)


class CallRegistry:
    """All calls of a message, in the order in which they came. ``ids``: those that the calls before it have."""

    __slots__ = ("_calls", "_sink", "_unsettled", "_warn", "known")

    def __init__(self, sink: Sink[Any], ids: CallIds, warn: Callable[[str], object] = logger.warning) -> None:
        self._sink = sink
        self._warn = warn
        self.known = KnownCalls(ids.copy())
        """Tells which call is meant: see ``shown``."""
        self._calls: dict[str, ToolCall] = {}
        """By the client's ids."""
        self._unsettled: list[ToolCall] = []
        """The calls that are not settled, in their order, and some that are settled since: not the first one, when it
        is read. So each call is taken out once, however often the others are read."""

    def new(
        self, adk_id: str | None, speaker: SpeakerKey, name: str = "", *, provider_executed: bool = False
    ) -> ToolCall:
        """Adds a call under a client id of its own. ``name``: the tool, if that is known."""
        known = self.known.new(adk_id, speaker, name)
        if not (adk_id or provider_executed):
            self._warn(f"ADK gave a function call no id; it is {known.id}")
        call = self._calls[known.id] = ToolCall(self._sink, known, provider_executed=provider_executed)
        self._unsettled.append(call)
        return call

    def shown(self, known: KnownCall | None) -> ToolCall | None:
        """Return the call as the client was shown it."""
        return None if known is None else self._calls[known.id]

    def find(self, adk_id: str | None, name: str = "") -> ToolCall | None:
        """The call with the id: that of the tool ``name``, else the oldest that is not settled, else the newest."""
        calls = [self._calls[known.id] for known in self.known.by_id(adk_id or "")]
        unsettled = [call for call in calls if not call.is_settled]
        return min((*unsettled, *reversed(calls)), key=lambda call: call.name != name, default=None)

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
        own = (call for call in self._read_unsettled() if call.known.speaker == speaker)
        running = [*islice((call for call in own if call.state in (CallState.RUNNING, CallState.AWAITING_CLIENT)), 2)]
        return running[0] if len(running) == 1 and running[0].state is CallState.RUNNING else None

    def request_approval(self, approval_id: str, call: ToolCall, note: ApprovalNote = NO_NOTE) -> None:
        """Asks for approval of the call, which may have looked settled."""
        was_settled = call.is_settled
        call.request_approval(approval_id, note)
        if was_settled:  # it is the newest again
            self._unsettled = [*(one for one in self._unsettled if one is not call), call]
        self.known.request_approval(approval_id, call.known)
