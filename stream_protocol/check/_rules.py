"""Rules of ``check``: their names, severities and effects.

A rule describes a stream at which a client fails, or which a client accepts but shows wrongly. The conditions are in
other modules. Framing: ``_check_file`` and ``_stream_checker``. JSON and the schema: ``_problem_texts``. Order and
ends: ``_response_checker``. Ids of messages: ``_simulated_chat``.

Sources: ``ui-message-chunks.ts``, ``process-ui-message-stream.ts``, ``chat.ts`` and the two
``last-assistant-message-is-complete-with-*.ts`` of ``vercel/ai``, read at ``ai@6.0.326`` and ``ai@7.0.173``;
``parse-json-event-stream.ts`` and ``secure-json-parse.ts`` of ``@ai-sdk/provider-utils``.
"""

from enum import StrEnum
from typing import NamedTuple, Self

from stream_protocol.wire import AiSdkVersion


class Severity(StrEnum):
    """Severity of a rule.

    An error means that the stream is invalid. A warning means that the newest clients accept the stream, and that the
    author of the stream may intend it.
    """

    ERROR = "error"
    WARNING = "warning"


class Rule(StrEnum):
    """Name of a rule, with its severity and the effect of a violation."""

    severity: Severity
    effect: str

    def __new__(cls, name: str, severity: Severity, effect: str) -> Self:
        rule = str.__new__(cls, name)
        rule._value_ = name
        rule.severity = severity
        rule.effect = effect
        return rule

    # framing
    EMPTY_DATA = "empty-data", Severity.ERROR, "An event with empty data is fatal."
    INVALID_JSON = "invalid-json", Severity.ERROR, "An event that is not JSON is fatal."
    NOT_A_NUMBER = (
        "not-a-number",
        Severity.ERROR,
        "NaN and Infinity are fatal.",
    )
    FORBIDDEN_KEY = (
        "forbidden-key",
        Severity.ERROR,
        "`__proto__` anywhere, or `prototype` in a `constructor`, is fatal.",
    )
    MISSING_BLANK_LINE = (
        "missing-blank-line",
        Severity.ERROR,
        "Data lines without a blank line between them become one event, which is not JSON.",
    )
    UNTERMINATED_EVENT = (
        "unterminated-event",
        Severity.ERROR,
        "The client drops a last event without a blank line after it.",
    )
    BARE_CR = "bare-cr", Severity.WARNING, "If a line ends in CR alone, the client loses the last event."

    # schema
    NOT_A_CHUNK = "not-a-chunk", Severity.ERROR, "Data that is not an object with a `type` is fatal."
    UNKNOWN_TYPE = "unknown-type", Severity.ERROR, "A type that neither v6 nor v7 has is fatal."
    V7_ONLY_TYPE = "v7-only-type", Severity.ERROR, "A type that only v7 has is fatal in v6."
    MISSING_KEY = (
        "missing-key",
        Severity.ERROR,
        "A missing required key is fatal. Some required keys may be `null`.",
    )
    NULL_KEY = "null-key", Severity.ERROR, "`null` is fatal for a key that does not allow it."
    WRONG_VALUE = "wrong-value", Severity.ERROR, "A value that the schema does not allow is fatal."
    FINISH_REASON = "finish-reason", Severity.ERROR, "An unknown finish reason is fatal."
    UNKNOWN_KEY = (
        "unknown-key",
        Severity.WARNING,
        "An unknown key is fatal before 6.0.231, and in v7 before 7.0.32.",
    )

    # order
    TEXT_NOT_STARTED = (
        "text-not-started",
        Severity.ERROR,
        "A delta or end of a text or reasoning that is not open is fatal.",
    )
    INPUT_NOT_STARTED = "input-not-started", Severity.ERROR, "An input delta without `tool-input-start` is fatal."
    UNKNOWN_CALL = (
        "unknown-call",
        Severity.ERROR,
        "An output, denial or approval request without its call is fatal.",
    )
    UNKNOWN_APPROVAL = (
        "unknown-approval",
        Severity.ERROR,
        "An approval response without its request is fatal.",
    )
    METADATA = "metadata", Severity.ERROR, "Metadata that cannot be merged into the message's is fatal."
    DYNAMIC_MISMATCH = (
        "dynamic-mismatch",
        Severity.ERROR,
        "If chunks of a call differ in `dynamic`, the client shows two calls.",
    )

    # accepted by clients, but shown wrongly
    ID_REUSED = (
        "id-reused",
        Severity.ERROR,
        "If two open texts or reasonings share an id, the first never ends.",
    )
    OPEN_AT_FINISH_STEP = (
        "open-at-finish-step",
        Severity.ERROR,
        "A text or reasoning open at `finish-step` never ends in v6, and a later delta is fatal.",
    )
    TEXT_LEFT_OPEN = (
        "text-left-open",
        Severity.ERROR,
        "A text or reasoning without an end looks as if it still streams.",
    )
    INPUT_INCOMPLETE = (
        "input-incomplete",
        Severity.ERROR,
        "An input that never completes stays incomplete on the page.",
    )
    CALL_WITHOUT_END = (
        "call-without-end",
        Severity.ERROR,
        "A call without an end looks as if it still runs. It may wait for the user in the last step.",
    )
    OPEN_ON_FAILURE = (
        "open-on-failure",
        Severity.WARNING,
        "A text or call that is open at a failure stays open on the page.",
    )
    PRELIMINARY_LEFT = (
        "preliminary-left",
        Severity.WARNING,
        "A call with only a preliminary output looks unfinished until a later run ends it.",
    )
    OUTPUT_TWICE = (
        "output-twice",
        Severity.ERROR,
        "If a call ends twice, its result on the page changes.",
    )
    CALL_RESTARTED = (
        "call-restarted",
        Severity.ERROR,
        "If a call starts again, the page loses its result, or shows the call twice.",
    )
    CALL_ID_REUSED = (
        "call-id-reused",
        Severity.WARNING,
        "If an earlier message has a call with this id, an output may get to the wrong call.",
    )
    STEP_WHILE_PENDING = (
        "step-while-pending",
        Severity.ERROR,
        "If a step begins while an approval is pending, the client never sends the decision.",
    )
    AUTO_SEND_LOOP = (
        "auto-send-loop",
        Severity.ERROR,
        "If a response ends with a step of ended calls, `sendAutomaticallyWhen` sends requests for ever.",
    )
    SECOND_MESSAGE_ID = (
        "second-message-id",
        Severity.ERROR,
        "If a response has two message ids, the page shows its content twice.",
    )
    CONTINUED_UNDER_NEW_ID = (
        "continued-under-new-id",
        Severity.ERROR,
        "A continued message without its id fails or is shown twice.",
    )
    MESSAGE_ID_REUSED = (
        "message-id-reused",
        Severity.WARNING,
        "A response with the id of a complete message may overwrite this message.",
    )

    # ends
    TERMINAL_MISSING = (
        "terminal-missing",
        Severity.ERROR,
        "A response without `finish`, `error` or `abort` looks cut off.",
    )
    SECOND_TERMINAL = "second-terminal", Severity.ERROR, "Only one of `finish`, `error` and `abort` can end a response."
    CONTENT_AFTER_TERMINAL = (
        "content-after-terminal",
        Severity.ERROR,
        "Content after `finish` or `abort` changes a finished message. Content after `error` is lost.",
    )
    DONE_MISSING = (
        "done-missing",
        Severity.WARNING,
        "`useChat` does not need `[DONE]`, but other readers wait for it.",
    )


class Problem(NamedTuple):
    """A violated rule, and a sentence about the violation."""

    rule: Rule
    text: str


class Finding(NamedTuple):
    """A problem and its position in the file."""

    line: int
    """Line number, from 1. For recorded events: the line of the newest event, or its number if events are not on lines.
    """
    chunk: int
    """Chunk number in the file, from 1. A problem between two chunks has the number of the first chunk."""
    versions: tuple[AiSdkVersion, ...]
    """Client versions that have the problem."""
    rule: Rule
    text: str
