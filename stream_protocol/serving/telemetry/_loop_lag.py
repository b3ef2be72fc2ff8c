"""Measures the delays of the event loop: how late it runs a timer."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import Context
from typing import Final

from stream_protocol.serving.telemetry._instruments import loop_lag, metrics_are_recorded

INTERVAL: Final = 0.1
"""Seconds between two measurements."""


class LoopLag:
    """Measures the delay of the event loop while at least one run goes on and metrics are recorded."""

    def __init__(self) -> None:
        self._runs = 0
        self._timer: asyncio.TimerHandle | None = None

    @contextmanager
    def measured(self) -> Iterator[None]:
        """Measures during this block, in which a run goes on."""
        self._runs += 1
        if self._timer is None and metrics_are_recorded():
            self._wait(asyncio.get_running_loop())
        try:
            yield
        finally:
            self._runs -= 1
            if not self._runs and self._timer is not None:
                self._timer.cancel()
                self._timer = None

    def _wait(self, loop: asyncio.AbstractEventLoop) -> None:
        due = loop.time() + INTERVAL
        # An empty context: the timer outlives the run that starts it, so its log records must not name that chat.
        self._timer = loop.call_at(due, self._measure, loop, due, context=Context())

    def _measure(self, loop: asyncio.AbstractEventLoop, due: float) -> None:
        loop_lag.record(max(0.0, loop.time() - due))
        self._wait(loop)
