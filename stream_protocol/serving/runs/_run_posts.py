"""Provides ``RunPosts``. The functions of ``stream_protocol.agents`` use it to add events to the response of a run."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from google.adk.events import Event


class RunPosts:
    """Adds the events of tools to the response of a run. Must be created on the event loop of the run.

    Events from the same thread keep their order. The events of a tool come before the tool's result. Events after
    ``close`` are dropped.

    ``pause``: the minimum number of seconds between two events with the same key: see ``post_newest``. ``room``:
    function that waits until ``write`` can take another event. ``has_ended``: function that returns True after the
    response has ended.
    """

    def __init__(
        self,
        write: Callable[[Event], object],
        *,
        pause: float,
        room: Callable[[], Coroutine[Any, Any, None]] | None = None,
        has_ended: Callable[[], bool] = lambda: False,
    ) -> None:
        self._write: Callable[[Event], object] | None = write
        self._pause = pause
        self._room = room
        self._has_ended = has_ended
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._lock = threading.Lock()
        self._newest: dict[str, Callable[[], Event] | None] = {}
        """Key of ``post_newest`` -> the function that returns the key's next event; ``None`` if no next event waits."""

    @property
    def is_open(self) -> bool:
        return self._write is not None and not self._has_ended()

    def post(self, event: Event) -> None:
        """Writes the event. If called from another thread, the event is written as soon as the event loop is free."""
        self._call(lambda: self._take(event))

    def post_newest(self, key: str, make: Callable[[], Event]) -> None:
        """Writes the event that ``make`` returns, at most once per ``pause`` seconds for each key.

        ``key``: names a series of events, such as the progress of one tool call. If several events of a series come
        within ``pause`` seconds, only the newest is written.
        """
        with self._lock:
            is_first = key not in self._newest
            self._newest[key] = make
        if is_first:
            self._call(lambda: self._write_newest(key))

    async def ready(self) -> None:
        """Waits until the next event can be written. Can be called from any thread."""
        if self._room is None or self._write is None:
            return
        if threading.get_ident() == self._thread:
            await self._room()
        else:
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._room(), self._loop))

    def write_waiting(self) -> None:
        """Immediately writes the events of ``post_newest`` that wait for the end of a pause. Must be called on the
        event loop.
        """
        if self._newest:
            with self._lock:
                waiting = [make for make in self._newest.values() if make is not None]
                self._newest = dict.fromkeys(self._newest)
            for make in waiting:
                self._take(make())

    def close(self) -> None:
        """Drops all later events."""
        self._write = None
        self._newest.clear()

    def _call(self, action: Callable[[], object]) -> None:
        if threading.get_ident() == self._thread:
            _ = action()
        elif self._write is not None:
            with suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(action)

    def _write_newest(self, key: str) -> None:
        with self._lock:
            make = self._newest.pop(key, None)
            if make is not None and self._write is not None:
                self._newest[key] = None
        if make is not None and self._write is not None:
            self._loop.call_later(self._pause, self._write_newest, key)
            self._take(make())

    def _take(self, event: Event) -> None:
        if self._write is not None:
            _ = self._write(event)
