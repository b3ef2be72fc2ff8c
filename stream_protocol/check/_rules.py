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
    """A rule for streams: its name, its severity, its requirement, and the effect of breaking it."""

    severity: Severity
    requirement: str
    effect: str

    def __new__(cls, name: str, severity: Severity, requirement: str, effect: str) -> Self:
        rule = str.__new__(cls, name)
        rule._value_ = name
        rule.severity = severity
        rule.requirement = requirement
        rule.effect = effect
        return rule

    # framing
    EMPTY_DATA = "empty-data", Severity.ERROR, "The data of an event is not empty.", _FATAL
    INVALID_JSON = "invalid-json", Severity.ERROR, "The data of an event is JSON, or `[DONE]`.", _FATAL
    NOT_A_NUMBER = "not-a-number", Severity.ERROR, "No number is `NaN` or `Infinity`: these are not JSON.", _FATAL
    FORBIDDEN_KEY = (
        "forbidden-key",
        Severity.ERROR,
        "No object has the key `__proto__`, and no `constructor` has the key `prototype`.",
        _FATAL,
    )
    MISSING_BLANK_LINE = "missing-blank-line", Severity.ERROR, "A blank line separates two chunks.", _FATAL
    UNTERMINATED_EVENT = (
        "unterminated-event",
        Severity.ERROR,
        "A blank line follows the last event.",
        "The client drops the last event without an error.",
    )
    BARE_CR = (
        "bare-cr",
        Severity.WARNING,
        "Lines end in LF or CRLF, not in CR alone.",
        "The client loses the last event.",
    )

    # schema
    NOT_A_CHUNK = "not-a-chunk", Severity.ERROR, "A chunk is a JSON object with a `type`.", _FATAL
    UNKNOWN_TYPE = (
        "unknown-type",
        Severity.ERROR,
        "The type of a chunk is a type of the protocol, or begins with `data-`.",
        _FATAL,
    )
    V7_ONLY_TYPE = "v7-only-type", Severity.ERROR, "A stream for v6 clients has no chunk types of v7.", _FATAL
    MISSING_KEY = "missing-key", Severity.ERROR, "A chunk has all keys that its type requires.", _FATAL
    NULL_KEY = "null-key", Severity.ERROR, "An optional key is absent, not `null`.", _FATAL
    WRONG_VALUE = "wrong-value", Severity.ERROR, "Each value has the type that the schema requires.", _FATAL
    FINISH_REASON = "finish-reason", Severity.ERROR, "A `finishReason` is one of the client's finish reasons.", _FATAL
    UNKNOWN_KEY = (
        "unknown-key",
        Severity.WARNING,
        "A chunk has only keys of its type.",
        "Clients before 6.0.231, and v7 clients before 7.0.32, reject the rest of the response.",
    )

    # order
    TEXT_NOT_STARTED = (
        "text-not-started",
        Severity.ERROR,
        "A `text-start` or `reasoning-start` with the same id comes before a delta and an end.",
        _FATAL,
    )
    INPUT_NOT_STARTED = (
        "input-not-started",
        Severity.ERROR,
        "A `tool-input-start` comes before the deltas of a call's input.",
        _FATAL,
    )
    UNKNOWN_CALL = (
        "unknown-call",
        Severity.ERROR,
        "The call of an output, an error or an approval is in the message.",
        _FATAL,
    )
    UNKNOWN_APPROVAL = (
        "unknown-approval",
        Severity.ERROR,
        "A response to an approval names an approval that was requested.",
        _FATAL,
    )
    METADATA = "metadata", Severity.ERROR, "The metadata of a message can be merged with its earlier metadata.", _FATAL
    DYNAMIC_MISMATCH = (
        "dynamic-mismatch",
        Severity.ERROR,
        "All chunks of a call agree on `dynamic`.",
        "The page shows the call twice. Only the first copy gets the output.",
    )

    # accepted by clients, but shown wrongly
    ID_REUSED = (
        "id-reused",
        Severity.ERROR,
        "A text or a reasoning ends before another one starts with its id.",
        "The first text with this id never ends.",
    )
    OPEN_AT_FINISH_STEP = (
        "open-at-finish-step",
        Severity.ERROR,
        "For v6 clients, texts and reasoning end before `finish-step`.",
        "The text never ends in a v6 client, which rejects a later delta.",
    )
    TEXT_LEFT_OPEN = "text-left-open", Severity.ERROR, "Each text and each reasoning ends.", _UNFINISHED
    INPUT_INCOMPLETE = (
        "input-incomplete",
        Severity.ERROR,
        "The whole input of a call is sent, before its output.",
        _UNFINISHED,
    )
    CALL_WITHOUT_END = (
        "call-without-end",
        Severity.ERROR,
        "A call gets an output, an error or a denial, unless the user is asked.",
        _UNFINISHED,
    )
    OPEN_ON_FAILURE = (
        "open-on-failure",
        Severity.WARNING,
        "Texts and calls end before the response fails or is aborted.",
        _UNFINISHED,
    )
    PRELIMINARY_LEFT = (
        "preliminary-left",
        Severity.WARNING,
        "A final output follows the preliminary outputs of a call.",
        "The call looks unfinished until a later run ends it.",
    )
    OUTPUT_TWICE = (
        "output-twice",
        Severity.ERROR,
        "A call gets one final output.",
        "The call's result changes on the page.",
    )
    CALL_RESTARTED = (
        "call-restarted",
        Severity.ERROR,
        "A call starts once.",
        "The page loses the call's result, or shows the call twice.",
    )
    CALL_ID_REUSED = (
        "call-id-reused",
        Severity.WARNING,
        "The id of a call is unique in the chat.",
        "An output may get to the wrong call.",
    )
    STEP_WHILE_PENDING = (
        "step-while-pending",
        Severity.ERROR,
        "No step starts while a call waits for approval.",
        "The client never sends the user's decision.",
    )
    AUTO_SEND_LOOP = (
        "auto-send-loop",
        Severity.ERROR,
        "A response does not end so that the client sends the same message again at once.",
        "`sendAutomaticallyWhen` sends requests for ever.",
    )
    SECOND_MESSAGE_ID = "second-message-id", Severity.ERROR, "A response has one message id.", _TWICE
    CONTINUED_UNDER_NEW_ID = (
        "continued-under-new-id",
        Severity.ERROR,
        "A response that continues a message has the id of that message.",
        _TWICE,
    )
    MESSAGE_ID_REUSED = (
        "message-id-reused",
        Severity.WARNING,
        "A response has the id of an earlier message only if it continues that message.",
        "The response may overwrite an earlier message.",
    )

    # ends
    TERMINAL_MISSING = (
        "terminal-missing",
        Severity.ERROR,
        "A response ends in `finish`, `error` or `abort`.",
        "The response looks cut off.",
    )
    SECOND_TERMINAL = (
        "second-terminal",
        Severity.ERROR,
        "A response ends once.",
        "The response has two ends, and the client may show the wrong end.",
    )
    CONTENT_AFTER_TERMINAL = (
        "content-after-terminal",
        Severity.ERROR,
        "No content follows the end of a response.",
        "A finished message changes, or the content is lost.",
    )
    DONE_MISSING = (
        "done-missing",
        Severity.WARNING,
        "The stream ends in `[DONE]`.",
        "`useChat` does not need `[DONE]`, but other clients wait for it.",
    )


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
