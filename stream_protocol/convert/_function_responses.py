"""What comes back for a call: from its tool, from a person, from an agent that it was handed to."""

from typing import TYPE_CHECKING, Any

from stream_protocol.convert._data_parts import write_actions, write_artifacts, write_confirmation
from stream_protocol.convert._endings import ABORTED
from stream_protocol.convert._media import write_media
from stream_protocol.convert._options import Settings
from stream_protocol.convert._tool_chunks import ToolCalls
from stream_protocol.convert._warnings import WarnOnce
from stream_protocol.convert.calls import (
    REQUEST_CREDENTIAL,
    CallRegistry,
    CallState,
    Known,
    ToolCall,
    client_output,
    credential_input,
    failure_text,
    is_confirmed,
)
from stream_protocol.wire import Sink

if TYPE_CHECKING:
    from google.adk.events import Event
    from google.genai.types import FunctionCall, FunctionResponse


class Answers:
    """Finds the call that an answer is for, and what the answer means."""

    def __init__(
        self, sink: Sink[Any], settings: Settings, *, registry: CallRegistry, tools: ToolCalls, warn: WarnOnce
    ) -> None:
        self._sink = sink
        self._settings = settings
        self._registry = registry
        self._tools = tools
        self._warn = warn

    def take_user_event(self, event: "Event") -> None:
        """A user event. Its text is the user's own message; its responses answer calls, whoever made them."""
        for part in (event.content.parts if event.content is not None else None) or ():
            response = part.function_response
            if response is None:
                continue
            if (call := self._registry.approval(response.id)) is not None:
                self._take_approval(call, response)
            else:
                self.take_response(event, response, {})

    def _take_approval(self, call: ToolCall, response: "FunctionResponse") -> None:
        confirmed = is_confirmed(response.response)
        if confirmed is None or call.awaiting != "approval":
            return
        call.approved = confirmed
        call.awaiting = None
        if self._settings.ai_sdk == 7 and response.id is not None:
            self._sink.tool_approval_response(response.id, approved=confirmed)
        if confirmed and call.long_running:
            self._tools.ask_client(call)

    def take_response(self, event: "Event", response: "FunctionResponse", known: Known) -> None:
        """A function response: a result, or a placeholder for one. ``known`` are the calls of who reports it."""
        call = self._registry.answered_by(response.id, response.name or "", known)
        if event.error_code == ABORTED:
            call = self._registry.approval(response.id) or call
        if call is None:
            # The client dies of an output whose call is in another message; history shows it where the call is.
            self._warn(f"Skipped a response of `{response.name}` to a call outside this message")
            return
        failed = failure_text(response.response) is not None
        if event.error_code == ABORTED:
            call.awaiting = None  # closed with its run: the end of the response says so, as it does of any other call
        elif (asked := event.actions.requested_tool_confirmations.get(response.id or "")) is not None:
            # A placeholder: the tool has not run (a gate asks, with an error) or has asked in the middle of its run.
            call.gated = failed
            if not failed:
                write_confirmation(self._sink, call.id, asked)
            if call.awaiting != "approval":  # its request is still to come
                call.awaiting, call.approval_id = "approval", None
        elif response.id in event.actions.requested_auth_configs and not call.wants_credential:
            call.awaiting, call.wants_credential = "credential", True
        elif failed and call.gated and call.approved is False:
            self._tools.deny(call)
        else:  # also of a tool that was run again and could not use the credential: ADK does not ask twice
            self._take_result(event, call, response, failed=failed)

    def _take_result(self, event: "Event", call: ToolCall, response: "FunctionResponse", *, failed: bool) -> None:
        if call.name == REQUEST_CREDENTIAL:
            self._tools.add_result(call, {"provided": True})  # the response itself holds the credential
        elif call.awaiting == "client" and event.author != "user" and not failed:
            # A long-running tool's first word; its last one comes from outside, in a later event.
            self._tools.add_interim(call, response.response)
        elif call.long_running and event.author == "user":
            self._tools.add_result(call, client_output(response.response))
        else:
            self._tools.add_result(call, response.response, preliminary=bool(response.will_continue))
            for media in () if call.hidden else response.parts or ():
                write_media(self._sink, media, event, self._settings.artifact_url)

    def take_progress(self, event: "Event") -> bool:
        """Takes an event in which a running tool speaks, as its branch tells: it ends in ``<tool>@<call id>``."""
        if event.branch is None or event.error_code or (event.content is not None and event.content.role != "user"):
            return False
        parts = (event.content.parts if event.content is not None else None) or []
        if any(part.function_call or part.function_response for part in parts):
            return False  # an agent that runs in the tool's place uses tools of its own
        head, _, call_id = event.branch.rpartition("@")
        call = self._registry.get(call_id)
        if call is None or call.state is not CallState.OPEN or not call.name == event.author == head.rpartition(".")[2]:
            return False
        write_artifacts(self._sink, event, self._settings)
        write_actions(self._sink, event, self._settings)
        if text := "".join(part.text or "" for part in parts):
            self._tools.add_result(call, text, preliminary=True)
        elif event.output is not None:
            self._tools.add_result(call, event.output, preliminary=True)
        for part in () if call.hidden else parts:
            write_media(self._sink, part, event, self._settings.artifact_url)
        return True

    def await_credential(self, request: "FunctionCall") -> None:
        """ADK asks for a credential: the call that needs it waits for that, not for its tool."""
        call = self._registry.get(credential_input(request.args or {}).get("functionCallId"))
        if call is not None and call.state is CallState.OPEN:
            call.awaiting = "credential"

    def take_delegation(self, event: "Event") -> None:
        """A call in whose place an agent speaks: this shows it as handed over, and it holds up no step.

        Its result comes when that agent is done: a task agent's in a later message, perhaps, and any agent's when
        somebody has answered what it asked.
        """
        call = self._registry.get(event.isolation_scope)
        if call is None and event.branch is not None and event.content is not None and event.content.role == "model":
            call = self._registry.get(event.branch.rpartition("@")[2])
        if call is not None and call.state is CallState.OPEN and call.awaiting is None:
            self._tools.add_interim(call, {"agent": event.author})
