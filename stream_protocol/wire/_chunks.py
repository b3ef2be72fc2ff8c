"""Types of the chunks in a UI message stream: a ``TypedDict`` for each type, and their union ``Chunk``.

Source: ``packages/ai/src/ui-message-stream/ui-message-chunks.ts`` of ``vercel/ai``, read at ``ai@6.0.326`` and
``ai@7.0.173``. Clients before 6.0.231 and 7.0.32 fail on an unknown key. So these types have only keys that all
supported clients accept. The oldest supported v6 client is 6.0.39. If only newer clients accept a key, its docstring
names their versions.

A key that is ``NotRequired`` must not be ``None``. ``input``, ``output``, ``data`` and the ``messageMetadata`` of
``message-metadata`` are required, and may be ``None``.
"""

from typing import Any, Final, Literal, NotRequired, TypedDict

AiSdkVersion = Literal[6, 7]
"""The major version of the ``ai`` package in the browser. The app sets it, because the protocol does not negotiate
versions."""

AI_SDK_VERSIONS: Final[tuple[AiSdkVersion, ...]] = (6, 7)
"""The supported major versions of the ``ai`` package."""

FinishReason = Literal["stop", "length", "content-filter", "tool-calls", "error", "other"]
"""The finish reasons that all v6 and v7 clients accept. A client fails on any other text."""

ProviderMetadata = dict[str, dict[str, Any]]
"""Provider -> JSON object with the provider's own keys."""


class StartChunk(TypedDict):
    type: Literal["start"]
    messageId: NotRequired[str]
    messageMetadata: NotRequired[Any]


class FinishChunk(TypedDict):
    type: Literal["finish"]
    finishReason: NotRequired[FinishReason]
    messageMetadata: NotRequired[Any]


class AbortChunk(TypedDict):
    type: Literal["abort"]
    reason: NotRequired[str]


class ErrorChunk(TypedDict):
    type: Literal["error"]
    errorText: str


class StartStepChunk(TypedDict):
    type: Literal["start-step"]


class FinishStepChunk(TypedDict):
    type: Literal["finish-step"]


class MessageMetadataChunk(TypedDict):
    type: Literal["message-metadata"]
    messageMetadata: Any


class TextStartChunk(TypedDict):
    type: Literal["text-start"]
    id: str
    providerMetadata: NotRequired[ProviderMetadata]


class TextDeltaChunk(TypedDict):
    type: Literal["text-delta"]
    id: str
    delta: str
    providerMetadata: NotRequired[ProviderMetadata]


class UrlSource(TypedDict):
    type: Literal["source"]
    sourceType: Literal["url"]
    id: str
    url: str
    title: NotRequired[str]
    providerMetadata: NotRequired[ProviderMetadata]


class DocumentSource(TypedDict):
    type: Literal["source"]
    sourceType: Literal["document"]
    id: str
    mediaType: str
    title: str
    filename: NotRequired[str]
    providerMetadata: NotRequired[ProviderMetadata]


class TextCitation(TypedDict):
    """A cited range of a text part, and its source. ``startIndex`` and ``endIndex`` count UTF-16 units, as in
    JavaScript.
    """

    source: UrlSource | DocumentSource
    startIndex: NotRequired[int]
    endIndex: NotRequired[int]
    citedText: NotRequired[str]
    """The cited text of the source."""


class TextEndChunk(TypedDict):
    type: Literal["text-end"]
    id: str
    citations: NotRequired[list[TextCitation]]
    """Only for v7 clients since 7.0.138."""
    providerMetadata: NotRequired[ProviderMetadata]


class ReasoningStartChunk(TypedDict):
    type: Literal["reasoning-start"]
    id: str
    providerMetadata: NotRequired[ProviderMetadata]


class ReasoningDeltaChunk(TypedDict):
    type: Literal["reasoning-delta"]
    id: str
    delta: str
    providerMetadata: NotRequired[ProviderMetadata]


class ReasoningEndChunk(TypedDict):
    type: Literal["reasoning-end"]
    id: str
    providerMetadata: NotRequired[ProviderMetadata]


class SourceUrlChunk(TypedDict):
    type: Literal["source-url"]
    sourceId: str
    url: str
    title: NotRequired[str]
    providerMetadata: NotRequired[ProviderMetadata]


class SourceDocumentChunk(TypedDict):
    type: Literal["source-document"]
    sourceId: str
    mediaType: str
    title: str
    filename: NotRequired[str]
    providerMetadata: NotRequired[ProviderMetadata]


class FileChunk(TypedDict):
    type: Literal["file"]
    url: str
    mediaType: str
    providerMetadata: NotRequired[ProviderMetadata]


