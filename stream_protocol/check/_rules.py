"""The rules of ``check``: names, severities and effects.

If a stream breaks a rule, a client fails on the stream or shows it wrongly. These modules test the rules:

- framing: ``_check_file`` and ``_stream_checker``;
- JSON and the schema: ``_problem_texts``;
- order and ends: ``_response_checker``;
- ids of messages: ``_simulated_chat``.

Sources: ``ui-message-chunks.ts``, ``process-ui-message-stream.ts``, ``chat.ts`` and the two
``last-assistant-message-is-complete-with-*.ts`` of ``vercel/ai``, read at ``ai@6.0.326`` and ``ai@7.0.173``;
``parse-json-event-stream.ts`` and ``secure-json-parse.ts`` of ``@ai-sdk/provider-utils``.
"""

from enum import StrEnum
from typing import Final, NamedTuple, Self

from stream_protocol.wire import AiSdkVersion


class Severity(StrEnum):
    """The severity of a rule.

    An error means that the stream is invalid. A warning means that the newest clients accept the stream. A server may
    send such a stream on purpose.
    """

    ERROR = "error"
    WARNING = "warning"


_FATAL: Final = "The client rejects the rest of the response."
_TWICE: Final = "The response fails, or the page shows its content twice."
_UNFINISHED: Final = "The text or call looks unfinished for ever."


class Rule(StrEnum):
    """A rule for streams: its name, its severity, and the effect of breaking it."""

    severity: Severity
    effect: str

    def __new__(cls, name: str, severity: Severity, effect: str) -> Self:
        rule = str.__new__(cls, name)
        rule._value_ = name
        rule.severity = severity
        rule.effect = effect
        return rule

    # framing
    EMPTY_DATA = "empty-data", Severity.ERROR, _FATAL
    INVALID_JSON = "invalid-json", Severity.ERROR, _FATAL
    NOT_A_NUMBER = "not-a-number", Severity.ERROR, _FATAL
    FORBIDDEN_KEY = "forbidden-key", Severity.ERROR, _FATAL
    MISSING_BLANK_LINE = "missing-blank-line", Severity.ERROR, _FATAL
    UNTERMINATED_EVENT = "unterminated-event", Severity.ERROR, "The client drops the last event without an error."
    BARE_CR = "bare-cr", Severity.WARNING, "The client loses the last event."

    # schema
    NOT_A_CHUNK = "not-a-chunk", Severity.ERROR, _FATAL
    UNKNOWN_TYPE = "unknown-type", Severity.ERROR, _FATAL
    V7_ONLY_TYPE = "v7-only-type", Severity.ERROR, _FATAL
    MISSING_KEY = "missing-key", Severity.ERROR, _FATAL
    NULL_KEY = "null-key", Severity.ERROR, _FATAL
    WRONG_VALUE = "wrong-value", Severity.ERROR, _FATAL
    FINISH_REASON = "finish-reason", Severity.ERROR, _FATAL
    UNKNOWN_KEY = (
        "unknown-key",
        Severity.WARNING,
        "Clients before 6.0.231, and v7 clients before 7.0.32, reject the rest of the response.",
    )

    # order
    TEXT_NOT_STARTED = "text-not-started", Severity.ERROR, _FATAL
    INPUT_NOT_STARTED = "input-not-started", Severity.ERROR, _FATAL
    UNKNOWN_CALL = "unknown-call", Severity.ERROR, _FATAL
    UNKNOWN_APPROVAL = "unknown-approval", Severity.ERROR, _FATAL
    METADATA = "metadata", Severity.ERROR, _FATAL
    DYNAMIC_MISMATCH = (
        "dynamic-mismatch",
        Severity.ERROR,
        "The page shows the call twice. Only the first copy gets the output.",
    )

    # accepted by clients, but shown wrongly
    ID_REUSED = "id-reused", Severity.ERROR, "The first text with this id never ends."
    OPEN_AT_FINISH_STEP = (
        "open-at-finish-step",
        Severity.ERROR,
        "The text never ends in a v6 client, which rejects a later delta.",
    )
    TEXT_LEFT_OPEN = "text-left-open", Severity.ERROR, _UNFINISHED
    INPUT_INCOMPLETE = "input-incomplete", Severity.ERROR, _UNFINISHED
    CALL_WITHOUT_END = "call-without-end", Severity.ERROR, _UNFINISHED
    OPEN_ON_FAILURE = "open-on-failure", Severity.WARNING, _UNFINISHED
    PRELIMINARY_LEFT = "preliminary-left", Severity.WARNING, "The call looks unfinished until a later run ends it."
    OUTPUT_TWICE = "output-twice", Severity.ERROR, "The call's result changes on the page."
    CALL_RESTARTED = "call-restarted", Severity.ERROR, "The page loses the call's result, or shows the call twice."
    CALL_ID_REUSED = "call-id-reused", Severity.WARNING, "An output may get to the wrong call."
    STEP_WHILE_PENDING = "step-while-pending", Severity.ERROR, "The client never sends the user's decision."
    AUTO_SEND_LOOP = "auto-send-loop", Severity.ERROR, "`sendAutomaticallyWhen` sends requests for ever."
    SECOND_MESSAGE_ID = "second-message-id", Severity.ERROR, _TWICE
    CONTINUED_UNDER_NEW_ID = (
        "continued-under-new-id",
        Severity.ERROR,
        _TWICE,
    )
    MESSAGE_ID_REUSED = "message-id-reused", Severity.WARNING, "The response may overwrite an earlier message."

    # ends
    TERMINAL_MISSING = "terminal-missing", Severity.ERROR, "The response looks cut off."
    SECOND_TERMINAL = (
        "second-terminal",
        Severity.ERROR,
        "The response has two ends, and the client may show the wrong end.",
    )
    CONTENT_AFTER_TERMINAL = (
        "content-after-terminal",
        Severity.ERROR,
        "A finished message changes, or the content is lost.",
    )
    DONE_MISSING = "done-missing", Severity.WARNING, "`useChat` does not need `[DONE]`, but other clients wait for it."


class Problem(NamedTuple):
    """A rule that the stream breaks. ``text``: a sentence about the problem."""

    rule: Rule
    text: str


class Finding(NamedTuple):
    """A problem, and its position in the file."""

    line: int
    """The line number, from 1. For recorded events: the line or the number of the last event that was read before the
    problem."""
    chunk: int
    """The number of the chunk in the file, from 1. A problem between two chunks has the number of the first chunk."""
    versions: tuple[AiSdkVersion, ...]
    """The client versions that have the problem."""
    rule: Rule
    text: str
