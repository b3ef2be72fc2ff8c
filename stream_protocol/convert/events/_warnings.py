"""Warnings that are logged once, however often their cause repeats in a stream or a recording."""

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
