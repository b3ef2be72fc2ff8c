"""How a response ends: finish reasons, token usage, and failures that ADK reports as events."""

from typing import TYPE_CHECKING, Any

from stream_protocol.wire import FinishReason

if TYPE_CHECKING:
    from google.genai.types import GenerateContentResponseUsageMetadata

ABORTED = "INVOCATION_ABORTED"
"""``error_code`` of the event that ADK writes when a run's abort signal was set."""

NO_CONTENT = "MODEL_RETURNED_NO_CONTENT"
"""``error_code`` of a model response that holds nothing to show."""

FINISH_REASONS: dict[str, FinishReason] = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "SAFETY": "content-filter",
    "RECITATION": "content-filter",
    "BLOCKLIST": "content-filter",
    "PROHIBITED_CONTENT": "content-filter",
    "SPII": "content-filter",
    "IMAGE_SAFETY": "content-filter",
    "IMAGE_PROHIBITED_CONTENT": "content-filter",
    "IMAGE_RECITATION": "content-filter",
    "MALFORMED_FUNCTION_CALL": "error",
    "UNEXPECTED_TOOL_CALL": "error",
    "TOO_MANY_TOOL_CALLS": "error",
    "LANGUAGE": "other",
    "OTHER": "other",
    "IMAGE_OTHER": "other",
    "NO_IMAGE": "other",
    "CONTINUATION": "other",
    "FINISH_REASON_UNSPECIFIED": "other",
}
"""google-genai's ``FinishReason`` -> the AI SDK's; a reason that is not here is ``other``."""

DEFAULT_ERROR_TEXT = "An error occurred."
"""What a client is told of a failure unless the app says otherwise: the text of the official server."""


class AgentRunError(Exception):
    """A failure that ADK reported as an event (``error_code``, ``error_message``) rather than by raising."""

    def __init__(self, code: str, message: str | None) -> None:
        super().__init__(f"{code}: {message}" if message else code)
        self.code = code
        self.message = message


class Usage:
    """Tokens of a message: the sum over its model responses, under the AI SDK's names (``LanguageModelUsage``)."""

    def __init__(self) -> None:
        self._input = self._output = self._total = self._reasoning = self._cached = 0
        self._counted = False

    def add(self, usage: "GenerateContentResponseUsageMetadata") -> None:
        """Counts one model response. Fragments must not be counted: theirs is cumulative."""
        self._counted = True
        reasoning = usage.thoughts_token_count or 0
        prompt = (usage.prompt_token_count or 0) + (usage.tool_use_prompt_token_count or 0)
        output = (usage.candidates_token_count or 0) + reasoning
        self._input += prompt
        self._output += output
        self._total += usage.total_token_count or prompt + output
        self._reasoning += reasoning
        self._cached += usage.cached_content_token_count or 0

    def as_metadata(self) -> dict[str, Any] | None:
        """``None`` if no response told its usage."""
        if not self._counted:
            return None
        return {
            "inputTokens": self._input,
            "inputTokenDetails": {"cacheReadTokens": self._cached},
            "outputTokens": self._output,
            "outputTokenDetails": {"reasoningTokens": self._reasoning},
            "totalTokens": self._total,
        }
