"""The tool calls of the client's reducer: finds the part to which a chunk belongs, and changes the part.

Mirrors ``ui/process-ui-message-stream.ts`` of ``vercel/ai``, read at ``ai@6.0.326`` and ``ai@7.0.173``. A key that is
``undefined`` in the client is absent here.

For a chunk with input, the client searches the current step for a part of the call. If there is none, the client adds a
part. A static call (``tool-NAME``) and a ``dynamic-tool`` call never share a part. For a result, a denial or an
approval request, the client also searches earlier steps, and fails if it finds no part.
"""

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from stream_protocol.wire._chunks import AiSdkVersion
from stream_protocol.wire._errors import ClientStreamError
from stream_protocol.wire._json_values import to_well_formed
from stream_protocol.wire.client._partial_json import parse_partial_json

MutablePart = dict[str, Any]

JsonObject = Mapping[str, Any]

_REPLACED_KEYS: Final = ("input", "output", "errorText", "rawInput", "inputEncoding", "preliminary")
"""Keys that each update of a part sets or removes."""

_KEPT_KEYS: Final = ("title", "toolMetadata", "providerExecuted")
"""Keys that an update of a part may set, but never removes."""


def step_start(parts: Sequence[JsonObject]) -> int:
    """Return the index after the last ``step-start`` part; 0 if there is none."""
    for index in range(len(parts) - 1, -1, -1):
        if parts[index]["type"] == "step-start":
            return index + 1
    return 0


def out_of_order(kind: str, part_id: str, missing: str, start: str) -> ClientStreamError:
    """Return the client's error for a chunk of a part that was never started."""
    text = (
        f'Received {kind} for missing {missing} with ID "{part_id}". '
        f'Ensure a "{start}" chunk is sent before any "{kind}" chunks.'
    )
    return _stream_error(text, kind, part_id)


@dataclass(slots=True)
class _PartialCall:
    """The streamed input of a tool call."""

    name: str
    dynamic: bool
    keys: dict[str, Any]
    """Keys of the start chunk, which each update of the part sets again."""
    deltas: list[str] = field(default_factory=list)

    def text(self) -> str:
        """Return the joined deltas. The joined text replaces the list of deltas, so that each delta is joined only
        once.
        """
        self.deltas = [to_well_formed("".join(self.deltas))]
        return self.deltas[0]


@dataclass(slots=True)
class _StaleInput:
    part: MutablePart
    call: _PartialCall
    shows_text: bool
    """True if the client also shows the text as ``rawInput``."""


