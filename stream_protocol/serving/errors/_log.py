"""Logs an error in one line, with its traceback at debug level. Also drops log records in which a library repeats this
error.
"""

import logging
from typing import Final

from stream_protocol.serving.errors._sentences import explain_error

_REPEATING: Final = frozenset(
    {
        "google_adk.google.adk.workflow._node_runner",
        "google_adk.google.adk.runners",
        "google_adk.google.adk.telemetry._metrics",
        "google_adk.google.adk.tools.mcp_tool.mcp_session_manager",
        "google_adk.google.adk.tools.mcp_tool.session_context",
    }
)
"""ADK loggers that log a failure again, with up to three tracebacks."""

OMITTED: Final = "…"
"""Replaces a text that may quote a chat."""


class Quoting:
    """An argument for a log message: a text that may quote words of a chat. ``redacted``: the same text without the
    quoted words, for the JSON log.
    """

    def __init__(self, text: str, redacted: str = OMITTED) -> None:
        self._text = text
        self.redacted = redacted

    def __str__(self) -> str:
        return self._text


def log_error(logger: logging.Logger, error: BaseException) -> None:
    sentence = Quoting(explain_error(error), explain_error(error, quoting=False))
    logger.error("%s", sentence, extra={"error": error})
    logger.debug("The traceback:", exc_info=error)


def is_new(record: logging.LogRecord) -> bool:
    """Logging filter. Returns False for the record of another library if ``log_error`` logs the same error."""
    if record.name == "asyncio" and record.exc_info:  # google-genai closes a client that it could not create
        return not _is_raised_in(record.exc_info[1], "google.genai")
    repeats = record.name in _REPEATING and (record.exc_info or record.levelno < logging.ERROR)
    return not repeats or "is being retried" in record.getMessage()


def _is_raised_in(error: BaseException | None, package: str) -> bool:
    trace = error.__traceback__ if error is not None else None
    module = ""
    while trace is not None:
        module = trace.tb_frame.f_globals.get("__name__", "")
        trace = trace.tb_next
    return module.startswith(package)


def quiet_unconfigured_log() -> None:
    """Drops repeated errors from stderr in a process that configures no logging.

    In such a process, Python prints log records with ``logging.lastResort``. This function adds a filter to that
    handler. Handlers of the app still get all records.
    """
    if logging.lastResort is not None:
        logging.lastResort.addFilter(is_new)