class ToolInputStartChunk(TypedDict):
    type: Literal["tool-input-start"]
    toolCallId: str
    toolName: str
    providerExecuted: NotRequired[bool]
    dynamic: NotRequired[bool]
    title: NotRequired[str]
    providerMetadata: NotRequired[ProviderMetadata]


class ToolInputDeltaChunk(TypedDict):
    type: Literal["tool-input-delta"]
    toolCallId: str
    inputTextDelta: str


class ToolInputAvailableChunk(TypedDict):
    type: Literal["tool-input-available"]
    toolCallId: str
    toolName: str
    input: Any
    providerExecuted: NotRequired[bool]
    dynamic: NotRequired[bool]
    title: NotRequired[str]
    providerMetadata: NotRequired[ProviderMetadata]


class ToolInputErrorChunk(TypedDict):
    type: Literal["tool-input-error"]
    toolCallId: str
    toolName: str
    input: Any
    errorText: str
    providerExecuted: NotRequired[bool]
    dynamic: NotRequired[bool]
    title: NotRequired[str]
    providerMetadata: NotRequired[ProviderMetadata]


class ToolApprovalRequestChunk(TypedDict):
    type: Literal["tool-approval-request"]
    approvalId: str
    toolCallId: str
    reason: NotRequired[str]
    """Only for v7 clients since 7.0.82."""
    approvalDescriptor: NotRequired[Any]
    """Only for clients since 6.0.274 and 7.0.87."""


class ToolOutputAvailableChunk(TypedDict):
    type: Literal["tool-output-available"]
    toolCallId: str
    output: Any
    preliminary: NotRequired[bool]
    providerExecuted: NotRequired[bool]
    dynamic: NotRequired[bool]


class ToolOutputErrorChunk(TypedDict):
    type: Literal["tool-output-error"]
    toolCallId: str
    errorText: str
    providerExecuted: NotRequired[bool]
    dynamic: NotRequired[bool]


class ToolOutputDeniedChunk(TypedDict):
    type: Literal["tool-output-denied"]
    toolCallId: str


class DataChunk(TypedDict):
    """A chunk for a part that an app defines. Its ``type`` is ``data-`` followed by a name.

    The union ``Chunk`` does not include ``DataChunk``, because a ``Literal`` cannot express "``data-`` and any name".
    """

    type: str
    data: Any
    id: NotRequired[str]
    transient: NotRequired[bool]


# Chunks for v7 clients only: a v6 client fails on each of them


class ToolApprovalResponseChunk(TypedDict):
    type: Literal["tool-approval-response"]
    approvalId: str
    approved: bool
    reason: NotRequired[str]
    providerExecuted: NotRequired[bool]
    providerMetadata: NotRequired[ProviderMetadata]


class CustomChunk(TypedDict):
    type: Literal["custom"]
    kind: str
    providerMetadata: NotRequired[ProviderMetadata]


class ReasoningFileChunk(TypedDict):
    type: Literal["reasoning-file"]
    url: str
    mediaType: str
    providerMetadata: NotRequired[ProviderMetadata]


class ResetStepChunk(TypedDict):
    """Removes the parts of the current step. Only clients since 7.0.70 accept this chunk."""

    type: Literal["reset-step"]


class SteeringMessageChunk(TypedDict):
    """A message that the user sent while the agent was working. ``parts``: text and file parts. Only clients since
    7.0.163 accept this chunk.
    """

    type: Literal["steering-message"]
    id: str
    parts: list[dict[str, Any]]


V6Chunk = (
    StartChunk
    | FinishChunk
    | AbortChunk
    | ErrorChunk
    | StartStepChunk
    | FinishStepChunk
    | MessageMetadataChunk
    | TextStartChunk
    | TextDeltaChunk
    | TextEndChunk
    | ReasoningStartChunk
    | ReasoningDeltaChunk
    | ReasoningEndChunk
    | SourceUrlChunk
    | SourceDocumentChunk
    | FileChunk
    | ToolInputStartChunk
    | ToolInputDeltaChunk
    | ToolInputAvailableChunk
    | ToolInputErrorChunk
    | ToolApprovalRequestChunk
    | ToolOutputAvailableChunk
    | ToolOutputErrorChunk
    | ToolOutputDeniedChunk
)
V7OnlyChunk = ToolApprovalResponseChunk | CustomChunk | ReasoningFileChunk | ResetStepChunk | SteeringMessageChunk

Chunk = V6Chunk | V7OnlyChunk
"""All chunks whose ``type`` is a literal. Type checkers narrow this union by ``chunk["type"]``."""

AnyChunk = Chunk | DataChunk
"""A chunk of the protocol, including ``data-*`` parts that an app defines."""
