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

    An error means that the stream is invalid. A warning means that the newest clients accept the stream, and that it
    may be intended.
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
    EMPTY_DATA = "empty-data", Severity.ERROR, "An event whose data is empty is not JSON: fatal."
    INVALID_JSON = "invalid-json", Severity.ERROR, "An event that is not JSON is fatal."
    NOT_A_NUMBER = "not-a-number", Severity.ERROR, "NaN and Infinity, which Python writes, are not JSON: fatal."
    FORBIDDEN_KEY = (
        "forbidden-key",
        Severity.ERROR,
        "`__proto__` anywhere, or `prototype` in a `constructor`, is refused by the client's parser: fatal.",
    )
    MISSING_BLANK_LINE = (
        "missing-blank-line",
        Severity.ERROR,
        "Lines of data without a blank line between them are one event, which is then not JSON.",
    )
    UNTERMINATED_EVENT = (
        "unterminated-event",
        Severity.ERROR,
        "A last event without a blank line after it is dropped without an error.",
    )
    BARE_CR = "bare-cr", Severity.WARNING, "If a line ends in a CR alone, the client loses the last event."

    # schema
    NOT_A_CHUNK = "not-a-chunk", Severity.ERROR, "Data that is not an object with a `type` is fatal."
    UNKNOWN_TYPE = "unknown-type", Severity.ERROR, "A type that neither v6 nor v7 has is fatal."
    V7_ONLY_TYPE = "v7-only-type", Severity.ERROR, "A type that only v7 has is fatal in v6."
    MISSING_KEY = (
        "missing-key",
        Severity.ERROR,
        "A missing required key is fatal. Some required keys may be `null`.",
    )
    NULL_KEY = "null-key", Severity.ERROR, "`null` is fatal for a key that must have a value or be absent."
    WRONG_VALUE = "wrong-value", Severity.ERROR, "A key has a value that its schema does not allow: fatal."
    FINISH_REASON = "finish-reason", Severity.ERROR, "A finish reason that the client does not list is fatal."
    UNKNOWN_KEY = (
        "unknown-key",
        Severity.WARNING,
        "An unknown key is fatal in clients before 6.0.231 and 7.0.32. Later clients ignore it.",
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
        "An output, denial or approval request is fatal if the message does not have its call.",
    )
    UNKNOWN_APPROVAL = (
        "unknown-approval",
        Severity.ERROR,
        "An approval response is fatal if the message does not have its request.",
    )
    METADATA = "metadata", Severity.ERROR, "Metadata that cannot be merged into the message's metadata is fatal."
    DYNAMIC_MISMATCH = (
        "dynamic-mismatch",
        Severity.ERROR,
        "If the chunks of a call differ in `dynamic`, it becomes two calls. The output goes to the first.",
    )

    # accepted by clients, but shown wrongly
    ID_REUSED = (
        "id-reused",
        Severity.ERROR,
        "If a text or reasoning starts while the same id is open, the first text never ends.",
    )
    OPEN_AT_FINISH_STEP = (
        "open-at-finish-step",
        Severity.ERROR,
        "A v6 client forgets open text and reasoning at `finish-step`. They never end, and a later delta is fatal.",
    )
    TEXT_LEFT_OPEN = "text-left-open", Severity.ERROR, "Text or reasoning that is not ended streams for ever."
    INPUT_INCOMPLETE = (
        "input-incomplete",
        Severity.ERROR,
        "A call whose input is started and never completed shows an incomplete input for ever.",
    )
    CALL_WITHOUT_END = (
        "call-without-end",
        Severity.ERROR,
        "A call without an end is shown as running for ever, unless a call of the last step waits for the page.",
    )
    OPEN_ON_FAILURE = (
        "open-on-failure",
        Severity.WARNING,
        "Text or a call is still open when the response fails or breaks off: it stays open on the page.",
    )
    PRELIMINARY_LEFT = (
        "preliminary-left",
        Severity.WARNING,
        "A call with only a preliminary output is shown as unfinished. This is right only if a later run ends it.",
    )
    OUTPUT_TWICE = (
        "output-twice",
        Severity.ERROR,
        "If a call ends twice, its result on the page changes.",
    )
    CALL_RESTARTED = (
        "call-restarted",
        Severity.ERROR,
        "If a call starts again, its result or approval request is lost, or it is shown twice.",
    )
    CALL_ID_REUSED = (
        "call-id-reused",
        Severity.WARNING,
        "If a call has the id of a call in an earlier message, the page may add an output to the wrong call.",
    )
    STEP_WHILE_PENDING = (
        "step-while-pending",
        Severity.ERROR,
        "The client looks for answers in the last step only. After a new step, it never sends an approval.",
    )
    AUTO_SEND_LOOP = (
        "auto-send-loop",
        Severity.ERROR,
        "If all calls of the last step have an output or an answer, `sendAutomaticallyWhen` sends without end.",
    )
    SECOND_MESSAGE_ID = (
        "second-message-id",
        Severity.ERROR,
        "If a response has two message ids, the page shows its content twice.",
    )
    CONTINUED_UNDER_NEW_ID = (
        "continued-under-new-id",
        Severity.ERROR,
        "A response that continues an earlier message must start with its id. Otherwise it is fatal, or shown twice.",
    )
    MESSAGE_ID_REUSED = (
        "message-id-reused",
        Severity.WARNING,
        "A response may overwrite a message if it has the message's id, and no call of the message waits.",
    )

    # ends
    TERMINAL_MISSING = (
        "terminal-missing",
        Severity.ERROR,
        "A response without `finish`, `error` or `abort` looks as if it was cut off.",
    )
    SECOND_TERMINAL = "second-terminal", Severity.ERROR, "Only one of `finish`, `error` and `abort` can end a response."
    CONTENT_AFTER_TERMINAL = (
        "content-after-terminal",
        Severity.ERROR,
        "Content after the end is shown in a finished message. After `error` it is lost.",
    )
    DONE_MISSING = (
        "done-missing",
        Severity.WARNING,
        "The stream does not end in `[DONE]`: `useChat` does not need it, but other readers wait for it.",
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
    """Chunk number in the file, from 1. A problem between two chunks has the number of the first."""
    versions: tuple[AiSdkVersion, ...]
    """Client versions that have the problem."""
    rule: Rule
    text: str
