"""Tool calls on the wire: announced, filled, answered, ended. One input and one end for each; what is said again
(``ask_client``, ``free_questions``) is said for the client's auto-send helpers.

Matching comes first: which call does this fragment, complete call or response speak of? By id wherever ids can be
trusted. Ids that ADK made up itself (``adk-…``, for models that give none) can change with every event, so a fragment
with a new one may continue the newest call that is still open; a model's own ids never change, so a new one is a new
call.
"""

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from stream_protocol.convert._options import Settings
from stream_protocol.convert._speakers import Speaker, signed
from stream_protocol.convert._steps import Steps
from stream_protocol.convert.calls import (
    REQUEST_CREDENTIAL,
    CallRegistry,
    CallState,
    GrowingText,
    PathText,
    RawText,
    ToolCall,
    credential_input,
    failure_text,
    fitting_tools,
    gated_call,
    integral,
)
from stream_protocol.wire import Sink, UnrepresentableValueError, WriteDelta, json_value

if TYPE_CHECKING:
    from google.genai.types import FunctionCall, Part

HELD, STREAMING, OPEN, ANSWERED = CallState

INPUT_CUT = "The model did not finish this call."
NO_RESULT = "The tool gave no result."

_ADK_ID = "adk-"
"""Prefix of the ids that ADK makes up for calls without one."""


