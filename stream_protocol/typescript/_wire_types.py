"""Types of the parts that the server itself sends: metadata, ``data-adk-*`` parts, and ADK's questions to the user."""

from typing import Any, Final, Literal, NotRequired

from typing_extensions import TypedDict

from stream_protocol.adk import REQUEST_CREDENTIAL, REQUEST_INPUT


class InputTokenDetails(TypedDict):
    """Of the input tokens."""

    cacheReadTokens: int


class OutputTokenDetails(TypedDict):
    """Of the output tokens."""

    reasoningTokens: int


class TokenUsage(TypedDict):
    """Tokens of all model calls of the message."""

    inputTokens: int
    inputTokenDetails: InputTokenDetails
    outputTokens: int
    outputTokenDetails: OutputTokenDetails
    totalTokens: int


class ChatMetadata(TypedDict):
    """The metadata of an answer: it comes at its end."""

    modelId: NotRequired[str]
    usage: NotRequired[TokenUsage]


AdkAgent = TypedDict("AdkAgent", {"agent": str, "from": NotRequired[str]})
AdkAgent.__doc__ = "The agent that speaks from here on, and the one that handed over."


class AdkApproval(TypedDict):
    """A tool's words about its approval, for clients whose `approval` has no `requestReason` and `descriptor`."""

    toolCallId: str
    reason: NotRequired[str]
    descriptor: NotRequired[Any]


class AdkArtifact(TypedDict):
    """A version of an artifact that was saved, and where the page can load it."""

    filename: str
    version: int
    url: NotRequired[str]


class CitedSource(TypedDict):
    """A source of a text. `id` is the `sourceId` of its own part."""

    type: Literal["source"]
    sourceType: Literal["url", "document"]
    id: str
    url: NotRequired[str]
    title: NotRequired[str]
    mediaType: NotRequired[str]
    filename: NotRequired[str]
    providerMetadata: NotRequired[dict[str, Any]]


class TextCitation(TypedDict):
    """A place in a text that rests on a source, and the words of the source."""

    source: CitedSource
    startIndex: int
    endIndex: int
    citedText: NotRequired[str]


class AdkCitations(TypedDict):
    """The citations of a text. `textIndex` counts the text parts of the message from 0."""

    textIndex: int
    citations: list[TextCitation]


class AdkCompaction(TypedDict):
    """ADK has summarized events of this time for the model, in seconds since 1970."""

    startTimestamp: float
    endTimestamp: float


class AdkConfirmation(TypedDict):
    """A tool's request for approval, with its hint and the payload that it expects back."""

    toolCallId: str
    hint: NotRequired[str]
    payload: NotRequired[Any]


class AdkDenial(TypedDict):
    """The result of a tool whose call was denied."""

    toolCallId: str
    output: Any


class AdkFile(TypedDict):
    """A file in a store that no browser can read, such as `gs://`."""

    uri: str
    mediaType: NotRequired[str]
    filename: NotRequired[str]


class AdkSteeringPart(TypedDict):
    """A text, or a file with its `mediaType` and `url`."""

    type: Literal["text", "file"]
    text: NotRequired[str]
    mediaType: NotRequired[str]
    url: NotRequired[str]
    filename: NotRequired[str]


class AdkOutput(TypedDict):
    """The output of a workflow's node that is not part of any text."""

    author: NotRequired[str]
    node: NotRequired[str]
    output: Any


class AdkProgress(TypedDict):
    """The progress of a call: so much of the `total`, if that is known."""

    toolCallId: str
    progress: float
    total: NotRequired[float]
    message: NotRequired[str]


class AdkRetry(TypedDict):
    """A node whose attempt failed tries again."""

    author: str
    node: str


class AdkSearchSuggestions(TypedDict):
    """Google's searches behind an answer. `renderedContent` is HTML of Google: show it in a frame without scripts."""

    webSearchQueries: list[str]
    renderedContent: NotRequired[str]


class AdkSteering(TypedDict):
    """A message of the user that the agent took in here, while it worked. `parts` as in a user's message."""

    id: str
    parts: list[AdkSteeringPart]


class AdkUiWidget(TypedDict):
    """A widget that a tool rendered."""

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
"""Name of a part, without ``data-`` -> the type of its data."""


class RequestInput(TypedDict):
    """A question of the agent. The answer follows `response_schema`, a JSON schema; without one it is text."""

    message: NotRequired[str | None]
    payload: NotRequired[Any]
    response_schema: NotRequired[dict[str, Any] | None]


class RequestCredential(TypedDict):
    """Asks the user to sign in. `functionCallId` is the call that waits for it."""

    functionCallId: NotRequired[str]
    message: NotRequired[str]
    schemeType: NotRequired[str]
    scopes: NotRequired[list[str]]
    authUri: NotRequired[str]
    state: NotRequired[str]


REQUESTS: Final[dict[str, type]] = {REQUEST_CREDENTIAL: RequestCredential, REQUEST_INPUT: RequestInput}
"""Name of a call by which ADK asks the user -> the type of its input. Any agent may ask."""
