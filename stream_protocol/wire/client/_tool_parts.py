"""The tool calls of a message under construction: which part a chunk means, and what it does to it.

Source: ``ui/process-ui-message-stream.ts`` of ``vercel/ai``, read at ``ai@6.0.326`` and ``ai@7.0.173``. A key that is
``undefined`` there is absent here.

A call that is being made is looked for in the current step, static and dynamic calls apart, and gets a new part if it
is not there. A result, a denial or a request for approval finds any part of that call, in the current step first, then
backwards through the message; there must be one.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from stream_protocol.wire._chunks import AiSdkVersion
from stream_protocol.wire._errors import ClientStreamError
from stream_protocol.wire._json_values import to_well_formed
from stream_protocol.wire.client._partial_json import parse_partial_json

Part = dict[str, Any]
Fields = Mapping[str, Any]

_REPLACED: Final = ("input", "output", "errorText", "rawInput", "inputEncoding", "preliminary")
"""An update says all of these; what it leaves out is gone from the part."""

_KEPT: Final = ("title", "toolMetadata", "providerExecuted")
"""An update may say these; what it leaves out stays."""


def step_start(parts: Sequence[Fields]) -> int:
    """Returns where the current step begins: behind the last ``step-start``, or at 0."""
    for index in range(len(parts) - 1, -1, -1):
        if parts[index]["type"] == "step-start":
            return index + 1
    return 0


def out_of_order(kind: str, part_id: str, missing: str, start: str) -> ClientStreamError:
    """Returns the client's error for a chunk whose part has not been started."""
    text = (
        f'Received {kind} for missing {missing} with ID "{part_id}". '
        f'Ensure a "{start}" chunk is sent before any "{kind}" chunks.'
    )
    return _stream_error(text, kind, part_id)


@dataclass(slots=True)
class _PartialCall:
    """The input of a call as it streams. It outlives its part: a later delta brings the part back to this."""

    name: str
    dynamic: bool
    says: dict[str, Any]
    deltas: list[str] = field(default_factory=list)

    def text(self) -> str:
        self.deltas = [to_well_formed("".join(self.deltas))]
        return self.deltas[0]


@dataclass(slots=True)
class _Behind:
    """A part whose ``input`` has not been computed from its call's text yet."""

    part: Part
    call: _PartialCall
    raw: bool
    """Whether the client shows the text itself, too, as ``rawInput``."""


