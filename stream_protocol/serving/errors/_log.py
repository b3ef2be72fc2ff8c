"""Errors in logs: one line each, the traceback at debug level."""

import logging
from typing import Final

from stream_protocol.serving.errors._sentences import explain_error

LEFT_OUT: Final = "…"
"""Stands for text that may quote a chat."""


class Quoting:
    """An argument of a log record: a text that may quote a chat, and one that does not, for the log in JSON."""

    def __init__(self, text: str, without_words: str = LEFT_OUT) -> None:
        self._text = text
        self.without_words = without_words

    def __str__(self) -> str:
        return self._text


def log_error(logger: logging.Logger, error: BaseException) -> None:
    """Logs an error in one sentence, and its traceback at debug level."""
    sentence = Quoting(explain_error(error), explain_error(error, quoting=False))
    logger.error("%s", sentence, extra={"error": error})
    logger.debug("The traceback:", exc_info=error)
