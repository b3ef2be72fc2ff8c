"""Types of the data that the server itself sends: metadata, ``data-adk-*`` parts, and ADK's requests to the user."""

from typing import Any, Final, Literal, NotRequired

from typing_extensions import TypedDict

from stream_protocol.adk import REQUEST_CREDENTIAL, REQUEST_INPUT


class InputTokenDetails(TypedDict):
    """Kinds of input tokens."""

    cacheReadTokens: int


class OutputTokenDetails(TypedDict):
    """Kinds of output tokens."""

    reasoningTokens: int


class TokenUsage(TypedDict):
    """Tokens of all model calls for the message."""

    inputTokens: int
    inputTokenDetails: InputTokenDetails
    outputTokens: int
    outputTokenDetails: OutputTokenDetails
    totalTokens: int


class ChatMetadata(TypedDict):
    """Metadata of an assistant message. The client gets the metadata at the end of the response."""

    modelId: NotRequired[str]
    usage: NotRequired[TokenUsage]


AdkAgent = TypedDict("AdkAgent", {"agent": str, "from": NotRequired[str]})
AdkAgent.__doc__ = "The agent whose content follows. `from` is the agent that handed over to it."


class AdkApproval(TypedDict):
    """Reason and descriptor of an approval, for clients without `requestReason` and `descriptor` in `approval`."""

    toolCallId: str
    reason: NotRequired[str]
    descriptor: NotRequired[Any]


class AdkArtifact(TypedDict):
    """A saved version of an artifact. `url` is the URL of this version for the browser."""

    filename: str
    version: int
    url: NotRequired[str]


class CitedSource(TypedDict):
    """A source that a text cites. `id` equals the `sourceId` of a source part in the message."""

    type: Literal["source"]
    sourceType: Literal["url", "document"]
    id: str
    url: NotRequired[str]
    title: NotRequired[str]
    mediaType: NotRequired[str]
    filename: NotRequired[str]
    providerMetadata: NotRequired[dict[str, Any]]


class TextCitation(TypedDict):
    """A cited range of the reply's text, with its source. `citedText` is a quote from the source."""

    source: CitedSource
    startIndex: int
    endIndex: int
    citedText: NotRequired[str]


class AdkCitations(TypedDict):
    """Citations of a text part. `textIndex` is the index of this part among the message's text parts, from 0."""

    textIndex: int
    citations: list[TextCitation]


class AdkCompaction(TypedDict):
    """ADK has summarized the events of this time range for the model. Times are in seconds since 1970."""

    startTimestamp: float
    endTimestamp: float


class AdkConfirmation(TypedDict):
    """The text with which a tool asks for approval, and the payload that the tool expects in the answer."""

    toolCallId: str
    hint: NotRequired[str]
    payload: NotRequired[Any]


class AdkDenial(TypedDict):
    """The output that a tool returned for a call that the user denied."""

    toolCallId: str
    output: Any


class AdkFile(TypedDict):
    """A file in a store that browsers cannot read, such as `gs://`."""

    uri: str
    mediaType: NotRequired[str]
    filename: NotRequired[str]


class AdkSteeringPart(TypedDict):
    """A part of a steering message: a text, or a file with its `mediaType` and `url`."""

    type: Literal["text", "file"]
    text: NotRequired[str]
    mediaType: NotRequired[str]
    url: NotRequired[str]
    filename: NotRequired[str]


class AdkOutput(TypedDict):
    """Output of a workflow node whose event has no content."""

    author: NotRequired[str]
    node: NotRequired[str]
    output: Any


class AdkProgress(TypedDict):
    """Progress of a tool call. `total` is the final value of `progress`, if known."""

    toolCallId: str
    progress: float
    total: NotRequired[float]
    message: NotRequired[str]


class AdkRetry(TypedDict):
    """A workflow node runs again after a failed attempt."""

    author: str
    node: str


class AdkSearchSuggestions(TypedDict):
    """Google searches of a grounded reply. `renderedContent` is Google's HTML: show it in a frame without scripts."""

    webSearchQueries: list[str]
    renderedContent: NotRequired[str]


class AdkSteering(TypedDict):
    """A message that the user sent while the agent was working. `parts` have the form of a user message's parts."""

    id: str
    parts: list[AdkSteeringPart]


class AdkUiWidget(TypedDict):
    """A widget that a tool has rendered."""

    id: str
    provider: str
    payload: dict[str, Any]


DATA_PARTS: Final[dict[str, Any]] = {
    "adk-agent": AdkAgent,
    "adk-approval": AdkApproval,
    "adk-artifact": AdkArtifact,
    "adk-citations": AdkCitations,
    "adk-compaction": AdkCompaction,
    "adk-confirmation": AdkConfirmation,
    "adk-data": Any,
    "adk-denial": AdkDenial,
    "adk-file": AdkFile,
    "adk-output": AdkOutput,
    "adk-progress": AdkProgress,
    "adk-retry": AdkRetry,
    "adk-search-suggestions": AdkSearchSuggestions,
    "adk-state": dict[str, Any],
    "adk-steering": AdkSteering,
    "adk-ui-widget": AdkUiWidget,
}
"""Name without ``data-`` -> type of the data."""


class RequestInput(TypedDict):
    """A question of the agent. `response_schema` is the answer's JSON schema. Without a schema, the answer is text."""

    message: NotRequired[str | None]
    payload: NotRequired[Any]
    response_schema: NotRequired[dict[str, Any] | None]


class RequestCredential(TypedDict):
    """A request to sign in. `functionCallId` is the id of the tool call that needs the credential."""

    functionCallId: NotRequired[str]
    message: NotRequired[str]
    schemeType: NotRequired[str]
    scopes: NotRequired[list[str]]
    authUri: NotRequired[str]
    state: NotRequired[str]


REQUESTS: Final[dict[str, type]] = {REQUEST_CREDENTIAL: RequestCredential, REQUEST_INPUT: RequestInput}
"""Name of a call with which ADK asks the user -> type of its input. Any agent may make these calls."""
