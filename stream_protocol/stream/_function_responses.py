"""Convert function responses to outputs of tool calls. The responses come from tools, clients, or agents inside tool
calls.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from stream_protocol.adk import (
    ABORTED,
    POSTED_WIDGETS,
    REQUEST_CREDENTIAL,
    USER,
    Artifacts,
    CallKind,
    CallReference,
    EventFacts,
    File,
    NestedEvent,
    NestedEvents,
    Output,
    Posted,
    ProviderResult,
    Result,
    SpeakerKey,
    Text,
    WarnOnce,
    acting_for,
    asks_somebody,
    client_output,
    failure_text,
    is_confirmed,
    raising_calls,
    unrepresentable_text,
)
from stream_protocol.stream._data_parts import EventActions, write_artifacts, write_confirmation, write_denial
from stream_protocol.stream._inner_agents import InnerAgents
from stream_protocol.stream._media import write_media
from stream_protocol.stream._nested_messages import NestedConversion
from stream_protocol.stream._options import Settings
from stream_protocol.stream._steps import Steps
from stream_protocol.stream.calls import CallRegistry, CallState, ToolCall
from stream_protocol.wire import Sink, UnrepresentableValueError, is_too_large, json_value

if TYPE_CHECKING:
    from google.adk.events import Event

TOOL_FAILED_TEXT = "The tool failed."
"""The error text of a call whose tool raised. Only ``on_error`` gets the exception."""

NODE_TIMEOUT = "NodeTimeoutError"
"""The ``error_code`` of a workflow node that took too long. Its tools were cancelled, but did not raise."""

TOO_LARGE_TEXT = "The tool's result is too large to be shown."
"""The text that the client gets in place of a very large result. Such a result would block all chats: see
``is_too_large``."""


class FunctionResponses:
    """Finds the tool call of each function response, and changes the call's state and output."""

    __slots__ = (
        "_raised",
        "_registry",
        "_settings",
        "_sink",
        "_steps",
        "_warn",
        "action_writer",
        "failed",
        "inner_agents",
    )

    def __init__(
        self,
        sink: Sink[Any],
        settings: Settings,
        *,
        registry: CallRegistry,
        steps: Steps,
        warn: WarnOnce,
        begin_nested: Callable[[Settings, str], NestedConversion],
    ) -> None:
        """``begin_nested``: a function that begins the conversion for an agent inside a tool call. Its arguments are
        the settings and the call's ``toolCallId``.
        """
        self._sink = sink
        self._settings = settings
        self._registry = registry
        self._steps = steps
        self.action_writer = EventActions(sink, settings, registry)
        self._warn = warn
        self._raised: set[ToolCall] | None = None
        """The calls whose tools raised, as an event has reported."""
        self.failed: tuple[str, ...] = ()
        """The client ids of calls without a result because their tools raised."""
        self.inner_agents = InnerAgents(sink, settings, registry, begin_nested)

    def add_user_event(self, facts: EventFacts) -> None:
        """Process the function responses in a user event. The responses may answer calls of any agent.

        The text of the event is not written, because the client sent this text.
        """
        self._registry.known.read_event(facts)
        for result in facts.results:
            self.add_response(facts, result)

    def add_response(self, facts: EventFacts, result: Result) -> None:
        """Process a function response. It is a tool's result, ADK's placeholder for a later result, or the user's
        answer to an approval request.
        """
        answered = self._registry.known.read_result(facts, result)
        call = None if answered.call is None else self._registry.of(answered.call)
        if answered.is_approval and facts.in_users_name:
            self._answer_approval(call, result)
        elif facts.failure is not None and facts.failure.code == ABORTED:
            # ADK closed the call because the run was stopped. The end of the response writes the error of all calls.
            if call is not None and call.is_open:
                self.inner_agents.note_stopped(call, result.nested)
                call.stop_waiting()
        elif call is not None and not answered.is_approval:
            self._add_to_call(facts, call, result, waits=answered.is_placeholder)
        elif not facts.in_users_name and not self._settings.hides(result.name):
            # The client fails on an output whose call is in an earlier message. The history shows such an output with
            # its call. No warning for events with the user as author: answers and results of task agents may be late.
            self._warn(f"Skipped a response of `{result.name}` to the call {result.id}, which is not in this message.")

    def _answer_approval(self, call: ToolCall | None, result: Result) -> None:
        if call is None or call.state is not CallState.APPROVAL_REQUESTED:
            return
        approved = is_confirmed(result.value)
        if approved is not None:
            call.answer_approval(approved=approved, write_response=self._settings.client.major == 7)
            self._steps.after_approval(call)

    def _add_to_call(self, facts: EventFacts, call: ToolCall, result: Result, *, waits: bool) -> None:
        failed = failure_text(result.value) is not None
        if self.inner_agents.has_ended(call):
            return
        if waits and result.waits_for is CallKind.APPROVAL:
            # A placeholder. If it has an error, ADK itself asks for approval, and the tool has not run. If it has no
            # error, the tool asks for approval while it runs.
            if not failed:
                write_confirmation(self._sink, call.id, result)
            if call.is_open:
                call.announce_approval(gated=failed)
        elif waits and not call.lacks_credential and (call.state is CallState.AWAITING_CREDENTIAL or not call.is_open):
            if call.is_open:
                call.await_credential(lacking=True)
        elif failed and call.gated and call.approved is False:
            self._deny(call)
        else:
            # This may be a placeholder for a credential. It is the call's result if ADK does not ask for the
            # credential. ADK asks only once, and never after an approval.
            self._add_result(facts, call, result, failed=failed)

    def _add_result(self, facts: EventFacts, call: ToolCall, result: Result, *, failed: bool) -> None:
        if call.name == REQUEST_CREDENTIAL and not failed:
            self._add_output(call, {"provided": True})  # the response has the credential, which is not shown
        elif call.state is CallState.AWAITING_CLIENT and not facts.in_users_name and not failed:
            # The first response of a long-running tool. The client or another system sends the last response later.
            self._add_interim(call, result.value)
        elif call.long_running and facts.in_users_name:
            self._add_output(call, client_output(result.value))
        else:
            self._add_output(call, result.value, preliminary=result.will_continue, nested=result.nested)
            for file in () if call.hidden else result.files:
                write_media(self._sink, file, self._settings)

    def add_provider_result(self, facts: EventFacts | None, result: ProviderResult, speaker: SpeakerKey) -> None:
        """Process the result of a tool that the model's provider has run. ``facts``: the complete event with the
        result; ``None`` if the event is partial.
        """
        event = facts.event if facts is not None else None
        reference = CallReference(result.id, result.name)
        known = self._registry.known.resolve_response(event, speaker, reference).call
        if known is not None:
            self._add_output(self._registry.of(known), result.output)

    def add_progress(self, facts: EventFacts) -> bool:
        """If a running tool has created the event, write its content as a preliminary output. Returns False for any
        other event.
        """
        author, branch, _ = facts.speaker
        if branch is None or facts.failure is not None or facts.role not in (None, USER):
            return False
        if facts.calls or facts.results:
            return False  # the event comes from an agent that runs inside the call, and calls tools
        head, _, call_id = branch.rpartition("@")
        call = self._registry.find(CallReference(call_id, author))
        if call is None or not call.is_open or not call.name == author == head.rpartition(".")[2]:
            return False
        if (artifacts := facts.report(Artifacts)) is not None:
            write_artifacts(self._sink, artifacts.saved, self._settings)
        self.action_writer.write(facts)
        if text := "".join(part.text for part in facts.parts if isinstance(part, Text)):
            self._add_output(call, text, preliminary=True)
        elif (output := facts.report(Output)) is not None:
            self._add_output(call, output.value, preliminary=True)
        for part in () if call.hidden else facts.parts:
            if isinstance(part, File):
                write_media(self._sink, part, self._settings)
        return True

    def add_posted(self, facts: EventFacts, posted: Posted) -> None:
        """Process an event that a running tool has sent with the functions of ``stream_protocol.agents``."""
        nested = facts.report(NestedEvent)
        if nested is not None:
            self.inner_agents.add_nested(nested)
        elif posted.kind == POSTED_WIDGETS:
            self.action_writer.write_posted(facts)
        else:
            self._warn(f"Skipped a posted event of the unknown kind {posted.kind!r}")

    def add_inner(self, call: ToolCall, facts: EventFacts, *, asks: bool) -> None:
        """Process an event of an agent inside the tool call ``call``. ``asks``: True if the event contains a question
        to the user. Then the call waits for the answer.
        """
        if (interim := self.inner_agents.add(call, facts, asks=asks)) is not None:
            self._add_interim(call, interim)

    def end_task(self, call: ToolCall) -> None:
        """A task-mode agent inside the call has asked the user. Write the final output of the call. The agent continues
        in a later assistant message, and gives its result there.
        """
        self._steps.add_output(call)
        call.answer(self.inner_agents.end_task(call))

    def add_delegation(self, event: "Event") -> None:
        """If the event's agent runs inside a tool call, write a preliminary output of this call. Then the next step can
        begin before the agent ends.
        """
        author, scope, agents_call = acting_for(event)
        find = self._registry.find
        call = find(CallReference(scope, author)) or find(CallReference(agents_call, author))
        if call is not None and call.state is CallState.RUNNING and not asks_somebody(event):
            self._add_interim(call, {"agent": author})

    def finalize_interim_outputs(self) -> None:
        """Write the preliminary outputs of ``Steps.blocking_interims`` again as final outputs."""
        for call in self._steps.blocking_interims:
            message = self.inner_agents.message_so_far(call)
            if message is None:
                self._add_output(call, call.interim)
            else:
                self._steps.add_output(call)
                call.answer(message)

    def add_failure(self, facts: EventFacts, speaker: SpeakerKey) -> None:
        """If the event reports that a tool has raised an exception, record the tool's call. ADK does not name the call.
        If it could be one of several calls, nothing is recorded.
        """
        failure = facts.failure
        if failure is None or failure.code in (ABORTED, NODE_TIMEOUT) or failure.finish_reason is not None:
            return
        if (call := self._registry.raising(speaker)) is not None:
            self._raised = self._raised or set()
            self._raised.add(call)

    def end_calls(self, error_text: str, *, closes_pending: bool, error: BaseException | None = None) -> None:
        """End the tool calls that have no result.

        ``closes_pending``: True to also end calls that wait for the user, the client or another system. ``error``: the
        exception of the run. A call whose tool raised this exception always ends.
        """
        raised = {self._registry.find(reference) for reference in raising_calls(error)} if error is not None else set()
        reported = self._raised or set()
        run_failed = error is not None and not closes_pending
        failed: list[str] = []
        for call in self._registry.unsettled():
            if call.is_pending and not closes_pending and call not in raised:
                continue
            has_failed = call in raised or call in reported
            if has_failed:
                failed.append(call.id)
            message = None if has_failed else self.inner_agents.stopped(call, run_failed=run_failed)
            if not call.is_shown:
                call.end_silently()
            elif message is not None:
                self._steps.add_output(call)
                call.answer(message)
            else:
                self._fail(call, TOOL_FAILED_TEXT if has_failed else error_text)
        self.failed += tuple(failed)

    def forget_failures(self) -> None:
        """Forget the calls whose tools have raised exceptions. Call this method if the run was stopped, because the
        stop may have caused the exceptions.
        """
        self._raised = None

    def _add_interim(self, call: ToolCall, value: Any) -> None:
        """Write a preliminary output of a call whose final output is not expected in this response."""
        self._add_output(call, value, preliminary=True)
        if call.is_open:
            call.accept_interim(value)

    def _add_output(
        self, call: ToolCall, response: Any, *, preliminary: bool = False, nested: NestedEvents | None = None
    ) -> None:
        """Write the output or the error of a call. ``nested``: the stored events of an agent that ran inside the
        call.
        """
        if not call.is_shown:
            if not preliminary:
                call.end_silently()
            return
        if call.state is CallState.INPUT_STREAMING:
            call.complete_input_so_far()
        if is_too_large(response):
            self._fail(call, TOO_LARGE_TEXT)
            return
        if call.approved is False:
            # The tool ran in spite of the denial, or asked for approval while it ran. A denied call gets no output.
            write_denial(self._sink, call.id, response)
            if not preliminary:
                self._deny(call)
            return
        if not preliminary and (text := failure_text(response)) is not None:
            self._fail(call, text)
            return
        try:
            output = json_value(response)
        except UnrepresentableValueError as error:
            self._fail(call, unrepresentable_text(call.name, error))
            return
        self._steps.add_output(call)
        if preliminary:
            call.write_preliminary(output)
        else:
            call.answer(self.inner_agents.output(call, output, nested))

    def _fail(self, call: ToolCall, error_text: str) -> None:
        if call.approved is False:  # the run ended before the denial was written
            self._deny(call)
            return
        self._steps.add_output(call)
        call.fail(error_text)

    def _deny(self, call: ToolCall) -> None:
        self._steps.add_output(call)
        call.deny()
