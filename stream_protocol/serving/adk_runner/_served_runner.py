"""Provides ``ServedRunner``, which closes the runner of a service."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING
from weakref import WeakSet

from google.adk.tools.base_toolset import BaseToolset

from stream_protocol.serving.adk_runner._runner import agent_tree
from stream_protocol.serving.base import with_timeout

if TYPE_CHECKING:
    from google.adk.runners import Runner

logger = logging.getLogger(__name__)


class ServedRunner:
    """The runner of a service. ``is_own``: True if the service has created the runner, and so must close it.

    Closing a runner also closes its toolsets and plugins. So ``aclose`` does not close the runner while another service
    uses one of them.
    """

    def __init__(self, runner: Runner, *, is_own: bool) -> None:
        self.runner = runner
        self._is_own = is_own
        _served.add(self)

    async def aclose(self, seconds: float) -> None:
        """Closes the runner. Waits up to ``seconds``. A failure is logged. A second call does nothing."""
        if self not in _served:
            return
        _served.discard(self)
        mine = _resources(self.runner)
        if not self._is_own or any(mine & _resources(other.runner) for other in _served):
            return
        try:
            await with_timeout(seconds, self.runner.close())
        except (Exception, asyncio.CancelledError) as error:
            # ADK raises the cancellation of a toolset here, although this task was not cancelled.
            if (task := asyncio.current_task()) is not None and task.cancelling():
                raise
            logger.error("The toolsets and plugins of the agent were not all closed. %s", error)  # noqa: TRY400 - ADK logs the traceback


_served = WeakSet[ServedRunner]()
"""The runners of all open services in this process."""


def _resources(runner: Runner) -> set[int]:
    tools = [tool for node in agent_tree(runner.agent) for tool in getattr(node, "tools", None) or ()]
    toolsets = [tool for tool in tools if isinstance(tool, BaseToolset)]
    return {*map(id, toolsets), *map(id, runner.plugin_manager.plugins)}
