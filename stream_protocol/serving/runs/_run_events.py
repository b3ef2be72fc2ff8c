"""``run_events``: a run of an agent without a ``ChatService``, with the work of its sub-agents."""

from __future__ import annotations

import asyncio
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any, Final

from google.adk.runners import Runner

from stream_protocol.agents import open_channel
from stream_protocol.serving.adk_runner import RunPlugin, with_plugin
from stream_protocol.serving.runs._run_posts import RunPosts
from stream_protocol.wire import check_instance, check_text

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from google.adk.events import Event

PAUSE: Final = 0.1
"""The minimum number of seconds between two progress reports of one call."""


def run_events(runner: Runner, *, session_id: str, **arguments: Any) -> AsyncGenerator[Event]:
    """Run an agent like ``runner.run_async``, and yield its events. Pass them to ``stream_sse``.

    The events also contain what happens inside the run: the work of agents in an ``AgentTool``, and the data and the
    progress that tools send with ``emit_data``, ``report_progress`` and ``mcp_progress``. ADK stores the work of these
    agents in the session, for ``session_to_messages``.

    The runner is not changed. ``session_id`` and ``arguments`` are those of ``runner.run_async``. The run ends if the
    generator is closed.
    """
    check_instance("runner", runner, Runner, "a Runner of ADK")
    check_text("session_id", session_id, empty=False)
    return _run_events(runner, session_id, arguments)


async def _run_events(runner: Runner, session_id: str, arguments: dict[str, Any]) -> AsyncGenerator[Event]:
    waiting: asyncio.Queue[Event | None] = asyncio.Queue()
    posts = RunPosts(waiting.put_nowait, pause=PAUSE)
    plugin = RunPlugin(session_id, None, nests=lambda _tool: True)

    async def run() -> None:
        try:
            with open_channel(posts):
                events = with_plugin(runner, plugin).run_async(session_id=session_id, **arguments)
                async with aclosing(events):
                    async for event in events:
                        posts.write_waiting()
                        waiting.put_nowait(event)
                        await waiting.join()  # the agent continues when the caller asks for the next event, as in ADK
        finally:
            posts.close()
            waiting.put_nowait(None)

    running = asyncio.create_task(run())
    try:
        while (event := await waiting.get()) is not None:
            yield event
            waiting.task_done()
        await running
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError, Exception):
            await running
