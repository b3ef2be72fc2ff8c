"""How errors are told in logs: one line each, the traceback at debug level; and how a process prints its logs so."""

import logging
from typing import Final

from stream_protocol.serving.errors._sentences import explain_error
from stream_protocol.serving.errors._text import one_line, said

LINE_LIMIT: Final = 600
"""Characters of a line in the terminal."""

_TOLD_AGAIN: Final = frozenset(
    {
        "google_adk.google.adk.workflow._node_runner",
        "google_adk.google.adk.runners",
        "google_adk.google.adk.telemetry._metrics",
        "google_adk.google.adk.tools.mcp_tool.mcp_session_manager",
        "google_adk.google.adk.tools.mcp_tool.session_context",
    }
)
"""Loggers of ADK that tell, up to three times with a traceback, of a failure that is logged in a sentence elsewhere."""


def log_error(logger: logging.Logger, error: BaseException) -> None:
    """Logs an error in one sentence, and its traceback at debug level."""
    logger.error("%s", explain_error(error))
    logger.debug("The traceback:", exc_info=error)


def log_to_terminal(*, verbose: bool = False) -> None:
    """Prints the process's log on stderr, warnings and errors, each on one line; ``verbose``: with tracebacks.

    For the main function of a server. Does nothing if the root logger has a handler already: what the app itself has
    set up stays as it is.
    """
    root = logging.getLogger()
    if root.handlers:
        return
    handler = logging.StreamHandler()
    if verbose:
        handler.setFormatter(logging.Formatter("%(levelname)s: %(message)s"))
        logging.getLogger("stream_protocol").setLevel(logging.DEBUG)
    else:
        handler.setFormatter(_OneLine())
        handler.addFilter(_is_news)
    root.addHandler(handler)


class _OneLine(logging.Formatter):
    """A record on one line. An exception that comes with it is told in a sentence."""

    def format(self, record: logging.LogRecord) -> str:
        text = record.getMessage()
        error = record.exc_info[1] if record.exc_info else None
        if error is not None and not (said(error) and said(error) in text):
            text = f"{text.rstrip(' .:')}: {explain_error(error)}"
        return f"{record.levelname}: {one_line(text, LINE_LIMIT)}"


def _is_news(record: logging.LogRecord) -> bool:
    """Whether the record tells what no other tells."""
    if record.name == "asyncio" and record.exc_info:  # google-genai closes a client that it could not make
        return not _is_raised_in(record.exc_info[1], "google.genai")
    repeats = record.name in _TOLD_AGAIN and (record.exc_info or record.levelno < logging.ERROR)
    return not repeats or "is being retried" in record.getMessage()


def _is_raised_in(error: BaseException | None, package: str) -> bool:
    trace = error.__traceback__ if error is not None else None
    module = ""
    while trace is not None:
        module = trace.tb_frame.f_globals.get("__name__", "")
        trace = trace.tb_next
    return module.startswith(package)