class ToolCalls:
    """Writes the tool chunks of one message."""

    def __init__(self, sink: Sink[Any], settings: Settings, registry: CallRegistry, steps: Steps) -> None:
        self._sink = sink
        self._settings = settings
        self._registry = registry
        self._steps = steps

    # Fragments

    def add_fragment(self, speaker: Speaker, part: "Part", fragment: "FunctionCall", touched: list[ToolCall]) -> None:
        """A streamed piece of a call. ``touched`` are the calls that this event has spoken of already."""
        adk_id = fragment.id
        call = speaker.known.get(adk_id) if adk_id else None
        if call is not None and call.state is OPEN:
            return
        if call is None or call not in speaker.calls:
            call = self._continued(speaker, fragment, touched)
            if call is None:
                call = self._registry.new(adk_id, speaker.known)
                speaker.calls.append(call)
            self._registry.alias(adk_id, call, speaker.known)
        touched.append(call)
        call.more_to_come = bool(fragment.will_continue)
        if call.provider is None or part.thought_signature:
            self._sign(speaker, call, part)
        text = self._text_of(call, fragment)
        if call.state is HELD:
            self._hold(speaker, call, fragment, text)
        elif text and call.write is not None:
            call.write(text)

    @staticmethod
    def _continued(speaker: Speaker, fragment: "FunctionCall", touched: list[ToolCall]) -> ToolCall | None:
        """The call that a fragment with an unknown id is more of."""
        if not speaker.calls or (fragment.id and not fragment.id.startswith(_ADK_ID)):
            return None
        newest = speaker.calls[-1]
        if not fragment.name:
            return newest
        return newest if newest not in touched and _continues(newest, fragment) else None

    @staticmethod
    def _text_of(call: ToolCall, fragment: "FunctionCall") -> str:
        """The argument text that this fragment adds."""
        if REQUEST_CREDENTIAL in {fragment.name, call.name}:
            return ""  # ADK never streams these; whoever does, a browser sees no more of them than of ADK's own
        if partial_args := fragment.partial_args:
            if call.text is None:
                call.text = PathText() if partial_args[0].json_path else RawText()
            if isinstance(call.text, GrowingText):
                return ""
            write = call.text.write
            return write(partial_args[0]) if len(partial_args) == 1 else "".join(map(write, partial_args))
        if not (args := fragment.args):
            return ""
        call.text = call.text or GrowingText()
        if not isinstance(call.text, GrowingText):
            return ""
        return call.text.write(json_value(args, lossy=True), streaming=call.more_to_come)

    def _hold(self, speaker: Speaker, call: ToolCall, fragment: "FunctionCall", text: str) -> None:
        """Announces the call as soon as its tool is known; until then its text waits."""
        name = fragment.name
        new_paths = {argument.json_path or "" for argument in fragment.partial_args or ()} - call.paths
        if not name and new_paths:
            call.paths |= new_paths
            schemas = self._settings.tool_schemas
            call.fitting = fitting_tools(new_paths, schemas, among=schemas if call.fitting is None else call.fitting)
            name = call.fitting[0] if len(call.fitting) == 1 else None
        if text:
            call.backlog.append(text)
        if name:
            self._announce(speaker, call, name)

    def _sign(self, speaker: Speaker, call: ToolCall, part: "Part") -> None:
        call.provider = call.provider or speaker.provider
        if part.thought_signature:
            call.provider = speaker.provider | signed(part.thought_signature)

    def _announce(self, speaker: Speaker, call: ToolCall, name: str) -> None:
        """The call gets its name and, unless it is hidden, its part."""
        self._name(call, name)
        if call.hidden:
            call.state = STREAMING
            return
        write = self._show(speaker, call)
        for text in call.backlog:
            write(text)
        call.backlog.clear()

    def _name(self, call: ToolCall, name: str) -> None:
        call.name = name
        call.hidden = self._settings.hides(name)
        call.dynamic = self._settings.is_dynamic(name)
        call.title = self._settings.tool_titles.get(name)

    def _show(self, speaker: Speaker, call: ToolCall) -> WriteDelta:
        speaker.close()
        self.enter(speaker, asks=call.name == REQUEST_CREDENTIAL)
        self._steps.add_tool(call)
        call.write = write = self._sink.tool_input_start(
            call.id,
            call.name,
            dynamic=call.dynamic,
            provider_executed=call.provider_executed,
            title=call.title,
            provider=call.provider,
        )
        call.state = STREAMING
        return write

    # Complete calls

    def complete(
        self, speaker: Speaker, part: "Part", function_call: "FunctionCall", ids: Collection[str | None]
    ) -> ToolCall | None:
        """A complete call; ``ids`` are those of all complete calls of this event. Returns it unless it repeats one."""
        call = self._completed(speaker, function_call, ids)
        if call is not None and call.state is OPEN:
            return None
        if call is None or call.state is ANSWERED:
            call = self._registry.new(function_call.id, speaker.known)
        self._registry.alias(function_call.id, call, speaker.known)
        for calls in (speaker.calls, speaker.overdue):
            if call in calls:
                calls.remove(call)
        self._sign(speaker, call, part)
        if call.state is HELD:
            self._announce(speaker, call, function_call.name or "")
        self._fill(call, function_call.args or {})
        return call

    def _completed(self, speaker: Speaker, complete: "FunctionCall", ids: Collection[str | None]) -> ToolCall | None:
        if complete.id and (known := speaker.known.get(complete.id)) is not None:
            return known
        unclaimed = (call for call in speaker.calls + speaker.overdue if call.id not in ids)
        return next((call for call in unclaimed if call.name in {"", complete.name}), None)

    def _fill(self, call: ToolCall, args: Any) -> None:
        """The input stands: an object, or raw text if the call ended in the middle of it."""
        arguments = json_value(args, lossy=True)
        if call.name == REQUEST_CREDENTIAL:
            arguments = self._credential_input(arguments)
        if call.text is not None:
            arguments = integral(arguments)
        call.state = OPEN
        if call.hidden:
            return
        rest = call.text.complete(arguments) if call.text is not None else None
        if rest and call.write is not None:
            call.write(rest)
        call.input = arguments
        self._send_input(call)

    def _credential_input(self, args: Any) -> dict[str, Any]:
        """What a browser may see of a credential request, with the id under which it knows the call that needs it."""
        shown = credential_input(args if isinstance(args, dict) else {})
        match shown:
            case {"functionCallId": str(adk_id)} if (call := self._registry.get(adk_id)) is not None:
                return {**shown, "functionCallId": call.id}
        return shown

    def _send_input(self, call: ToolCall) -> None:
        self._sink.tool_input_available(
            call.id,
            call.name,
            call.input,
            dynamic=call.dynamic,
            provider_executed=call.provider_executed,
            title=call.title,
            provider=call.provider,
        )

    def run_by_provider(self, speaker: Speaker, adk_id: str | None, name: str, value: Any) -> None:
        """A tool that the model's provider runs itself, such as code execution: complete when it is seen."""
        call = self._registry.new(adk_id or self._registry.next_id(), speaker.known)
        call.name, call.provider = name, speaker.provider
        call.dynamic = call.provider_executed = True
        call.hidden = self._settings.hides(name)
        if not call.hidden:
            self._show(speaker, call)
        self._fill(call, value)

    def request_approval(self, speaker: Speaker, function_call: "FunctionCall") -> None:
        """ADK's made-up confirmation call: an approval request on the call that it gates."""
        original = gated_call(function_call.args or {})
        call_id: str | None = original.get("id")
        call = speaker.known.get(call_id or "") or self._registry.get(call_id)
        if call is None:
            call = self._registry.new(call_id, speaker.known)
        if not call.visible:
            self._reveal(speaker, call, original)
        elif call.state is STREAMING:
            self._fill(call, original.get("args", {}))
        approval_id = function_call.id or self._registry.next_id()
        self._sink.tool_approval_request(approval_id, call.id)
        self._registry.request_approval(approval_id, call)

    def _reveal(self, speaker: Speaker, call: ToolCall, original: dict[str, Any]) -> None:
        """Shows a hidden or unknown call after all: somebody has to answer for it."""
        self._name(call, call.name or original.get("name", ""))
        call.hidden = False
        call.state, call.text = HELD, None  # nothing of it has been sent
        call.provider = call.provider or speaker.provider
        self._show(speaker, call)
        self._fill(call, original.get("args", {}))

    # Results

    def add_result(self, call: ToolCall, response: Any, *, preliminary: bool = False) -> None:
        """What a tool or a client gave back."""
        if not call.visible:
            if not preliminary:
                self._registry.answer(call)
            return
        if call.state is STREAMING:
            self._fill(call, call.text.so_far() if call.text is not None else {})
        if not preliminary and (text := failure_text(response)) is not None:
            self._fail(call, text)
            return
        try:
            output = json_value(response)
        except UnrepresentableValueError as error:
            self._fail(call, f"The tool's result has no JSON form: {error}")
            return
        self._steps.add_output(call)
        self._sink.tool_output_available(
            call.id,
            output,
            preliminary=preliminary,
            dynamic=call.dynamic,
            provider_executed=call.provider_executed,
        )
        if not preliminary:
            self._registry.answer(call)

    def add_interim(self, call: ToolCall, value: Any) -> None:
        """A first word after which nothing more is expected in this response."""
        self.add_result(call, value, preliminary=True)
        self._registry.answer(call)
        call.interim = value

    def free_questions(self) -> None:
        """Lets the answers to this step's questions be sent when the response is over.

        The client's helpers wait for every output behind the last ``start-step`` to be final. An interim one will not
        be before the next response, which is the one that the answers ask for; so it is said once more as final.
        """
        tools = self._steps.tools
        if any(call.pending for call in tools):
            for call in tools:
                if call.interim is not None:
                    self.add_result(call, call.interim)

    def ask_client(self, call: ToolCall) -> None:
        """An approved call whose output the client gives.

        Its input is sent once more, which turns ``approval-responded`` back to ``input-available``: the approvals
        helper would otherwise send again and again until there is an output.
        """
        self._send_input(call)
        call.awaiting = "client"

    def deny(self, call: ToolCall) -> None:
        self._steps.add_output(call)
        self._sink.tool_output_denied(call.id)
        self._registry.answer(call)

    def _fail(self, call: ToolCall, text: str) -> None:
        self._steps.add_output(call)
        self._sink.tool_output_error(call.id, text, dynamic=call.dynamic, provider_executed=call.provider_executed)
        self._registry.answer(call)

    # Bounds

    def enter(self, speaker: Speaker, *, asks: bool = False) -> None:
        """Makes the step right for new content of this speaker."""
        if speaker.fresh:
            self.cut(speaker)
        self._steps.enter(speaker, asks=asks)

    def cut(self, speaker: Speaker) -> None:
        """Ends the calls of the speaker's earlier responses whose complete form never came."""
        for call in speaker.overdue:
            if call.state > STREAMING:
                continue
            if call.visible:
                self._steps.add_output(call)
                self._sink.tool_input_error(
                    call.id,
                    call.name,
                    call.text.so_far() if call.text is not None else None,
                    INPUT_CUT,
                    dynamic=call.dynamic,
                    title=call.title,
                )
            self._registry.answer(call)
        speaker.overdue.clear()

    def end(self, text: str, *, closes_pending: bool) -> None:
        """Ends the calls that nothing will answer any more; those that wait for a person only where told."""
        for call in self._registry.unanswered():
            if call.pending and not closes_pending:
                continue
            if call.visible:
                self._fail(call, text)
            else:
                self._registry.answer(call)


def _continues(call: ToolCall, fragment: "FunctionCall") -> bool:
    """Whether a named fragment with an unknown id can be more of this call, not another call of the same tool.

    A call that is not streamed comes in one piece, which promises no more: two of one tool may well be equal.
    """
    if not call.more_to_come or call.name not in {"", fragment.name}:
        return False
    if fragment.partial_args:
        first = fragment.partial_args[0].json_path or ""
        return not isinstance(call.text, PathText) or call.text.accepts(first)
    if fragment.args and isinstance(call.text, GrowingText):
        return call.text.grows_to(json_value(fragment.args, lossy=True))
    return False
