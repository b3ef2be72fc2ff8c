"""Provides ``run_events``, which runs an agent without a ``ChatService`` and also yields the events of its
sub-agents.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any, Final

from google.adk.events import Event
from google.adk.runners import Runner

from stream_protocol.adk import is_compaction, is_posted_data
from stream_protocol.agents import open_channel
from stream_protocol.serving.adk_runner import ObservedSessions, RunPlugin, extended_runner
from stream_protocol.serving.runs._run_posts import RunPosts
from stream_protocol.wire import check_instance, check_text

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

logger = logging.getLogger(__name__)

PAUSE: Final = 0.1
"""The minimum number of seconds between two progress reports of one tool call."""

MAX_WAITING: Final = 256
"""The maximum number of events that wait for the caller of ``run_events``."""


def run_events(runner: Runner, *, session_id: str, **arguments: Any) -> AsyncGenerator[Event]:
    """Run an agent, as ``runner.run_async`` does, and yield the agent's events. Pass the events to ``stream_sse``.

    In contrast to ``runner.run_async``, this function also yields:

    - Events of agents in an ``AgentTool``. The session stores these events, so that ``session_to_messages`` can show
      them.
    - Data and progress that tools send with ``emit_data``, ``report_progress`` and ``mcp_progress``.
    - Compaction events of ADK, which summarize older events.

    If the caller is slow, the agents wait. At most 256 events wait, plus one event for each running ``AgentTool``. The
    functions ``emit_data`` and ``report_progress`` never wait. If 256 events already wait, the data of a tool is sent
    together with the tool's result, and transient data is dropped.

    The runner is not changed. ``runner.run_async`` gets ``session_id`` and ``arguments``. If you close the generator,
    the run ends.
    """
    check_instance("runner", runner, Runner, "a Runner of ADK")
    check_text("session_id", session_id, empty=False)
    return _run_events(runner, session_id, arguments)


class _WaitingEvents:
    """Queue of events that the caller of ``run_events`` has not yet taken. ``None`` marks the end of the run."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[Event | None] = asyncio.Queue()
        self._has_room = asyncio.Event()
        self._is_closed = False
        self._has_dropped = False

    async def take(self) -> Event | None:
        event = await self._queue.get()
        self._has_room.set()
        return event

    def note_done(self) -> None:
        """Record that the caller of ``run_events`` has asked for the next event."""
        self._queue.task_done()

    async def add(self, event: Event) -> None:
        """Add an event of ADK, and wait until the caller asks for the next event."""
        self._queue.put_nowait(event)
        await self._queue.join()

    def post(self, event: Event) -> None:
        """Add an event that a tool or a nested agent has sent. If the queue is full, an event with a tool's data is
        dropped."""
        if self._is_full and is_posted_data(event):
            if not self._has_dropped:
                logger.warning("Data of a tool is not sent at once: the caller of `run_events` is too slow.")
            self._has_dropped = True
            return
        self._queue.put_nowait(event)

    def note_stored(self, event: Event) -> None:
        """Add a compaction event, which ADK stores but does not yield."""
        if is_compaction(event):
            self._queue.put_nowait(event)

    async def room(self) -> None:
        while self._is_full and not self._is_closed:
            self._has_room.clear()
            await self._has_room.wait()

    def close(self) -> None:
        self._is_closed = True
        self._has_room.set()
        self._queue.put_nowait(None)

    @property
    def _is_full(self) -> bool:
        return self._queue.qsize() >= MAX_WAITING


async def _run_events(runner: Runner, session_id: str, arguments: dict[str, Any]) -> AsyncGenerator[Event]:
    waiting = _WaitingEvents()
    posts = RunPosts(waiting.post, pause=PAUSE, room=waiting.room)
    sessions = ObservedSessions(runner.session_service, lambda _session, _event: None, waiting.note_stored)
    plugin = RunPlugin(session_id, None, nests=lambda _tool: True)
    observed = extended_runner(runner, plugin, sessions)

    async def run() -> None:
        try:
            with open_channel(posts):
                events = observed.run_async(session_id=session_id, **arguments)
                async with aclosing(events):
                    async for event in events:
                        posts.write_waiting()
                        await waiting.add(event)
        finally:
            posts.close()
            waiting.close()

    running = asyncio.create_task(run())
    try:
        while (event := await waiting.take()) is not None:
            yield event
            waiting.note_done()
        await running
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError, Exception):
            await running
