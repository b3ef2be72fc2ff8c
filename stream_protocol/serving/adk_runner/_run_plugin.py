"""Our plugin in one run of an agent: it makes events storable, and notes the calls whose tools raised."""

from __future__ import annotations

import logging
from copy import copy
from typing import TYPE_CHECKING, Any, Final

from google.adk.plugins import BasePlugin

from stream_protocol.serving.adk_runner._nested_runs import NestedRuns
from stream_protocol.serving.base import run_off_loop
from stream_protocol.serving.errors import Quoting
from stream_protocol.session import make_storable

if TYPE_CHECKING:
    from collections.abc import Callable

    from google.adk.agents.invocation_context import InvocationContext
    from google.adk.events import Event
    from google.adk.runners import Runner
    from google.adk.tools import BaseTool, ToolContext

logger = logging.getLogger(__name__)

PLUGIN_NAME: Final = "adk_ui_stream"


class RunPlugin(BasePlugin):
    """Watches one run. ADK gives it to the agents of an ``AgentTool``, too: these have invocations of their own."""

    def __init__(self, nests: Callable[[str], bool]) -> None:
        """``nests``: as for ``NestedRuns``."""
        super().__init__(PLUGIN_NAME)
        self._nested = NestedRuns(nests)
        self._raised: set[tuple[str, str]] = set()
        """Invocation and id of each call whose tool raised. An app's callback may have answered it since."""
        self._state_writers: dict[str, set[str]] = {}
        """State key -> the ids of the calls that wrote it."""

    def raised_in(self, invocation_id: str) -> frozenset[str]:
        """Return the ids of the calls of this invocation whose tools raised."""
        return frozenset(call_id for invocation, call_id in self._raised if invocation == invocation_id)

    async def before_run_callback(self, *, invocation_context: InvocationContext) -> None:
        """Begins to watch a run inside a tool call."""
        self._nested.begin_run(invocation_context)

    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext
    ) -> None:
        """Notes the call in which an agent begins to run."""
        self._nested.begin_call(tool, tool_context)

    async def on_tool_error_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext, error: BaseException
    ) -> None:
        """Notes the call. ADK calls this also for a call that is cancelled because another one raised."""
        self._nested.end_call(tool_context)
        if isinstance(error, Exception) and tool_context.function_call_id:
            self._raised.add((tool_context.invocation_id, tool_context.function_call_id))

    async def after_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext, result: dict[str, Any]
    ) -> None:
        """Notes which state the call wrote: ADK merges the events of parallel calls."""
        self._nested.end_call(tool_context)
        for key in tool_context.actions.state_delta:
            self._state_writers.setdefault(key, set()).add(tool_context.function_call_id or "")

    async def on_event_callback(self, *, invocation_context: InvocationContext, event: Event) -> None:
        """Makes a complete event storable, before ADK stores and yields it."""
        if event.partial:
            return
        for problem in await run_off_loop(lambda: make_storable(event, self._state_writers), events=[event]):
            logger.error("%s", Quoting(problem, "A tool or an agent gave a value that is not JSON."))
        self._nested.keep_events(event)


def with_plugin(runner: Runner, plugin: BasePlugin) -> Runner:
    """Return a copy of the runner whose plugins begin with this one: the others get the events as it leaves them."""
    own = copy(runner)
    own.plugin_manager = copy(runner.plugin_manager)
    own.plugin_manager.plugins = [plugin, *runner.plugin_manager.plugins]
    return own
