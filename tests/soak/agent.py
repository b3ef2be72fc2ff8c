"""Agent of the fleet in a worker that reports its state twice a second, as a line of JSON in a file of the fleet's
folder.

``lag``: longest delay of the event loop since the last line, in seconds. ``tasks``: number of asyncio tasks of each
name. ``blocks``: number of memory blocks of Python's objects.

The worker collects garbage from time to time. Python itself starts a full collection only after some 300,000 objects,
which is after the end of a soak. Objects that wait for a collection are not a leak.
"""

import asyncio
import gc
import json
import os
import sys
from collections import Counter
from contextvars import Context
from itertools import count
from typing import Any, Final

from tests.fleet.agent import FOLDER, root_agent as agent_of_fleet
from tests.fleet.tool_log import report_file

LOOK_SECONDS: Final = 0.05
LOOKS: Final = 10
"""Measurements for each line."""

LINES: Final = 40
"""Lines for each full garbage collection."""


class LoopWatch:
    """Watcher of the event loop. It begins with the first run, since before it there is no loop."""

    def __init__(self) -> None:
        self._task: asyncio.Task[None] | None = None

    def begin(self, *, callback_context: Any) -> None:
        """Start the watcher. Used as ``before_agent_callback``."""
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._tell(), context=Context())

    async def _tell(self) -> None:
        now = asyncio.get_running_loop().time
        with report_file(os.getpid(), FOLDER).open("a", buffering=1) as lines:
            for line in count():
                if not line % LINES:
                    gc.collect()
                lag = 0.0
                for _ in range(LOOKS):
                    due = now() + LOOK_SECONDS
                    await asyncio.sleep(LOOK_SECONDS)
                    lag = max(lag, now() - due)
                tasks = Counter(_name(task) for task in asyncio.all_tasks())
                told = {"lag": round(lag, 4), "tasks": tasks, "blocks": sys.getallocatedblocks()}
                lines.write(json.dumps(told) + "\n")


def _name(task: asyncio.Task[Any]) -> str:
    """Return the name of a task for the statistics."""
    return getattr(task.get_coro(), "__qualname__", "")


root_agent: Final = agent_of_fleet.clone({"before_agent_callback": LoopWatch().begin})
