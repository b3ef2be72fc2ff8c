"""Begin and end the steps of a message. This module decides when the client's auto-send helpers send.

A ``start-step`` chunk adds a ``step-start`` part to the message. The AI SDK's auto-send helpers check only the parts
after the last ``step-start`` of the last message (``ai@6`` ``lastAssistantMessageIsCompleteWithToolCalls``,
``…WithApprovalResponses``). These rules follow.

* A step begins with each model response, and with the content after a tool's output.
* No step begins while a call of this message waits for its result. The call must stay after the last ``step-start``.
  Otherwise the client would never send an answer that the user gives in the browser.
* A response must not end in a step whose calls all have outputs. Otherwise the helper would send requests in an endless
  loop. So an empty step follows. The predicate of Vercel's chatbot template ignores steps. A service handles this
  predicate in ``serving/runs/_auto_resend``.
* While a call waits for an answer, an interim output in its step becomes final: see ``blocking_interims``.
* The part of an approved call does not stay ``approval-responded`` while its output is awaited: see
  ``after_approval``.

A step ends only when no author has an open part. ``finish-step`` makes a v6 client close all open text parts, and a
tool input that continues after a ``start-step`` would become a second part. So parallel agents share steps.
"""

from dataclasses import dataclass
from typing import Any

from stream_protocol.stream._speakers import AuthorStream
from stream_protocol.stream.calls import CallRegistry, CallState, ToolCall
from stream_protocol.wire import Sink
from stream_protocol.wire.client import may_resend

CALL_NOT_FINISHED_TEXT = "The model did not finish this call."
"""The error of a call whose complete event never came."""


@dataclass(slots=True, eq=False)
class Steps:
    """The open step of the message, and the tool calls in it."""

    _sink: Sink[Any]
    _registry: CallRegistry
    _busy: tuple[AuthorStream, ...] = ()
    """Authors that may have open parts, in the order in which they were added. See ``AuthorStream.may_be_busy``."""
    response_has_content: bool = False
    """True if this response has written any content."""
    _step_is_open: bool = False
    _step_has_content: bool = False
    """True if the open step has content."""
    _step_has_output: bool = False
    """True if the open step has a tool's output."""
    _calls: list[ToolCall] | None = None
    """The calls after the last ``start-step``, including those of an earlier response of this message.

    ``None`` without calls. Calls that the model's provider runs are not included, because the helpers ignore them.
    """

    def begin_content(self, speaker: AuthorStream, *, requests_credential: bool = False) -> None:
        """End the author's open part, and start a new step if the next content needs one.

        A running call delays a new step, because it may still need approval. But a request for a credential begins a
        new step even if a call is running. If the running call were in the same step as the request, the client could
        not send the answer. A call whose input still streams delays even such a request, because the rest of the input
        would become a second part.
        """
        speaker.close()
        if not speaker.in_response:
            self.end_unfinished_calls(speaker)
        needs_new_step = (
            not self._step_is_open
            or self._step_has_output
            or (self._step_has_content and (requests_credential or not speaker.in_response))
        )
        if needs_new_step and not self._any_busy() and not self._call_stays(requests_credential=requests_credential):
            self.finish()
            self._start()
        if not speaker.may_be_busy:
            speaker.may_be_busy = True
            self._busy += (speaker,)
        speaker.in_response = True
        self._step_has_content = self.response_has_content = True

    def end_unfinished_calls(self, speaker: AuthorStream) -> None:
        """End the calls of the author's earlier responses whose complete event never came."""
        for call in speaker.unfinished_calls:
            if call.state <= CallState.INPUT_STREAMING:
                if call.is_shown:
                    self.add_output(call)
                call.fail_input(CALL_NOT_FINISHED_TEXT)
        speaker.unfinished_calls = ()

    def _any_busy(self) -> bool:
        while self._busy and not self._busy[-1].is_busy:
            self._busy[-1].may_be_busy = False
            self._busy = self._busy[:-1]
        return bool(self._busy)

    def _call_stays(self, *, requests_credential: bool) -> bool:
        """Return True if a call without a result must stay in the current step, so that no new step may start."""
        return any(
            call.state is not CallState.AWAITING_CREDENTIAL
            and not (requests_credential and call.state is CallState.RUNNING)
            for call in self._registry.waiting()
        )

    def _start(self) -> None:
        self._sink.start_step()
        self._step_is_open = True
        self._step_has_content = self._step_has_output = False
        self._calls = None

    def add_call(self, call: ToolCall) -> None:
        """Add the call to the open step."""
        if not call.provider_executed:
            self._calls = self._calls or []
            self._calls.append(call)

    def add_output(self, call: ToolCall) -> None:
        """Count the call's result as content of the open step."""
        self.response_has_content = True
        self._step_has_output = self._step_has_output or not call.provider_executed

    def after_approval(self, call: ToolCall) -> None:
        """Send the input of an approved call again if the client or another system sends the output.

        This changes ``approval-responded`` back to ``input-available``. Otherwise the client's approvals helper would
        send requests again and again until there is an output.
        """
        if call.approved and call.long_running:
            call.send_input_again()

    @property
    def blocking_interims(self) -> list[ToolCall]:
        """The calls whose interim outputs must become final at the end of the response.

        The client's helpers send only when every output after the last ``start-step`` is final. But an interim output
        would become final only in the next response, which the client requests by sending the answers. So the client
        would never send them.
        """
        calls = self._calls or []
        any_pending = any(call.is_pending for call in calls)
        return [call for call in calls if any_pending and call.state is CallState.INTERIM]

    def end_before_message(self) -> None:
        """End the open step before a steering message, so that the next content begins a new step.

        The step stays open while an author has an open part, or a call must stay in it.
        """
        if not self._any_busy() and not self._call_stays(requests_credential=False):
            self.finish()

    def finish(self) -> None:
        """End the open step, if there is one."""
        if self._step_is_open:
            self._sink.finish_step()
            self._step_is_open = False

    def finish_last(self, ending: str, metadata: dict[str, Any] | None = None) -> dict[str, Any] | None:
        """End the last step of a response, so that the client's auto-send helpers do not loop.

        Return the metadata to write after the step: ``metadata``, or empty metadata if an empty step was added. The
        client stores an empty step only with the next change of the message, and metadata changes it. ``ending``: type
        of the chunk that ends the response.
        """
        self.finish()
        if not may_resend(ending) or not self._calls or not all(call.is_settled for call in self._calls):
            return metadata
        self._start()
        self.finish()
        return metadata or {}