class ToolParts:
    """The tool parts in ``parts``, which is the message's own list and changes under it."""

    def __init__(self, parts: list[Part], *, ai_sdk: AiSdkVersion) -> None:
        self._parts = parts
        self._ai_sdk: AiSdkVersion = ai_sdk
        self._calls: dict[str, _PartialCall] = {}
        self._behind: dict[int, _Behind] = {}
        for part in parts[step_start(parts) :]:
            if _is_tool(part) and part.get("state") == "input-streaming":
                says = _some(part, "inputEncoding", "title", "toolMetadata")
                text: str = part.get("rawInput", "")
                self._calls[part["toolCallId"]] = _PartialCall(_name(part), _is_dynamic(part), says, [text])

    def settle(self) -> None:
        """Computes the inputs that are behind. To be called when a step begins, and when somebody looks."""
        for behind in self._behind.values():
            self._show_input(behind)
        self._behind.clear()

    def find(self, call_id: str) -> Part | None:
        """The part that a result of this call would change; its input may be behind."""
        found = self.find_in_step(call_id)
        return found or next((part for part in reversed(self._parts) if _is_call(part, call_id)), None)

    def find_in_step(self, call_id: str, *, dynamic: bool | None = None) -> Part | None:
        """The first part of this call in the current step; ``dynamic`` asks for one kind."""
        for part in self._parts[step_start(self._parts) :]:
            if _is_call(part, call_id) and dynamic in (None, _is_dynamic(part)):
                return part
        return None

    def forget(self) -> None:
        """Ends all input streams; the parts of the current step are about to go."""
        self._calls.clear()
        self._behind.clear()

    def input_start(self, chunk: Fields) -> None:
        says = _some(chunk, "inputEncoding", "title", "toolMetadata")
        dynamic = chunk.get("dynamic", False)
        self._calls[chunk["toolCallId"]] = _PartialCall(chunk["toolName"], dynamic, says)
        self._put(chunk, "input-streaming", {**says, **_provider(chunk)}, dynamic=dynamic)

    def input_delta(self, chunk: Fields) -> None:
        call_id = chunk["toolCallId"]
        call = self._calls.get(call_id)
        if call is None:
            raise out_of_order("tool-input-delta", call_id, "tool call", "tool-input-start")
        call.deltas.append(chunk["inputTextDelta"])
        part = self.find_in_step(call_id, dynamic=call.dynamic)
        behind = None if part is None else self._behind.get(id(part))
        if behind is not None and behind.raw:
            return
        # a dynamic part that a delta creates, in a later step than its start, gets its raw text from the next delta on
        raw = part is not None or not call.dynamic
        whose = {"toolCallId": call_id, "toolName": call.name}
        part = self._put(whose, "input-streaming", call.says, dynamic=call.dynamic)
        self._behind[id(part)] = _Behind(part, call, raw)

    def input_available(self, chunk: Fields) -> None:
        says = {**_some(chunk, "input", "title", "toolMetadata"), **_provider(chunk)}
        self._put(chunk, "input-available", says, dynamic=chunk.get("dynamic", False))

    def input_error(self, chunk: Fields) -> None:
        existing = self.find_in_step(chunk["toolCallId"])
        dynamic = chunk.get("dynamic", False) if existing is None else _is_dynamic(existing)
        says = {**_some(chunk, "errorText", "toolMetadata"), **_provider(chunk)}
        says["rawInput" if self._ai_sdk == 6 and not dynamic else "input"] = chunk["input"]
        self._put(chunk, "output-error", says, dynamic=dynamic)

    def approval_request(self, chunk: Fields) -> None:
        part = self._anywhere(chunk["toolCallId"])
        approval = {"id": chunk["approvalId"], **_some(chunk, "inputSchemaInput", "signature")}
        if chunk.get("approvalDescriptor") is not None:
            approval["descriptor"] = chunk["approvalDescriptor"]
        if self._ai_sdk == 7 and "reason" in chunk:
            approval["requestReason"] = chunk["reason"]
        if self._ai_sdk == 7 and chunk.get("isAutomatic"):
            approval["isAutomatic"] = True
        part["state"] = "approval-requested"
        part["approval"] = approval

    def approval_response(self, chunk: Fields) -> None:
        part = self._with_approval(chunk["approvalId"])
        part["state"] = "approval-responded"
        part["approval"] = {**part["approval"], **_some(chunk, "approved", "reason")}
        part |= _some(chunk, "providerExecuted")
        if "providerMetadata" in chunk:
            part["callProviderMetadata"] = chunk["providerMetadata"]

    def output_available(self, chunk: Fields) -> None:
        part = self._anywhere(chunk["toolCallId"])
        says = {**_some(part, "input"), **_some(chunk, "output", "preliminary", "toolMetadata"), **_provider(chunk)}
        _update(part, "output-available", says)

    def output_error(self, chunk: Fields) -> None:
        part = self._anywhere(chunk["toolCallId"])
        kept = _some(part, "input") if _is_dynamic(part) else _some(part, "input", "rawInput")
        _update(part, "output-error", {**kept, **_some(chunk, "errorText", "toolMetadata"), **_provider(chunk)})

    def output_denied(self, chunk: Fields) -> None:
        self._anywhere(chunk["toolCallId"])["state"] = "output-denied"

    def _anywhere(self, call_id: str) -> Part:
        found = self.find(call_id)
        if found is None:
            raise _stream_error(f'No tool invocation found for tool call ID "{call_id}".', "tool-invocation", call_id)
        return self._caught_up(found)

    def _with_approval(self, approval_id: str) -> Part:
        for part in self._parts:
            if _is_tool(part) and part.get("approval", {}).get("id") == approval_id:
                return self._caught_up(part)
        text = f'No tool invocation found for approval ID "{approval_id}".'
        raise _stream_error(text, "tool-approval-response", approval_id)

    def _put(self, call: Fields, state: str, says: Fields, *, dynamic: bool) -> Part:
        """Updates the call's part in this step, or adds one. The input is then what ``says`` holds, or none."""
        part = self.find_in_step(call["toolCallId"], dynamic=dynamic)
        if part is None:
            part = {"type": "dynamic-tool", "toolCallId": call["toolCallId"]}
            self._parts.append(part)
        self._behind.pop(id(part), None)
        part |= {"toolName": call["toolName"]} if dynamic else {"type": f"tool-{call['toolName']}"}
        _update(part, state, says)
        return part

    def _caught_up(self, part: Part) -> Part:
        behind = self._behind.pop(id(part), None)
        if behind is not None:
            self._show_input(behind)
        return part

    def _show_input(self, behind: _Behind) -> None:
        text = behind.call.text()
        if behind.raw:
            behind.part["rawInput"] = text
        if behind.call.says.get("inputEncoding") == "text":
            behind.part["input"] = text
            return
        try:
            behind.part["input"] = parse_partial_json(text, ai_sdk=self._ai_sdk)
        except ValueError:
            behind.part.pop("input", None)


TOOL_HANDLERS: Final[Mapping[str, Callable[[ToolParts, Fields], None]]] = MappingProxyType(
    {
        "tool-input-start": ToolParts.input_start,
        "tool-input-delta": ToolParts.input_delta,
        "tool-input-available": ToolParts.input_available,
        "tool-input-error": ToolParts.input_error,
        "tool-approval-request": ToolParts.approval_request,
        "tool-approval-response": ToolParts.approval_response,
        "tool-output-available": ToolParts.output_available,
        "tool-output-error": ToolParts.output_error,
        "tool-output-denied": ToolParts.output_denied,
    }
)
"""What each tool chunk does. Every one of them changes what the page shows."""


def _is_dynamic(part: Fields) -> bool:
    return bool(part["type"] == "dynamic-tool")


def _is_tool(part: Fields) -> bool:
    return _is_dynamic(part) or bool(part["type"].startswith("tool-"))


def _is_call(part: Fields, call_id: str) -> bool:
    return _is_tool(part) and bool(part["toolCallId"] == call_id)


def _name(part: Fields) -> str:
    name: str = part["toolName"] if _is_dynamic(part) else part["type"].removeprefix("tool-")
    return name


def _some(fields: Fields, *keys: str) -> dict[str, Any]:
    return {key: fields[key] for key in keys if key in fields}


def _provider(chunk: Fields) -> dict[str, Any]:
    return _some(chunk, "providerExecuted", "providerMetadata")


def _update(part: Part, state: str, says: Fields) -> None:
    """Brings a part into a state. ``says`` holds keys of the part, and the chunk's ``providerMetadata``."""
    part["state"] = state
    for key in _REPLACED:
        if key in says:
            part[key] = says[key]
        else:
            part.pop(key, None)
    part |= _some(says, *_KEPT)
    if "providerMetadata" in says:
        result = state in ("output-available", "output-error")
        part["resultProviderMetadata" if result else "callProviderMetadata"] = says["providerMetadata"]


def _stream_error(text: str, kind: str, part_id: str) -> ClientStreamError:
    return ClientStreamError(text, error_class="AI_UIMessageStreamError", chunk_type=kind, chunk_id=part_id)
