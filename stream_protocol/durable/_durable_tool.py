"""Wraps a tool so that its results and actions are stored. If a run is executed again, the stored result replaces the
tool call.
"""

from __future__ import annotations

import json
from copy import copy
from typing import TYPE_CHECKING, Any, Final

from google.adk.events import EventActions
from google.genai import types
from pydantic_core import to_jsonable_python

from stream_protocol.adk import RunningCalls, running_call
from stream_protocol.durable._call_journal import UnfinishedCallError, current_calls
from stream_protocol.serving.adk_runner import current_nested_call
from stream_protocol.wire import RUN_STOPPED_TEXT

if TYPE_CHECKING:
    from collections.abc import Collection

    from google.adk.tools import BaseTool, ToolContext

    from stream_protocol.durable._call_journal import CallJournal
    from stream_protocol.serving.adk_runner import NestedCall

UNFINISHED_TEXT: Final = (
    "The server broke down while this tool was running. Whether it has done its work is not known."
    " It was not run again."
)
"""The result that the model reads if a dead worker began a call of a tool that is not idempotent."""

PART: Final = "$adk_ui_stream.part"
"""The key for a ``Part`` in a stored result, because ADK does not treat a ``Part`` with media like a dictionary."""


class RecordedToolError(Exception):
    """Replaces an exception that a tool raised in an earlier execution of the run. ``str(error)``: the type and the
    text of that exception.
    """


def durable_tool(tool: BaseTool, idempotent: Collection[str]) -> BaseTool:
    """Return a copy of the tool. In a durable run, each call of the copy is executed only once. The class of the tool
    does not change.

    ``idempotent``: the names of tools that may run again if the worker died while they were running.
    """

    async def run_async(*, args: dict[str, Any], tool_context: ToolContext) -> Any:
        calls = current_calls()
        if calls is None or tool_context.function_call_id is None:
            return await tool.run_async(args=args, tool_context=tool_context)
        name = _name(calls, tool, args, tool_context)
        nested = current_nested_call()
        if (kept := await calls.kept(name)) is not None:
            return _restore_result(json.loads(kept), tool_context, nested)
        raised: list[Exception] = []
        results: list[Any] = []

        async def run() -> str:
            try:
                if tool_context.is_aborted:  # the user has stopped the run while the start of the call was stored
                    results.append({"error": RUN_STOPPED_TEXT})
                else:
                    results.append(await tool.run_async(args=args, tool_context=tool_context))
            except Exception as error:  # noqa: BLE001 - a tool may raise anything
                raised.append(error)
                return json.dumps({"raised": f"{type(error).__name__}: {error}"})
            return _to_json(results[0], tool_context, nested)

        try:
            await calls.do(name, run, repeatable=tool.name in idempotent)
        except UnfinishedCallError:
            return {"error": UNFINISHED_TEXT}
        if raised:
            raise raised[0]
        return results[0]

    durable = copy(tool)
    durable.run_async = run_async  # type: ignore[method-assign]  # only on the copy
    return durable


def _name(calls: CallJournal, tool: BaseTool, args: dict[str, Any], tool_context: ToolContext) -> str:
    """Return the name under which the result of the tool call is stored.

    The name is made from the arguments that the model has written, and not from ``args``. Callbacks may have changed
    ``args``, and the change may differ in each execution of the run.
    """
    # If an `AgentTool` runs its agent without plugins, this library's plugin does not see the calls of this agent.
    call = running_call(tool_context) or RunningCalls().start(tool_context, tool.name, args)
    model_args = to_jsonable_python(call.args, fallback=str)
    return calls.tool_call(call.reference, model_args, confirmed=tool_context.tool_confirmation is not None)


def _to_json(result: Any, tool_context: ToolContext, nested: NestedCall | None) -> str:
    """Return the tool's result, its actions, and the events of an agent inside the tool, as JSON.

    A value that is not JSON is stored as text. Only later executions of the run read this text.
    """
    actions = tool_context.actions.model_dump(mode="json", by_alias=True, exclude_none=True, fallback=str)
    kept = {"result": to_jsonable_python(_tagged(result), fallback=str), "actions": actions}
    return json.dumps(kept if nested is None else {**kept, "nested": nested.kept})


def _restore_result(kept: dict[str, Any], tool_context: ToolContext, nested: NestedCall | None) -> Any:
    """Return the stored result of a tool, and restore its stored actions and events. Raises ``RecordedToolError`` if
    the tool raised an exception.
    """
    if "raised" in kept:
        raise RecordedToolError(kept["raised"])
    if nested is not None:
        nested.restore(kept.get("nested"))
    actions = EventActions.model_validate(kept["actions"])
    for field in actions.model_fields_set - {"state_delta"}:
        setattr(tool_context.actions, field, getattr(actions, field))
    tool_context.state.update(actions.state_delta)
    return _untagged(kept["result"])


def _tagged(value: Any) -> Any:
    match value:
        case types.Part():
            return {PART: value.model_dump(mode="json", exclude_none=True)}
        case dict():
            return {key: _tagged(item) for key, item in value.items()}
        case list() | tuple():
            return [_tagged(item) for item in value]
    return value


def _untagged(value: Any) -> Any:
    match value:
        case dict() if PART in value:
            return types.Part.model_validate(value[PART])
        case dict():
            return {key: _untagged(item) for key, item in value.items()}
        case list():
            return [_untagged(item) for item in value]
    return value
