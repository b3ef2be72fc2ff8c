"""Begin and end the steps of a message. A client may send its answers automatically, with the AI SDK's auto-send
helpers. The steps decide when these helpers send a request.

In the client, a ``start-step`` chunk adds a ``step-start`` part. The AI SDK's auto-send helpers check only the parts
after the last ``step-start`` of the last message (``ai@6`` ``lastAssistantMessageIsCompleteWithToolCalls``,
``…WithApprovalResponses``). So these rules apply:

- A step begins with each model response, and with the content after a tool's output.
- No step begins while a call of this message waits for its result. Otherwise the client would never send the user's
  answer to this call.
- A response must not end in a step whose calls all have outputs. Otherwise an auto-send helper would send requests in
  an endless loop. So the server adds an empty step.
- If a call waits for an answer, preliminary outputs of other calls in its step are written again as final outputs.
  Otherwise the client would not send the answer: see ``blocking_interims``.
- If the client sends the output of an approved call, the server writes the call's input again. Otherwise an auto-send
  helper would loop: see ``after_approval``.

A step ends only when no author is writing a part, so parallel agents share steps. There are two reasons. At
``finish-step``, a v6 client ends all text parts. And if a tool input continued after ``start-step``, the client would
show this input twice.
"""

from dataclasses import dataclass
from typing import Any

from stream_protocol.stream._speakers import AuthorStream
from stream_protocol.stream.calls import CallRegistry, CallState, ToolCall
from stream_protocol.wire import Sink
from stream_protocol.wire.client import may_resend

CALL_NOT_FINISHED_TEXT = "The model did not finish this call."
"""The error text of a streamed call whose complete event never came."""


@dataclass(slots=True, eq=False)
class Steps:
    """The current step of a message, and the tool calls in this step."""

    _sink: Sink[Any]
    _registry: CallRegistry
    _busy: tuple[AuthorStream, ...] = ()
    """Authors that may have open parts, in order."""
    response_has_content: bool = False
    _step_is_open: bool = False
    _step_has_content: bool = False
    _step_has_output: bool = False
    _calls: list[ToolCall] | None = None
    """The calls after the last ``start-step``, also those of an earlier response. Calls that the model's provider runs
    are left out, because the auto-send helpers ignore them.
    """

    def begin_content(self, speaker: AuthorStream, *, requests_credential: bool = False) -> None:
        """End the part that the author is writing. Start a new step if the next content needs one.

        A new step normally waits for all running tool calls, because they may still need approval. The step of a
        credential request does not wait: the client could not send the credential while its step has a running call. No
        step starts while the input of a call is streamed.
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
        if speaker not in self._busy:
            self._busy += (speaker,)
        speaker.in_response = True
        self._step_has_content = self.response_has_content = True

    def end_unfinished_calls(self, speaker: AuthorStream) -> None:
        """End the author's streamed calls whose complete function call has not come. The client gets an error for each
        of them.
        """
        for call in speaker.unfinished_calls:
            if call.state <= CallState.INPUT_STREAMING:
                if call.is_shown:
                    self.add_output(call)
                call.fail_input(CALL_NOT_FINISHED_TEXT)
        speaker.unfinished_calls = ()

    def _any_busy(self) -> bool:
        while self._busy and not self._busy[-1].is_busy:
            self._busy = self._busy[:-1]
        return bool(self._busy)

    def _call_stays(self, *, requests_credential: bool) -> bool:
        """Return True if a new step must not start yet, because a call has no result.

        Ignores calls that wait for a credential. Before a credential request, also ignores running calls.
        """
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
        if not call.provider_executed:
            self._calls = self._calls or []
            self._calls.append(call)

    def add_output(self, call: ToolCall) -> None:
        self.response_has_content = True
        self._step_has_output = self._step_has_output or not call.provider_executed

    def after_approval(self, call: ToolCall) -> None:
        """Write the input of an approved call again, if the client or another system sends the call's output.

        In the client, this changes the state of the call from ``approval-responded`` to ``input-available``. Otherwise
        the auto-send helper would send its request in an endless loop.
        """
        if call.approved and call.long_running:
            call.send_input_again()

    @property
    def blocking_interims(self) -> list[ToolCall]:
        """The calls whose preliminary outputs must be written again as final outputs at the end of the response. The
        client's auto-send helpers send the user's answer only if all outputs after the last ``start-step`` are final.
        """
        calls = self._calls or []
        any_pending = any(call.is_pending for call in calls)
        return [call for call in calls if any_pending and call.state is CallState.INTERIM]

    def end_before_message(self) -> None:
        """End the current step before a steering message, which the user sent while the agent worked. Does nothing
        while a part is unfinished or a call has no result.
        """
        if not self._any_busy() and not self._call_stays(requests_credential=False):
            self.finish()

    def finish(self) -> None:
        """End the current step, if there is one."""
        if self._step_is_open:
            self._sink.finish_step()
            self._step_is_open = False

    def finish_last(self, ending: str, metadata: dict[str, Any] | None = None) -> dict[str, Any] | None:
        """End the last step of a response, so that the client's auto-send helpers do not loop.

        An empty step is added if all calls of the last step have a result. ``ending``: the type of the response's last
        chunk. If it is ``error``, no step is added, because clients then do not use the helpers.

        Returns the message metadata to write next. If an empty step was added, the result is never ``None``, because
        the client stores an empty step only together with metadata.
        """
        self.finish()
        if not may_resend(ending) or not self._calls or not all(call.is_settled for call in self._calls):
            return metadata
        self._start()
        self.finish()
        return metadata or {}
