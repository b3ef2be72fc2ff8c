"""Find the calls in which an exception was raised, from its traceback. ADK does not report these calls."""

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from google.adk.tools import ToolContext


def raising_calls(error: BaseException) -> frozenset[str]:
    """Return ADK's ids of the calls that were running where the exception was raised: in a tool or in its callbacks.

    There are several calls if a tool runs an agent of the same run. There is no call for an exception outside tools.
    """
    running = [(context.invocation_id, context.function_call_id or "") for context in _tool_contexts(error)]
    # The agent of an `AgentTool` has a separate run, in which the same ids may come again.
    return frozenset(call_id for invocation_id, call_id in running if call_id and invocation_id == running[0][0])


def _tool_contexts(error: BaseException) -> Iterator["ToolContext"]:
    """Yield the tool contexts among the local variables of the traceback's frames, the outermost first."""
    if (loaded := sys.modules.get("google.adk.tools.tool_context")) is None:
        return  # without this module, no tool has run
    trace = error.__traceback__
    while trace is not None:
        for value in trace.tb_frame.f_locals.values():
            if issubclass(type(value), loaded.ToolContext):  # `isinstance` could run code of the object's class
                yield value
        trace = trace.tb_next
