"""Warnings that are given once, whatever repeats in a stream or a recording and however often that is read."""

import logging

logger = logging.getLogger(__name__)


class WarnOnce:
    """Logs each warning the first time."""

    def __init__(self) -> None:
        self._given: set[str] = set()

    def __call__(self, text: str) -> None:
        if text not in self._given:
            self._given.add(text)
            logger.warning("%s", text)
