"""Types of the parts that the server itself sends: metadata, ``data-adk-*`` parts, and ADK's questions to the user."""

from typing import Any, Final, NotRequired

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


class AdkUiWidget(TypedDict):
    """A widget that a tool rendered."""

    id: str
    provider: str
    payload: dict[str, Any]


DATA_PARTS: Final[dict[str, Any]] = {
    "adk-agent": AdkAgent,
    "adk-approval": AdkApproval,
    "adk-artifact": AdkArtifact,
    "adk-confirmation": AdkConfirmation,
    "adk-data": Any,
    "adk-denial": AdkDenial,
    "adk-file": AdkFile,
    "adk-output": AdkOutput,
    "adk-progress": AdkProgress,
    "adk-state": dict[str, Any],
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
