"""Provides ``RareWarning``: a log message with a rate limit, so that clients cannot fill the log."""

import asyncio
import logging
from typing import Final

WARNING_SECONDS: Final = 60.0
"""The minimum time between two log lines of one warning, in seconds."""


class RareWarning:
    """Logs at most one warning every ``WARNING_SECONDS`` seconds, and drops the others."""

    def __init__(self, logger: logging.Logger) -> None:
        self._logger = logger
        self._not_before = 0.0

    def log(self, text: str, *arguments: object) -> None:
        now = asyncio.get_running_loop().time()
        if now >= self._not_before:
            self._not_before = now + WARNING_SECONDS
            self._logger.warning(text, *arguments)
