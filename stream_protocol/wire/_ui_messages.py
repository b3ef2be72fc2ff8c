"""Types of UI messages, their parts, and the states of tool calls.

Source: ``ui/ui-messages.ts`` of ``vercel/ai``, read at ``ai@6.0.326`` and ``ai@7.0.173``.
"""

from typing import Any, Final, Literal, NotRequired, TypedDict, TypeGuard

from stream_protocol.wire._chunks import ProviderMetadata

ToolState = Literal[
    "input-streaming",
    "input-available",
    "approval-requested",
    "approval-responded",
    "output-available",
    "output-error",
    "output-denied",
]


class TextPart(TypedDict):
    type: Literal["text"]
    text: str
    state: NotRequired[Literal["streaming", "done"]]
    providerMetadata: NotRequired[ProviderMetadata]


class ReasoningPart(TypedDict):
    type: Literal["reasoning"]
    text: str
    id: NotRequired[str]
    state: NotRequired[Literal["streaming", "done"]]
    providerMetadata: NotRequired[ProviderMetadata]


class FilePart(TypedDict):
    type: Literal["file"]
    mediaType: str
    url: str
    filename: NotRequired[str]
    providerMetadata: NotRequired[ProviderMetadata]


class SourceUrlPart(TypedDict):
    type: Literal["source-url"]
    sourceId: str
    url: str
    title: NotRequired[str]
    providerMetadata: NotRequired[ProviderMetadata]


class SourceDocumentPart(TypedDict):
    type: Literal["source-document"]
    sourceId: str
    mediaType: str
    title: str
    filename: NotRequired[str]
    providerMetadata: NotRequired[ProviderMetadata]


class StepStartPart(TypedDict):
    type: Literal["step-start"]


class ReasoningFilePart(TypedDict):
    """A file of the model's reasoning. Only v7 clients have this part."""

    type: Literal["reasoning-file"]
    mediaType: str
    url: str
    providerMetadata: NotRequired[ProviderMetadata]


class CustomPart(TypedDict):
    """A part of a custom kind. Only v7 clients have this part."""

    type: Literal["custom"]
    kind: str
    providerMetadata: NotRequired[ProviderMetadata]


class SteeringMessagePart(TypedDict):
    """A message that the user sent while the agent was working. Only v7 clients have this part."""

    type: Literal["steering-message"]
    id: str
    parts: list[dict[str, Any]]


class Approval(TypedDict):
    """The approval of a tool call. ``approved`` is absent until the user decides. If this object has keys that the
    client does not know, the client sends them back unchanged.
    """

    id: str
    approved: NotRequired[bool]
    reason: NotRequired[str]
    requestReason: NotRequired[str]
    descriptor: NotRequired[Any]


class ToolPart(TypedDict):
    """A tool call and its state. ``type`` is ``dynamic-tool``, or ``tool-`` followed by the tool's name."""

    type: str
    toolCallId: str
    state: ToolState
    toolName: NotRequired[str]
    input: NotRequired[Any]
    rawInput: NotRequired[Any]
    output: NotRequired[Any]
    errorText: NotRequired[str]
    preliminary: NotRequired[bool]
    approval: NotRequired[Approval]
    title: NotRequired[str]
    providerExecuted: NotRequired[bool]
    callProviderMetadata: NotRequired[ProviderMetadata]
    resultProviderMetadata: NotRequired[ProviderMetadata]


class DataPart(TypedDict):
    """A part that an app defines. ``type`` is ``data-`` followed by a name."""

    type: str
    data: Any
    id: NotRequired[str]


UIPart = (
    TextPart
    | ReasoningPart
    | FilePart
    | SourceUrlPart
    | SourceDocumentPart
    | StepStartPart
    | ReasoningFilePart
    | CustomPart
    | SteeringMessagePart
    | ToolPart
    | DataPart
)


class UIMessage(TypedDict):
    """A message of a chat. ``role`` is ``system``, ``user`` or ``assistant``. Parts may have unknown types."""

    id: str
    role: str
    parts: list[UIPart]
    metadata: NotRequired[Any]


def is_tool_part(part: UIPart) -> TypeGuard[ToolPart]:
    """Return True if the part is a tool call: static (``tool-NAME``) or dynamic (``dynamic-tool``)."""
    return part["type"].startswith("tool-") or part["type"] == "dynamic-tool"


def is_nested_message(output: Any, call_id: Any) -> bool:
    """Return True if the output of a call is the message of a sub-agent. The id of this message equals the id of the
    call.
    """
    match output:
        case {"id": str(message_id), "role": "assistant", "parts": list()}:
            return bool(message_id == call_id)
    return False


RUN_STOPPED_TEXT: Final = "The run was stopped before the tool finished."
"""The error text of a call whose run was stopped."""


def tool_result(part: ToolPart) -> Any:
    """Return the output of a tool call as the model receives it. If the client shows a sub-agent's message as the
    output, the model receives only the tool's result.
    """
    output = part.get("output")
    if not is_nested_message(output, part["toolCallId"]):
        return output
    match output:
        case {"metadata": {"result": result}}:
            return result
        case {"metadata": {"stopped": True}}:
            return {"error": RUN_STOPPED_TEXT}
    return {"agent": tool_name(part)}  # the sub-agent has not ended


def tool_name(part: ToolPart) -> str:
    return part.get("toolName", "") if part["type"] == "dynamic-tool" else part["type"].removeprefix("tool-")
