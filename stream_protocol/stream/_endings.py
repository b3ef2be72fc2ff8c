"""The ends of responses: finish reasons, token usage, and failures that ADK reports as events."""

from dataclasses import dataclass, field
from operator import add
from typing import Any

from stream_protocol.adk import ABORTED, FINISH_REASONS, EventFacts, Failure, LiveTurnEnd, TokenUsage
from stream_protocol.wire import FinishReason

DEFAULT_ERROR_TEXT = "An error occurred."
"""The text that the client sees of a failure unless the app supplies ``on_error``; the same as the official
server's."""


class AgentRunError(Exception):
    """A failure that ADK reported as an event (``error_code``, ``error_message``) rather than by raising.

    It has a code, a message or both: a remote agent that cannot be reached gives no code.
    """

    def __init__(self, code: str | None, message: str | None) -> None:
        super().__init__(": ".join(text for text in (code, message) if text))
        self.code = code
        self.message = message


class RunLimitError(Exception):
    """A run was ended because it came to a limit of the server's: of time, of size, of model calls.

    ``str(error)`` is one plain sentence that the client may see: without ``on_error`` it does.
    """


class Usage:
    """Tokens of a message: the sum over its model responses, under the AI SDK's names (``LanguageModelUsage``)."""

    __slots__ = ("_sum",)

    def __init__(self) -> None:
        self._sum: TokenUsage | None = None

    def add(self, usage: TokenUsage) -> None:
        """Counts one model response. Fragments must not be counted: theirs is cumulative."""
        self._sum = usage if self._sum is None else TokenUsage(*map(add, self._sum, usage))

    def as_metadata(self) -> dict[str, Any] | None:
        """The message's ``usage`` as plain JSON; ``None`` if no response reported its usage."""
        if self._sum is None:
            return None
        return {
            "inputTokens": self._sum.prompt,
            "inputTokenDetails": {"cacheReadTokens": self._sum.cached},
            "outputTokens": self._sum.output,
            "outputTokenDetails": {"reasoningTokens": self._sum.reasoning},
            "totalTokens": self._sum.total,
        }


@dataclass(slots=True, eq=False)
class RunSummary:
    """The usage, the model and the ending of a run, collected from its events."""

    usage: Usage = field(default_factory=Usage)
    model_id: str | None = None
    _interrupted: bool = False
    """True if the agent was interrupted and has said nothing since. Of live runs."""
    aborted: bool = False
    """True if the events say that the run was stopped, and report no failure after that."""
    _reason: str | None = None
    """google-genai's finish reason of the newest model response."""
    _failures: list[tuple[str | None, AgentRunError]] = field(default_factory=list)
    """The failures from which no branch has recovered since, each with its branch."""

    @property
    def failure(self) -> AgentRunError | None:
        """The first failure from which the run has not recovered."""
        return self._failures[0][1] if self._failures else None

    def add_finish_reason(self, reason: str, model_version: str | None) -> None:
        """Takes what an event or a fragment says. Up to ADK 2.0 only fragments name the model."""
        self._reason = reason
        self.model_id = model_version or self.model_id

    def add(self, said: EventFacts, *, has_content: bool, any_shown: bool) -> None:
        """Takes a complete event. ``has_content``: whether it has parts. ``any_shown``: whether the response has shown
        something already."""
        branch = said.speaker[1]
        if said.model:
            self.model_id = said.model
        if has_content:
            self._interrupted = False
            if self._failures:
                self._failures = [failure for failure in self._failures if not _recovers(branch, failure[0])]
        for report in said.reports:
            match report:
                case TokenUsage():
                    self.usage.add(report)
                case Failure():
                    self.add_error(report, branch, any_shown=any_shown)
                case LiveTurnEnd(interrupted):
                    self._interrupted = self._interrupted or interrupted

    def add_error(self, failure: Failure, branch: str | None, *, any_shown: bool) -> None:
        """Takes the failure that an event or a fragment of this branch reports. ``any_shown``: as for ``add``."""
        if failure.code == ABORTED:
            self.aborted = True
            self._failures.clear()  # tools may fail because they are stopped
        elif any_shown and failure.finish_reason is not None:
            self._reason = failure.finish_reason
        else:
            self.aborted = False
            self._failures.append((branch, AgentRunError(failure.code, failure.message)))

    def finish_reason(self, *, any_pending: bool, any_shown: bool) -> FinishReason:
        """The finish reason of the response. ``any_pending``: whether a tool call waits for somebody outside the run.
        ``any_shown``: as for ``add``."""
        if any_pending:
            return "tool-calls"
        if self._interrupted:
            return "other"
        if self._reason is None:
            return "stop" if any_shown else "other"
        return FINISH_REASONS.get(self._reason, "other")

    def end_response(self) -> None:
        """Ends a response of the past: keeps only what counts for the whole message."""
        self._reason = None
        self._interrupted = self.aborted = False
        self._failures.clear()


def _recovers(branch: str | None, failed: str | None) -> bool:
    """Return True if content in ``branch`` shows a recovery from a failure in ``failed``: the same branch, or one below
    it."""
    return branch is None or failed == branch or (failed or "").startswith(f"{branch}.")
