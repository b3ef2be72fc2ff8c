"""``RunPosts``: the channel of one run (``stream_protocol.agents``)."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from google.adk.events import Event


class RunPosts:
    """Hands the events that tools post to the run, on the event loop. To be made there.

    Each thread's events keep their order. Those of a tool come before its result. After ``close`` they are dropped:
    tasks and threads that outlive the run keep nothing of it in memory.
    """

    def __init__(self, write: Callable[[Event], object]) -> None:
        self._write: Callable[[Event], object] | None = write
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()

    def post(self, event: Event) -> None:
        """Writes the event: at once on the event loop, else as soon as the loop gets to it."""
        if threading.get_ident() == self._thread:
            self._take(event)
        elif self._write is not None:
            with suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self._take, event)

    def close(self) -> None:
        """Drops all later events."""
        self._write = None

    def _take(self, event: Event) -> None:
        if self._write is not None:
            _ = self._write(event)
