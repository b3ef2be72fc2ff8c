"""Warnings that are logged once, however often their cause repeats in a stream or a recording."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from stream_protocol.wire import printable

logger = logging.getLogger(__name__)


class WarnOnce:
    """Logs each warning the first time. It may quote what a model or a file says."""

    def __init__(self) -> None:
        self._given: set[str] = set()
        self._silent = False

    def __call__(self, text: str) -> None:
        if text not in self._given and not self._silent:
            self._given.add(text)
            logger.warning("%s", printable(text))

    @contextmanager
    def silenced(self) -> Iterator[None]:
        """Nothing is logged meanwhile: for events that are read again. Their first reader was told."""
        before, self._silent = self._silent, True
        try:
            yield
        finally:
            self._silent = before