class ToolParts:
    """The tool parts of a message. ``parts``: the message's list of parts, which this class and the reducer change.

    The client parses an input after each delta. This class parses inputs only in ``compute_inputs``.
    """

    def __init__(self, parts: list[MutablePart], *, ai_sdk: AiSdkVersion) -> None:
        self._parts = parts
        self._ai_sdk: AiSdkVersion = ai_sdk
        self._calls: dict[str, _PartialCall] = {}
        self._stale: dict[int, _StaleInput] = {}
        """``id()`` of a part -> the part, if its input is out of date."""
        self._places: dict[str, list[int]] = {}
        """Id of a call -> indexes of its parts, among the first ``_placed`` parts."""
        self._placed = 0
        self._step = 0
        """The index of the first part of the current step, among the first ``_placed`` parts."""
        for part in parts[step_start(parts) :]:
            if _is_tool(part) and part.get("state") == "input-streaming":
                keys = _pick(part, "inputEncoding", "title", "toolMetadata")
                text: str = part.get("rawInput", "")
                self._calls[part["toolCallId"]] = _PartialCall(_tool_name(part), _is_dynamic(part), keys, [text])

    def compute_inputs(self) -> None:
        """Parse all inputs that have new deltas. Call this method when a step begins, and before a part is read."""
        for stale in self._stale.values():
            self._compute_input(stale)
        self._stale.clear()

    def find(self, call_id: str) -> MutablePart | None:
        """Return the part that a result of this tool call would change. The part's ``input`` may lack the newest
        deltas.
        """
        found = self.find_in_step(call_id)
        if found is None and (places := self._places_of(call_id)):
            return self._parts[places[-1]]
        return found

    def find_in_step(self, call_id: str, *, dynamic: bool | None = None) -> MutablePart | None:
        """Return the first part of this call in the current step; ``None`` if there is none. ``dynamic``: True to
        search only ``dynamic-tool`` parts, False to search only ``tool-NAME`` parts.
        """
        places = self._places_of(call_id)
        for index in places[bisect_left(places, self._step) :]:
            part = self._parts[index]
            if dynamic in (None, _is_dynamic(part)):
                return part
        return None

    def reset_step(self) -> list[MutablePart]:
        """Remove and return the parts of the current step. After this, deltas for the inputs in this step are
        errors.
        """
        self._calls.clear()
        self._stale.clear()
        begin = step_start(self._parts)
        removed = self._parts[begin:]
        del self._parts[begin:]
        self._places.clear()
        self._placed = self._step = 0
        return removed

    def input_start(self, chunk: JsonObject) -> None:
        keys = _pick(chunk, "inputEncoding", "title", "toolMetadata")
        dynamic = chunk.get("dynamic", False)
        self._calls[chunk["toolCallId"]] = _PartialCall(chunk["toolName"], dynamic, keys)
        self._put(chunk, "input-streaming", {**keys, **_provider_keys(chunk)}, dynamic=dynamic)

    def input_delta(self, chunk: JsonObject) -> None:
        call_id = chunk["toolCallId"]
        call = self._calls.get(call_id)
        if call is None:
            raise out_of_order("tool-input-delta", call_id, "tool call", "tool-input-start")
        call.deltas.append(chunk["inputTextDelta"])
        part = self.find_in_step(call_id, dynamic=call.dynamic)
        stale = None if part is None else self._stale.get(id(part))
        if stale is not None and stale.shows_text:
            return
        # For a delta in a later step, the client adds a dynamic part without raw text. The next delta sets the text.
        shows_text = part is not None or not call.dynamic
        chunk_of_call = {"toolCallId": call_id, "toolName": call.name}
        part = self._put(chunk_of_call, "input-streaming", call.keys, dynamic=call.dynamic)
        self._stale[id(part)] = _StaleInput(part, call, shows_text)

    def input_available(self, chunk: JsonObject) -> None:
        keys = {**_pick(chunk, "input", "title", "toolMetadata"), **_provider_keys(chunk)}
        self._put(chunk, "input-available", keys, dynamic=chunk.get("dynamic", False))

    def input_error(self, chunk: JsonObject) -> None:
        existing = self.find_in_step(chunk["toolCallId"])
        dynamic = chunk.get("dynamic", False) if existing is None else _is_dynamic(existing)
        keys = {**_pick(chunk, "errorText", "toolMetadata"), **_provider_keys(chunk)}
        keys["rawInput" if self._ai_sdk == 6 and not dynamic else "input"] = chunk["input"]
        self._put(chunk, "output-error", keys, dynamic=dynamic)

    def approval_request(self, chunk: JsonObject) -> None:
        part = self._part_of_call(chunk["toolCallId"])
        approval = {"id": chunk["approvalId"], **_pick(chunk, "inputSchemaInput", "signature")}
        if chunk.get("approvalDescriptor") is not None:
            approval["descriptor"] = chunk["approvalDescriptor"]
        if self._ai_sdk == 7 and "reason" in chunk:
            approval["requestReason"] = chunk["reason"]
        if self._ai_sdk == 7 and chunk.get("isAutomatic"):
            approval["isAutomatic"] = True
        part["state"] = "approval-requested"
        part["approval"] = approval

    def approval_response(self, chunk: JsonObject) -> None:
        part = self._part_of_approval(chunk["approvalId"])
        part["state"] = "approval-responded"
        part["approval"] = {**part["approval"], **_pick(chunk, "approved", "reason")}
        part |= _pick(chunk, "providerExecuted")
        if "providerMetadata" in chunk:
            part["callProviderMetadata"] = chunk["providerMetadata"]

    def output_available(self, chunk: JsonObject) -> None:
        part = self._part_of_call(chunk["toolCallId"])
        keys = {
            **_pick(part, "input"),
            **_pick(chunk, "output", "preliminary", "toolMetadata"),
            **_provider_keys(chunk),
        }
        _update(part, "output-available", keys)

    def output_error(self, chunk: JsonObject) -> None:
        part = self._part_of_call(chunk["toolCallId"])
        kept = _pick(part, "input") if _is_dynamic(part) else _pick(part, "input", "rawInput")
        _update(part, "output-error", {**kept, **_pick(chunk, "errorText", "toolMetadata"), **_provider_keys(chunk)})

    def output_denied(self, chunk: JsonObject) -> None:
        self._part_of_call(chunk["toolCallId"])["state"] = "output-denied"

    def _places_of(self, call_id: str) -> list[int]:
        for index in range(self._placed, len(self._parts)):
            part = self._parts[index]
            if part["type"] == "step-start":
                self._step = index + 1
            elif _is_tool(part):
                self._places.setdefault(part["toolCallId"], []).append(index)
        self._placed = len(self._parts)
        return self._places.get(call_id, [])

    def _part_of_call(self, call_id: str) -> MutablePart:
        found = self.find(call_id)
        if found is None:
            raise _stream_error(f'No tool invocation found for tool call ID "{call_id}".', "tool-invocation", call_id)
        return self._with_computed_input(found)

    def _part_of_approval(self, approval_id: str) -> MutablePart:
        for part in self._parts:
            if _is_tool(part) and part.get("approval", {}).get("id") == approval_id:
                return self._with_computed_input(part)
        text = f'No tool invocation found for approval ID "{approval_id}".'
        raise _stream_error(text, "tool-approval-response", approval_id)

    def _put(self, call: JsonObject, state: str, keys: JsonObject, *, dynamic: bool) -> MutablePart:
        """Update the call's part in the current step. Adds a part if there is none.

        ``call``: an object with ``toolCallId`` and ``toolName``. ``keys``: the new keys of the part. If ``keys`` lacks
        ``input``, the part's input is removed.
        """
        part = self.find_in_step(call["toolCallId"], dynamic=dynamic)
        if part is None:
            part = {"type": "dynamic-tool", "toolCallId": call["toolCallId"]}
            self._parts.append(part)
        self._stale.pop(id(part), None)
        part |= {"toolName": call["toolName"]} if dynamic else {"type": f"tool-{call['toolName']}"}
        _update(part, state, keys)
        return part

    def _with_computed_input(self, part: MutablePart) -> MutablePart:
        stale = self._stale.pop(id(part), None)
        if stale is not None:
            self._compute_input(stale)
        return part

    def _compute_input(self, stale: _StaleInput) -> None:
        text = stale.call.text()
        if stale.shows_text:
            stale.part["rawInput"] = text
        if stale.call.keys.get("inputEncoding") == "text":
            stale.part["input"] = text
            return
        try:
            stale.part["input"] = parse_partial_json(text, ai_sdk=self._ai_sdk)
        except ValueError:
            stale.part.pop("input", None)


