"""Writes an error to the log in one line, with the traceback at debug level."""

import logging
from typing import Final

from stream_protocol.serving.errors._sentences import explain_error

OMITTED: Final = "…"
"""Replaces text that may quote a chat."""


class Quoting:
    """Argument of a log record whose text may quote a chat.

    ``redacted``: the text for the log in JSON, which must not quote a chat.
    """

    def __init__(self, text: str, redacted: str = OMITTED) -> None:
        self._text = text
        self.redacted = redacted

    def __str__(self) -> str:
        return self._text


def log_error(logger: logging.Logger, error: BaseException) -> None:
    """Logs an error in one sentence, and its traceback at debug level."""
    sentence = Quoting(explain_error(error), explain_error(error, quoting=False))
    logger.error("%s", sentence, extra={"error": error})
    logger.debug("The traceback:", exc_info=error)
