"""Collects warnings of the package during a block. ``caplog`` would collect them for the whole test."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from typing_extensions import override


class _Texts(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    @override
    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno == logging.WARNING:
            self.texts.append(record.getMessage())


@contextmanager
def warned() -> Iterator[list[str]]:
    """Yield a list to which warnings of the event readers are added."""
    handler = _Texts()
    readers = [logging.getLogger(f"stream_protocol.{package}") for package in ("adk", "stream", "session", "recording")]
    for reader in readers:
        reader.addHandler(handler)
    try:
        yield handler.texts
    finally:
        for reader in readers:
            reader.removeHandler(handler)
