"""Steps: where the client's reading of a message begins anew.

The AI SDK's auto-send helpers look only behind the last ``step-start`` of the last message (``ai@6``
``lastAssistantMessageIsCompleteWithToolCalls``, ``…WithApprovalResponses``). Three rules follow.

* A step begins with each model response, and with whatever follows a tool's output.
* No step begins while a call of this message waits for its result: it must stay behind the last ``step-start``, or an
  answer given in the browser would never be sent.
* A response must not end behind outputs alone: the helper would send again, for ever. A bare step closes it.

A step ends only when no speaker has an open part: ``finish-step`` makes a v6 client forget all open text parts, and a
tool input that streams on behind a ``start-step`` would become a second part. Agents in parallel therefore share
steps.
"""

from typing import Any

from stream_protocol.convert._speakers import Speaker
from stream_protocol.convert.calls import CallRegistry, CallState, ToolCall
from stream_protocol.wire import Sink


class Steps:
    """The open step of the message, and what its tools did."""

    def __init__(self, sink: Sink[Any], calls: CallRegistry) -> None:
        self._sink = sink
        self._speaking: dict[Speaker, None] = {}
        """Speakers that may be busy, in the order in which they began to be."""
        self._calls = calls
        self.shown = False
        """Something of this response can be seen."""
        self._open = False
        self._used = False
        """Something stands in the open step."""
        self._has_output = False
        """A tool's output stands in the open step."""
        self.tools: list[ToolCall] = []
        """Calls behind the last ``start-step``, also of an earlier response of this message."""

    def enter(self, speaker: Speaker, *, asks: bool = False) -> None:
        """Makes the step right for content of this speaker, which has no open part. ``asks``: it asks for a credential.

        A running call holds a step back, since it may yet turn out to need approval. It does not hold back a request
        for a credential: the call that needs it must not stand behind the same ``start-step``, or the answer would
        not be sent. An input that still streams does, since the rest of it would become a second part.
        """
        wanted = not self._open or self._has_output or ((speaker.fresh or asks) and self._used)
        if wanted and not self._any_busy() and not any(_holds(call, asks=asks) for call in self._calls.waiting()):
            self.finish()
            self._start()
        self._speaking[speaker] = None
        speaker.fresh = False
        self._used = self.shown = True

    def _any_busy(self) -> bool:
        while self._speaking:
            speaker = next(reversed(self._speaking))
            if speaker.busy:
                return True
            del self._speaking[speaker]
        return False

    def _start(self) -> None:
        self._sink.start_step()
        self._open = True
        self._used = self._has_output = False
        self.tools.clear()

    def add_tool(self, call: ToolCall) -> None:
        """The call's part stands in this step."""
        if not call.provider_executed:
            self.tools.append(call)

    def add_output(self, call: ToolCall) -> None:
        """The call's result stands in this step."""
        self.shown = True
        self._has_output = self._has_output or not call.provider_executed

    def finish(self) -> None:
        if self._open:
            self._sink.finish_step()
            self._open = False

    def finish_last(self) -> bool:
        """Ends the last step of a response. Returns whether a bare step had to be put behind it.

        The client stores a bare step only with the next change of the message: metadata must follow.
        """
        self.finish()
        if not self.tools or any(call.state is not CallState.ANSWERED for call in self.tools):
            return False
        self._start()
        self.finish()
        return True


def _holds(call: ToolCall, *, asks: bool) -> bool:
    if asks and call.awaiting is None:
        return call.state is CallState.STREAMING
    return call.awaiting != "credential"