TOOL_HANDLERS: Final[Mapping[str, Callable[[ToolParts, JsonObject], None]]] = MappingProxyType(
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


def _is_dynamic(part: JsonObject) -> bool:
    return bool(part["type"] == "dynamic-tool")


def _is_tool(part: JsonObject) -> bool:
    return _is_dynamic(part) or bool(part["type"].startswith("tool-"))


def _tool_name(part: JsonObject) -> str:
    name: str = part["toolName"] if _is_dynamic(part) else part["type"].removeprefix("tool-")
    return name


def _pick(source: JsonObject, *keys: str) -> dict[str, Any]:
    return {key: source[key] for key in keys if key in source}


def _provider_keys(chunk: JsonObject) -> dict[str, Any]:
    return _pick(chunk, "providerExecuted", "providerMetadata")


def _update(part: MutablePart, state: str, keys: JsonObject) -> None:
    """Set the state and other keys of a part. ``keys``: the new keys, which may include ``providerMetadata``."""
    part["state"] = state
    for key in _REPLACED_KEYS:
        if key in keys:
            part[key] = keys[key]
        else:
            part.pop(key, None)
    part |= _pick(keys, *_KEPT_KEYS)
    if "providerMetadata" in keys:
        result = state in ("output-available", "output-error")
        part["resultProviderMetadata" if result else "callProviderMetadata"] = keys["providerMetadata"]


def _stream_error(text: str, kind: str, part_id: str) -> ClientStreamError:
    return ClientStreamError(text, error_class="AI_UIMessageStreamError", chunk_type=kind, chunk_id=part_id)
