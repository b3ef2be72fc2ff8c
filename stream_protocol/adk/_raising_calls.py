"""The calls in which an exception was raised, read from its traceback: ADK does not name them anywhere else."""

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from google.adk.tools import ToolContext


def raising_calls(error: BaseException) -> frozenset[str]:
    """Return ADK's ids of the calls that were running where the exception was raised: in a tool or in its callbacks.

    Several, where a tool runs an agent of the same run. Empty for an exception that was raised elsewhere.
    """
    running = [(context.invocation_id, context.function_call_id or "") for context in _tool_contexts(error)]
    # An agent behind an `AgentTool` has a run of its own, whose ids can be the same.
    return frozenset(call_id for invocation_id, call_id in running if call_id and invocation_id == running[0][0])


def _tool_contexts(error: BaseException) -> Iterator["ToolContext"]:
    """Yields the contexts of calls that the frames know, the outermost first."""
    if (loaded := sys.modules.get("google.adk.tools.tool_context")) is None:
        return  # no tool has a context then
    trace = error.__traceback__
    while trace is not None:
        for value in trace.tb_frame.f_locals.values():
            if issubclass(type(value), loaded.ToolContext):  # `isinstance` would ask objects of anybody's classes
                yield value
        trace = trace.tb_next
