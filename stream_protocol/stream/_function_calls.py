"""Convert the model's function calls and ADK's approval requests to tool calls of the message."""

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from stream_protocol.adk import (
    NO_NOTE,
    REQUEST_CONFIRMATION,
    REQUEST_CREDENTIAL,
    Call,
    CallKind,
    CallPiece,
    CallReference,
    EventFacts,
    ProviderCall,
    SpeakerKey,
    confirmed_call,
    credential_input,
    noted_approval,
    noted_title,
    outer_calls,
)
from stream_protocol.stream._data_parts import write_approval
from stream_protocol.stream._options import Settings
from stream_protocol.stream._speakers import AuthorStream
from stream_protocol.stream._steps import Steps
from stream_protocol.stream.calls import CallRegistry, CallState, ToolCall
from stream_protocol.wire import Sink, is_too_large, json_value

if TYPE_CHECKING:
    from google.adk.events import Event

TOO_LARGE_INPUT = "The arguments are too large to be shown."
"""The text that the client gets in place of very large arguments. Such arguments would block all chats: see
``is_too_large``."""


class FunctionCalls:
    """Writes chunks with the inputs of the message's tool calls."""

    __slots__ = ("_registry", "_settings", "_sink", "_steps")

    def __init__(self, sink: Sink[Any], settings: Settings, registry: CallRegistry, steps: Steps) -> None:
        self._sink = sink
        self._settings = settings
        self._registry = registry
        self._steps = steps

    def add_fragment(self, event: "Event", speaker: AuthorStream, fragment: CallPiece) -> None:
        """Process a streamed fragment of a function call: the tool's name, or some of the arguments."""
        call = self._registry.of_fragment(event, speaker, fragment)
        if call is None:
            return
        call.sign(fragment.signature)
        call.add_fragment(fragment)
        if call.state is CallState.UNNAMED:
            name = fragment.name or call.guess_name(fragment, self._settings.options["tool_schemas"])
            if name:
                self._announce(event, speaker, call, name)

    def add_complete(
        self,
        facts: EventFacts,
        speaker: AuthorStream,
        complete: Call,
        ids: Collection[str | None],
        *,
        is_nested: bool = False,
    ) -> None:
        """Process a function call of a complete event. Does nothing for a call that an earlier complete event
        contained.

        ``ids``: the ids of all calls in this event. ``is_nested``: True if the agent runs inside another tool call.
        Then a call gets a part in the message only if it waits for the user or the client. All other calls are shown in
        the output of the outer call.
        """
        event, name, args, kind = facts.event, complete.name, complete.args, complete.kind
        call = self._registry.streamed(speaker, complete, ids)
        if kind is not None:
            self._hold_outer_calls(facts)
        if kind is CallKind.APPROVAL:
            if call is not None and call.name == REQUEST_CONFIRMATION:
                call.end_silently()  # only a model adapter can stream such a request; ADK itself never does
                speaker.remove_call(call)
            call = None
        if kind is CallKind.CREDENTIAL:
            self._await_credential(facts, args)
        known = self._registry.known.read_call(facts, complete, streamed=None if call is None else call.known)
        if known is None:
            return
        call = self._registry.of(known)
        if kind is CallKind.APPROVAL:
            self._request_approval(event, speaker, call, args)
            return
        speaker.remove_call(call)
        call.sign(complete.signature)
        if call.state is CallState.UNNAMED:
            self._announce(event, speaker, call, name, hidden=is_nested and kind is None)
        self._complete_input(call, args, by_client=kind is not None)
        if kind is not None:
            call.await_client()

    def add_provider_call(self, speaker: AuthorStream, provider_call: ProviderCall) -> None:
        """Process a call that the model's provider runs, such as code execution."""
        call = self._registry.new(provider_call.id, speaker.key, provider_call.name, provider_executed=True)
        self._announce(None, speaker, call, provider_call.name)
        self._complete_input(call, provider_call.input)

    def _request_approval(self, event: "Event", speaker: AuthorStream, call: ToolCall, args: dict[str, Any]) -> None:
        """Show the call that needs approval, and write the approval request.

        ``args``: the arguments of ADK's ``adk_request_confirmation`` call. The client never gets this ADK call.
        """
        original = confirmed_call(args)
        if not call.is_shown:
            call.reveal()
            self._show(event, speaker, call, call.name or original.get("name", ""))
        if call.state is CallState.INPUT_STREAMING:
            self._complete_input(call, original.get("args", {}))
        note = noted_approval(event, original.get("id"))
        self._registry.request_approval(call, note if self._settings.client.major == 7 else NO_NOTE)
        write_approval(self._sink, call.id, note, self._settings)

    def _hold_outer_calls(self, facts: EventFacts) -> None:
        """An agent or workflow node inside tool calls asks the user. Record that these tool calls wait for the user.

        Omits calls that start a task-mode agent, because their results may come only after several more user messages.
        """
        for outer in outer_calls(facts.speaker[1]):
            call = self._registry.find(outer) if outer.id != facts.scope else None
            if call is not None and call.state is CallState.RUNNING:
                call.await_credential()

    def _await_credential(self, facts: EventFacts, args: dict[str, Any]) -> None:
        """Find the tool call that needs the credential, and record that it waits for a sign-in."""
        call = self._credential_call(facts.speaker, credential_input(args))
        if call is not None and call.is_open:
            call.await_credential()

    def _announce(
        self, event: "Event | None", speaker: AuthorStream, call: ToolCall, name: str, *, hidden: bool = False
    ) -> None:
        if hidden or name == REQUEST_CONFIRMATION or self._settings.hides(name):
            call.announce(name, hidden=True, dynamic=False, title=None)
        else:
            self._show(event, speaker, call, name)

    def _show(self, event: "Event | None", speaker: AuthorStream, call: ToolCall, name: str) -> None:
        self._steps.begin_content(speaker, requests_credential=name == REQUEST_CREDENTIAL)
        self._steps.add_call(call)
        by_provider = call.provider_executed
        dynamic = by_provider or self._settings.is_dynamic(name)
        title = None if by_provider else self._settings.options["tool_titles"].get(name)
        if title is None and event is not None:
            title = noted_title(event, name)
        call.announce(name, hidden=False, dynamic=dynamic, title=title)

    def _complete_input(self, call: ToolCall, args: Any, *, by_client: bool = False) -> None:
        arguments = TOO_LARGE_INPUT if is_too_large(args) else json_value(args, lossy=True)
        if call.name == REQUEST_CREDENTIAL:
            arguments = self._credential_input(call.known.speaker, arguments)
        call.complete_input(arguments, by_client=by_client)

    def _credential_input(self, speaker: SpeakerKey, args: Any) -> dict[str, Any]:
        """Return the fields of a credential request that a browser may receive. In the result, ``functionCallId`` is
        the ``toolCallId`` of the call that needs the credential.
        """
        visible = credential_input(args if isinstance(args, dict) else {})
        call = self._credential_call(speaker, visible)
        return visible if call is None else {**visible, "functionCallId": call.id}

    def _credential_call(self, speaker: SpeakerKey, visible: dict[str, Any]) -> ToolCall | None:
        """Return the tool call that needs the credential. ``visible``: the result of ``_credential_input``."""
        author, branch, _ = speaker
        return self._registry.find(CallReference(visible.get("functionCallId"), author=author, branch=branch))
