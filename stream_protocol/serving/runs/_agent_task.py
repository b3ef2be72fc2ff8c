"""Provides ``AgentTask``, which ends the agent of a run."""

from __future__ import annotations

import asyncio


class AgentTask:
    """The asyncio task that reads the events of an agent. ``seconds``: how long the task may continue after
    ``ask_to_end``, before it is cancelled.
    """

    def __init__(self, seconds: float) -> None:
        self.abort_signal = asyncio.Event()
        """Set when ADK must end the agent."""
        self.is_ending = asyncio.Event()
        """Set when the agent must end, or when the run is left to another worker. The run must then not wait for
        anything."""
        self._seconds = seconds
        self._task: asyncio.Task[object] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """Makes the current task the agent's task. If the run is already stopped, starts the timer for the cancellation
        of the task.
        """
        self._task = asyncio.current_task()
        if self.abort_signal.is_set():
            self.ask_to_end()

    def end(self) -> None:
        """Called when the agent has ended. The task is not cancelled after this call."""
        self._task = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def ask_to_end(self) -> None:
        """Sends the abort signal to ADK. If the agent does not end in time, the task is cancelled."""
        self.is_ending.set()
        self.abort_signal.set()
        if self._task is not None and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._seconds, self.cancel)

    def cancel(self) -> None:
        """Cancels the task, and repeats this until the task ends, because some tools swallow a cancellation."""
        self.is_ending.set()
        if self._timer is not None:
            self._timer.cancel()
        if self._task is not None:
            self._task.cancel()
            self._timer = asyncio.get_running_loop().call_later(self._seconds, self.cancel)
