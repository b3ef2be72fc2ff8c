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

INPUT_CUT = "The model did not finish this call."


class Steps:
    """The open step of the message, and the tool calls in it."""

    def __init__(self, sink: Sink[Any], registry: CallRegistry) -> None:
        self._sink = sink
        self._registry = registry
        self._busy: dict[Speaker, None] = {}
        """Speakers that may be busy, in the order in which they began to be."""
        self.has_content = False
        """Something of this response can be seen."""
        self._open = False
        self._used = False
        """Something stands in the open step."""
        self._has_output = False
        """A tool's output stands in the open step."""
        self.calls: list[ToolCall] = []
        """Calls behind the last ``start-step``, also of an earlier response of this message."""

    def begin_content(self, speaker: Speaker, *, requests_credential: bool = False) -> None:
        """Ends the speaker's open part and makes the step right for what comes next.

        A running call holds a step back, since it may yet turn out to need approval. It does not hold back a request
        for a credential: the call that needs it must not stand behind the same ``start-step``, or the answer would
        not be sent. An input that still streams does, since the rest of it would become a second part.
        """
        speaker.close()
        if not speaker.in_response:
            self.end_unfinished_calls(speaker)
        wanted = not self._open or self._has_output or (self._used and (requests_credential or not speaker.in_response))
        if wanted and not self._any_busy() and not self._is_held_back(requests_credential=requests_credential):
            self.finish()
            self._start()
        self._busy[speaker] = None
        speaker.in_response = True
        self._used = self.has_content = True

    def end_unfinished_calls(self, speaker: Speaker) -> None:
        """Ends the calls of the speaker's earlier responses whose complete form never came."""
        for call in speaker.unfinished_calls:
            if call.state <= CallState.INPUT_STREAMING:
                if call.is_shown:
                    self.add_output(call)
                call.fail_input(INPUT_CUT)
        speaker.unfinished_calls.clear()

    def _any_busy(self) -> bool:
        while self._busy:
            speaker = next(reversed(self._busy))
            if speaker.is_busy:
                return True
            del self._busy[speaker]
        return False

    def _is_held_back(self, *, requests_credential: bool) -> bool:
        """Whether a call must stay behind the last ``start-step``."""
        return any(
            call.state is not CallState.AWAITING_CREDENTIAL
            and not (requests_credential and call.state is CallState.RUNNING)
            for call in self._registry.waiting()
        )

    def _start(self) -> None:
        self._sink.start_step()
        self._open = True
        self._used = self._has_output = False
        self.calls.clear()

    def add_call(self, call: ToolCall) -> None:
        """The call's part stands in this step."""
        if not call.provider_executed:
            self.calls.append(call)

    def add_output(self, call: ToolCall) -> None:
        """The call's result stands in this step."""
        self.has_content = True
        self._has_output = self._has_output or not call.provider_executed

    def finish(self) -> None:
        """Ends the open step, if there is one."""
        if self._open:
            self._sink.finish_step()
            self._open = False

    def finish_last(self) -> bool:
        """Ends the last step of a response. Returns whether a bare step had to be put behind it.

        The client stores a bare step only with the next change of the message: metadata must follow.
        """
        self.finish()
        if not self.calls or not all(call.is_settled for call in self.calls):
            return False
        self._start()
        self.finish()
        return True
