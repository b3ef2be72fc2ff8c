"""Provides ``log_to_terminal``, which prints the log of a server process."""

import logging
import sys
import threading
import warnings
from collections.abc import Collection
from types import TracebackType
from typing import Final, Literal

from stream_protocol.server._json_lines import OURS, JsonLines, is_ours
from stream_protocol.serving.errors import exception_text, explain_error, is_new, one_line
from stream_protocol.serving.telemetry import ChatIdFilter
from stream_protocol.wire import check_choice, check_flag, check_texts, printable

logger = logging.getLogger(__name__)

LINE_LIMIT: Final = 600
"""Maximum number of characters in a line of the log."""


def log_to_terminal(
    *, verbose: bool = False, log_format: Literal["text", "json"] = "text", whole: Collection[str] = ()
) -> None:
    """Prints the log of the process on stderr. Call this function in the main function of a server.

    With ``"text"``, warnings and errors are printed, each on one line with the id of its chat. Lines may quote chats.
    Control characters are escaped. ADK's warnings about experimental features are printed only if ``verbose``.
    ``verbose`` also adds indented tracebacks below the errors.

    With ``"json"``, each record is printed as one line of JSON, with the ids of its chat, run, user and trace. The log
    also has a line for the end of each run. No line quotes a chat. Messages of other packages are printed without
    arguments, and only if the message is a literal in the source code. ``whole``: names of loggers whose records are
    printed completely. Uncaught exceptions and Python's warnings also become lines of JSON. ``verbose`` adds this
    library's debug records.

    If the app has already added a handler to the root logger, ``"text"`` changes nothing. ``"json"`` replaces the root
    logger's stream handlers.
    """
    check_flag("verbose", verbose)
    check_choice("log_format", log_format, ("text", "json"))
    check_texts("whole", whole, expected="a list of names of loggers")
    root = logging.getLogger()
    if log_format == "json":
        root.handlers[:] = [other for other in root.handlers if type(other) is not logging.StreamHandler]
    elif root.handlers:
        return
    handler = logging.StreamHandler()
    handler.addFilter(ChatIdFilter())
    if log_format == "json":
        handler.addFilter(is_new)
        handler.setFormatter(JsonLines(whole))
        logging.captureWarnings(True)  # noqa: FBT003 - logging's signature; otherwise Python prints warnings as text
        log_lost_errors()
        for ours in OURS:
            logging.getLogger(ours).setLevel(logging.DEBUG if verbose else logging.INFO)
    elif verbose:
        handler.setFormatter(_WithTraceback())
        logging.getLogger("stream_protocol").setLevel(logging.DEBUG)
    else:
        handler.setFormatter(_OneLine())
        handler.addFilter(is_new)
        warnings.filterwarnings("ignore", r"\[EXPERIMENTAL\]", UserWarning)  # ADK about its own features
    root.addHandler(handler)


class _OneLine(logging.Formatter):
    """Formats a log record on one line, with a sentence that explains the record's exception."""

    def format(self, record: logging.LogRecord) -> str:
        text = record.getMessage()
        error = record.exc_info[1] if record.exc_info else None
        if error is not None and not (exception_text(error) and exception_text(error) in text):
            text = f"{text.rstrip(' .:')}: {explain_error(error)}"
        return f"{_beginning(record)}{one_line(text, LINE_LIMIT, known=_ids(record))}"


class _WithTraceback(logging.Formatter):
    """Formats a log record with its traceback. Indents all lines except the first, so that no line of a quoted text
    looks like a new record.
    """

    def format(self, record: logging.LogRecord) -> str:
        return "\n  ".join(map(printable, super().format(record).splitlines()))

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
        return f"{_beginning(record)}{record.message}"


def _beginning(record: logging.LogRecord) -> str:
    chat_id = getattr(record, "chat_id", "")
    chat = f"chat {printable(chat_id)}: " if chat_id and chat_id not in _ids(record) else ""
    return f"{record.levelname}: {chat}"


def _ids(record: logging.LogRecord) -> list[str]:
    """Return the ids in a record of this library, such as the id of a run. Some ids look like API keys, but must not be
    redacted.
    """
    named = record.args if is_ours(record) and isinstance(record.args, tuple) else ()
    return [arg for arg in named if isinstance(arg, str)]


def log_lost_errors() -> None:
    """Logs exceptions that end a thread or the process. Also logs exceptions that Python cannot raise, for example in
    ``__del__``.

    If other code has installed an exception hook, this function does not replace it.
    """
    if threading.excepthook is threading.__excepthook__:
        threading.excepthook = _end_of_thread
    if sys.unraisablehook is sys.__unraisablehook__:
        sys.unraisablehook = _not_raised
    if sys.excepthook is sys.__excepthook__:
        sys.excepthook = _end_of_process


def _end_of_thread(args: threading.ExceptHookArgs) -> None:
    if args.exc_value is not None and not isinstance(args.exc_value, SystemExit):
        logger.error("An error has ended a thread.", exc_info=args.exc_value)


def _not_raised(unraisable: "sys.UnraisableHookArgs") -> None:
    if unraisable.exc_value is not None:
        logger.error("An error could not be raised.", exc_info=unraisable.exc_value)


def _end_of_process(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if isinstance(error, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)
    else:
        logger.critical("An error has ended the process.", exc_info=error)
