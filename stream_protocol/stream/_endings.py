"""The data for the end of a response: finish reason, token usage, and failures that ADK reports as events."""

from dataclasses import dataclass
from operator import add
from typing import Any

from stream_protocol.adk import ABORTED, FINISH_REASONS, EventFacts, Failure, LiveTurnEnd, TokenUsage
from stream_protocol.wire import FinishReason

DEFAULT_ERROR_TEXT = "An error occurred."
"""The error text for the client without ``on_error``, as in the AI SDK's server."""


class AgentRunError(Exception):
    """A failure that ADK reported in the fields ``error_code`` and ``error_message`` of an event, without an exception.

    The error has a code, a message or both. For example, the error has no code if a remote agent cannot be reached.
    """

    def __init__(self, code: str | None, message: str | None) -> None:
        super().__init__(": ".join(text for text in (code, message) if text))
        self.code = code
        self.message = message


class RunLimitError(Exception):
    """Raised when a run reaches a limit of the server: time, size, or number of model calls.

    ``str(error)`` is one plain sentence. If the app does not set ``on_error``, the client gets this sentence.
    """


@dataclass(slots=True, eq=False)
class RunSummary:
    """The token usage, the model and the ending of a run."""

    _usage: TokenUsage | None = None
    """The total token usage of all model responses in the message."""
    model_id: str | None = None
    _interrupted: bool = False
    """True if the user has interrupted the agent of a live run, and no content has followed."""
    aborted: bool = False
    """True if an event reports that the run was stopped, and no failure has followed."""
    _reason: str | None = None
    """The newest finish reason, as google-genai names it."""
    _failures: tuple[tuple[str | None, AgentRunError], ...] = ()
    """Branch and error of each failure from which the run has not recovered."""

    @property
    def failure(self) -> AgentRunError | None:
        """The first failure, unless the run has recovered from it; otherwise ``None``."""
        return self._failures[0][1] if self._failures else None

    @property
    def usage(self) -> dict[str, Any] | None:
        """The token counts as the AI SDK's ``LanguageModelUsage``; ``None`` if the model reported none."""
        if self._usage is None:
            return None
        return {
            "inputTokens": self._usage.prompt,
            "inputTokenDetails": {"cacheReadTokens": self._usage.cached},
            "outputTokens": self._usage.output,
            "outputTokenDetails": {"reasoningTokens": self._usage.reasoning},
            "totalTokens": self._usage.total,
        }

    def add_finish_reason(self, reason: str, model_version: str | None) -> None:
        """Store the finish reason and the model of a complete or partial event."""
        self._reason = reason
        self.model_id = model_version or self.model_id

    def add(self, facts: EventFacts, *, has_content: bool, any_shown: bool) -> None:
        """Add the token usage, the model and the failures of a complete event. ``any_shown``: True if the client has
        already received content of the response.
        """
        branch = facts.speaker[1]
        if facts.model:
            self.model_id = facts.model
        if has_content:
            self._interrupted = False
            if self._failures:
                self._failures = tuple(failure for failure in self._failures if not _recovers(branch, failure[0]))
        for report in facts.reports:
            match report:
                case TokenUsage():
                    self._usage = report if self._usage is None else TokenUsage(*map(add, self._usage, report))
                case Failure():
                    self.add_error(report, branch, any_shown=any_shown)
                case LiveTurnEnd(interrupted):
                    self._interrupted = self._interrupted or interrupted

    def add_error(self, failure: Failure, branch: str | None, *, any_shown: bool) -> None:
        """Process a failure. ``branch``: the branch of the event that reports it. ``any_shown``: True if the client has
        already received content of the response.
        """
        if failure.code == ABORTED:
            self.aborted = True
            self._failures = ()  # tools may fail because they are stopped
        elif any_shown and failure.finish_reason is not None:
            self._reason = failure.finish_reason
        else:
            self.aborted = False
            self._failures = (*self._failures, (branch, AgentRunError(failure.code, failure.message)))

    def finish_reason(self, *, any_pending: bool, any_shown: bool) -> FinishReason:
        """Return the finish reason of the response.

        ``any_pending``: True if a tool call waits for the user, the client or another system. ``any_shown``: True if
        the client has received content of the response.
        """
        if any_pending:
            return "tool-calls"
        if self._interrupted:
            return "other"
        if self._reason is None:
            return "stop" if any_shown else "other"
        return FINISH_REASONS.get(self._reason, "other")

    def end_response(self) -> None:
        """Reset the values that belong to one response. The model and the token usage belong to the message, and are
        not reset.
        """
        self._reason = None
        self._interrupted = self.aborted = False
        self._failures = ()


def _recovers(branch: str | None, failed: str | None) -> bool:
    """The run had a failure in the branch ``failed``, and later content in ``branch``. Return True if this content
    shows that the run has recovered.

    The content must be in the branch of the failure, or in a branch above it.
    """
    return branch is None or failed == branch or (failed or "").startswith(f"{branch}.")
