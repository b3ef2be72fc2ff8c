"""A tool call of a message: its state, and the chunks that change the call in the client.

Only this module changes the state of a call, by the table ``TRANSITIONS``. If the table does not allow a change, the
method raises ``StreamProtocolError`` and changes nothing. So check ``is_open``, ``is_settled`` or ``is_shown`` first.

A hidden call is a call that the client does not get. Its state changes by the same table, but it writes no chunks.
"""

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from stream_protocol.adk import NO_NOTE, REQUEST_CREDENTIAL, ApprovalNote, CallPiece, KnownCall, SpeakerKey
from stream_protocol.stream.calls._argument_paths import ToolGuess
from stream_protocol.stream.calls._call_states import (
    APPROVAL_REQUESTED,
    AWAITING_CLIENT,
    INPUT_STREAMING,
    INTERIM,
    NOT_SHOWN,
    RUNNING,
    TRANSITIONS,
    UNNAMED,
    CallEvent,
    CallState,
)
from stream_protocol.stream.calls._streamed_arguments import GrowingText, PathText, RawText, integral
from stream_protocol.wire import DeltaWriter, ProviderMetadata, Sink, StreamProtocolError, is_too_large, json_value


@dataclass(slots=True, eq=False)
class ToolCall:
    """A tool call of a message, with its state in the client. Other modules may set only the attributes
    ``has_agent_inside``, ``runs_task`` and ``closed_by_stop``.
    """

    _sink: Sink[Any]
    known: KnownCall
    provider_executed: bool = field(default=False, kw_only=True)
    """True if the model's provider runs the tool."""
    state: CallState = UNNAMED
    name: str = ""
    """The tool's name; empty in the state ``UNNAMED``."""
    hidden: bool = False
    dynamic: bool = False
    title: str | None = None
    _signature: bytes | None = None
    """The newest thought signature."""
    more_to_come: bool = False
    """ADK's ``will_continue`` in the newest fragment."""
    long_running: bool = False
    """True if the client or another system sends the output."""
    approved: bool | None = None
    """The user's answer to the newest approval request; ``None`` before the answer."""
    gated: bool = True
    """True if ADK requested approval before the tool ran. False if the tool requested approval while it ran."""
    lacks_credential: bool = False
    """True if the tool has reported that it needs a credential."""
    has_agent_inside: bool = False
    """True if an agent of the same session has run inside the call, even a hidden agent."""
    runs_task: bool = False
    """True if a task-mode agent has run inside the call."""
    closed_by_stop: bool = False
    """True if ADK has closed the call at a stop of the run."""
    interim: Any = None
    """The preliminary output in the state ``INTERIM``."""
    _input: Any = None
    """The complete input, only if the client sends the output. The input may be sent again."""
    is_shown: bool = False
    """True if the client's message has a part for the call."""
    _text: PathText | RawText | GrowingText | None = None
    """The streamed arguments, until the input is complete."""
    _write: DeltaWriter[Any] | None = None
    """Writer for ``tool-input-delta``, until the input is complete."""
    _unsent: list[str] | None = None
    """The argument text that waits for the tool's name."""
    _guess: ToolGuess | None = None
    """Finds the tool by the paths of the arguments."""

    # Questions

    @property
    def id(self) -> str:
        """The client's ``toolCallId``."""
        return self.known.id

    @property
    def is_open(self) -> bool:
        """True if the call has its complete input but no result."""
        return RUNNING <= self.state <= AWAITING_CLIENT

    @property
    def is_pending(self) -> bool:
        """True if the user, the client or another system can answer the call now. If the call needs approval, this is
        False until the approval request is written.
        """
        return APPROVAL_REQUESTED <= self.state <= AWAITING_CLIENT

    @property
    def is_settled(self) -> bool:
        """True if the call has an output, an error or a denial. Also True if the call has a preliminary output, and the
        final output comes in a later response.
        """
        return self.state >= INTERIM

    def takes(self, fragment: CallPiece) -> bool:
        """Return True if ``fragment`` continues this call, and False if it begins a new call of the same tool.

        The fragment must have a tool name and an unknown id. A call can continue only if its newest fragment had
        ``will_continue``.
        """
        if not self.more_to_come or self.name not in {"", fragment.name}:
            return False
        if fragment.partial_args:
            first = fragment.partial_args[0].json_path or ""
            return not isinstance(self._text, PathText) or self._text.accepts(first)
        if fragment.args and isinstance(self._text, GrowingText):
            return is_too_large(fragment.args) or self._text.grows_to(json_value(fragment.args, lossy=True))
        return False

    # Input

    def sign(self, signature: bytes | None) -> None:
        self._signature = signature or self._signature

    def add_fragment(self, fragment: CallPiece) -> None:
        """Write the arguments of a streamed fragment. Until the tool's name is known, the arguments are stored
        instead.
        """
        self.more_to_come = fragment.will_continue
        text = self._text_of(fragment)
        if not text:
            return
        if self.state is INPUT_STREAMING:
            if self._write is not None:
                self._write(text)
        elif self.state is UNNAMED:
            self._unsent = self._unsent or []
            self._unsent.append(text)

    def _text_of(self, fragment: CallPiece) -> str:
        if REQUEST_CREDENTIAL in {fragment.name, self.name}:
            return ""  # a browser must not see the arguments of a credential request; some adapters stream them
        if partial_args := fragment.partial_args:
            if self._text is None:
                self._text = PathText() if partial_args[0].json_path else RawText()
            if isinstance(self._text, GrowingText):
                return ""
            write = self._text.write
            return write(partial_args[0]) if len(partial_args) == 1 else "".join(map(write, partial_args))
        if not (args := fragment.args) or is_too_large(args):
            return ""
        self._text = self._text or GrowingText()
        if not isinstance(self._text, GrowingText):
            return ""
        return self._text.write(json_value(args, lossy=True), streaming=self.more_to_come)

    def guess_name(self, fragment: CallPiece, schemas: Mapping[str, Any]) -> str | None:
        """Return the tool's name if only one tool has parameters for all arguments so far; otherwise ``None``.

        ``schemas``: a dictionary from a tool's name to the JSON schema of its parameters.
        """
        self._guess = self._guess or ToolGuess()
        return self._guess.add([argument.json_path or "" for argument in fragment.partial_args], schemas)

    def announce(self, name: str, *, hidden: bool, dynamic: bool, title: str | None) -> None:
        """Set the tool's name. Unless ``hidden``, writes ``tool-input-start``, and then the arguments that were waiting
        for the name.
        """
        state = self._next("announce")
        self.name, self.hidden, self.dynamic, self.title = name, hidden, dynamic, title
        if hidden:
            self.state = state
            return
        self._write = write = self._sink.tool_input_start(
            self.id,
            name,
            dynamic=dynamic,
            provider_executed=self.provider_executed,
            title=title,
            provider=provider_metadata(self.known.speaker, self._signature),
        )
        self.state, self.is_shown, self._guess = state, True, None
        for text in self._unsent or ():
            write(text)
        self._unsent = None

    def complete_input(self, arguments: Any, *, by_client: bool = False) -> None:
        """Set the final input.

        ``arguments``: a JSON object, or a text if the call ended early or the arguments are too large. ``by_client``:
        True if the client or another system sends the output.
        """
        self.state = self._next("complete input")
        if self._write is None:
            return
        if self._text is not None and not isinstance(arguments, str):
            arguments = integral(arguments)
            if rest := self._text.complete(arguments):
                self._write(rest)
        self._text = self._write = None
        self._send_input(arguments)
        if by_client:
            self._input = arguments

    def complete_input_so_far(self) -> None:
        """Set the final input to the arguments that were streamed so far. Call this method if a result comes before the
        complete function call.
        """
        self.complete_input(self._text.so_far() if self._text is not None else {})

    def fail_input(self, error_text: str) -> None:
        """End a streamed call, because its complete function call has not come."""
        state = self._next("fail input")
        if self.is_shown:
            self._sink.tool_input_error(
                self.id,
                self.name,
                self._text.so_far() if self._text is not None else None,
                error_text,
                dynamic=self.dynamic,
                title=self.title,
            )
        self.state = state

    def _send_input(self, arguments: Any) -> None:
        self._sink.tool_input_available(
            self.id,
            self.name,
            arguments,
            dynamic=self.dynamic,
            provider_executed=self.provider_executed,
            title=self.title,
            provider=provider_metadata(self.known.speaker, self._signature),
        )

    # Waiting

    def announce_approval(self, *, gated: bool) -> None:
        """Record that an approval request follows. ``gated``: True if ADK requests the approval before the tool runs,
        False if the tool requests it while running.
        """
        self.state, self.gated = self._next("announce approval"), gated

    def request_approval(self, note: ApprovalNote = NO_NOTE) -> None:
        """Write the approval request. ``note``: the reason and the descriptor that the tool declares."""
        state = self._next("request approval")
        self._sink.tool_approval_request(
            self.known.approval_id, self.id, reason=note.reason, descriptor=note.descriptor
        )
        self.state, self.approved = state, None

    def answer_approval(self, *, approved: bool, write_response: bool) -> None:
        """Store the user's answer to the approval request. ``write_response``: True to also write the answer as a
        chunk, which only v7 clients accept.
        """
        self.state, self.approved = self._next("answer approval"), approved
        if write_response:
            self._sink.tool_approval_response(self.known.approval_id, approved=approved)

    def send_input_again(self) -> None:
        """Write the input again, and record that the client or another system must send the output."""
        self._send_input(self._input)
        self.await_client()

    def await_client(self) -> None:
        """Record that the client or another system must send the output."""
        self.state, self.long_running = self._next("await client"), True

    def await_credential(self, *, lacking: bool = False) -> None:
        """Record that the call waits for a sign-in, or for the user's answer to a workflow node inside the call.

        ``lacking``: True if the tool has itself reported that it needs a credential.
        """
        self.state = self._next("request credential")
        self.lacks_credential = self.lacks_credential or lacking

    def stop_waiting(self) -> None:
        """Record that the call no longer waits for an answer, because the run was stopped."""
        self.state = self._next("stop waiting")

    # Results

    def write_preliminary(self, output: Any) -> None:
        """Write a preliminary output. ``output``: plain JSON."""
        self._write_output(output, preliminary=True)

    def accept_interim(self, output: Any) -> None:
        """Store a preliminary output. The final output comes in a later response."""
        self.state, self.interim = self._next("interim output"), output

    def answer(self, output: Any) -> None:
        """Write the final output. ``output``: plain JSON."""
        state = self._next("answer")
        self._write_output(output, preliminary=False)
        self.state = state

    def _write_output(self, output: Any, *, preliminary: bool) -> None:
        self._sink.tool_output_available(
            self.id,
            output,
            preliminary=preliminary,
            dynamic=self.dynamic,
            provider_executed=self.provider_executed,
        )

    def deny(self) -> None:
        state = self._next("answer")
        self._sink.tool_output_denied(self.id)
        self.state = state

    def fail(self, error_text: str) -> None:
        state = self._next("fail")
        self._sink.tool_output_error(
            self.id, error_text, dynamic=self.dynamic, provider_executed=self.provider_executed
        )
        self.state = state

    # Calls that were not shown

    def reveal(self) -> None:
        """Reset a hidden call (the client has not got it) to its first state. After that, the chunks of the call can be
        written.
        """
        self.state = self._next("reveal")
        self._text = self._unsent = None

    def end_silently(self) -> None:
        """End a call that the client does not get, without a chunk."""
        self.state = self._next("end silently")

    def _next(self, event: CallEvent) -> CallState:
        """Return the state after ``event``. Raises ``StreamProtocolError`` if the current state does not allow the
        event.
        """
        state = TRANSITIONS[self.state].get(event)
        if state is None or (event in NOT_SHOWN and self.is_shown):
            call = f"{self.id!r} ({self.name or 'unnamed'}{', shown' if self.is_shown else ''})"
            raise StreamProtocolError(f"The tool call {call} is {self.state.name}: it can't {event!r}")
        return state


def provider_metadata(speaker: SpeakerKey, signature: bytes | None = None) -> ProviderMetadata:
    """Return the ``providerMetadata`` of a message part: author, branch and thought signature. The signature has the
    format of the AI SDK's Google provider.
    """
    author, branch, _ = speaker
    adk = {"author": author} if branch is None else {"author": author, "branch": branch}
    return (
        {"adk": adk}
        if signature is None
        else {"adk": adk, "google": {"thoughtSignature": b64encode(signature).decode()}}
    )
