"""A tool whose results are kept, with what it did through its ``ToolContext``."""

from __future__ import annotations

import json
from copy import copy
from typing import TYPE_CHECKING, Any, Final

from google.adk.events import EventActions
from google.genai import types
from pydantic_core import to_jsonable_python

from stream_protocol.adk import ToolUse
from stream_protocol.durable._call_journal import UnfinishedCallError, current_calls
from stream_protocol.serving.adk_runner import current_nested_call

if TYPE_CHECKING:
    from collections.abc import Collection

    from google.adk.tools import BaseTool, ToolContext

    from stream_protocol.serving.adk_runner import NestedCall

UNFINISHED_TEXT: Final = (
    "The server broke down while this tool was running. Whether it has done its work is not known."
    " It was not run again."
)
"""The result that the model reads for a tool that began, did not end, and may not be run again."""

PART: Final = "$adk_ui_stream.part"
"""The key of a ``Part`` in a kept result: ADK treats media that a tool returns unlike a dictionary."""


class RecordedToolError(Exception):
    """The error of a tool in an earlier execution, with its text."""


def durable_tool(tool: BaseTool, idempotent: Collection[str]) -> BaseTool:
    """A tool like this one, of the same class, that runs once in a run that an engine executes.

    ``idempotent``: the names of tools that may be run again.
    """

    async def run_async(*, args: dict[str, Any], tool_context: ToolContext) -> Any:
        calls, call_id = current_calls(), tool_context.function_call_id
        if calls is None or call_id is None:
            return await tool.run_async(args=args, tool_context=tool_context)
        name = calls.tool_call(_use(tool, call_id, args, tool_context))
        nested = current_nested_call()
        if (kept := await calls.kept(name)) is not None:
            return _again(json.loads(kept), tool_context, nested)
        raised: list[Exception] = []
        results: list[Any] = []

        async def run() -> str:
            try:
                results.append(await tool.run_async(args=args, tool_context=tool_context))
            except Exception as error:  # noqa: BLE001 - whatever a tool raises
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
    durable.run_async = run_async  # type: ignore[method-assign]  # of the copy alone
    return durable


def _use(tool: BaseTool, call_id: str, args: dict[str, Any], tool_context: ToolContext) -> ToolUse:
    return ToolUse(
        agent=tool_context.agent_name,
        branch=tool_context._invocation_context.branch,  # noqa: SLF001 - ADK has it nowhere else
        call_id=call_id,
        confirmed=tool_context.tool_confirmation is not None,
        tool=tool.name,
        args=to_jsonable_python(_asked_args(tool, call_id, args, tool_context), fallback=str),
    )


def _asked_args(tool: BaseTool, call_id: str, args: dict[str, Any], tool_context: ToolContext) -> dict[str, Any]:
    """The arguments that the model asked for. Callbacks may have changed those that the tool gets, in each execution to
    something else."""
    newest: dict[str, Any] | None = None
    for event in reversed(tool_context.session.events):
        for call in event.get_function_calls():
            if call.id == call_id and call.name == tool.name:
                asked = call.args or {}
                if asked == args:
                    return args
                newest = asked if newest is None else newest
    return args if newest is None else newest


def _to_json(result: Any, tool_context: ToolContext, nested: NestedCall | None) -> str:
    """The result, the actions, and the events of an agent inside. A value that cannot be JSON is kept as its text: only
    another execution sees that."""
    actions = tool_context.actions.model_dump(mode="json", by_alias=True, exclude_none=True, fallback=str)
    kept = {"result": to_jsonable_python(_tagged(result), fallback=str), "actions": actions}
    return json.dumps(kept if nested is None else {**kept, "nested": nested.kept})


def _again(kept: dict[str, Any], tool_context: ToolContext, nested: NestedCall | None) -> Any:
    """The result, and the actions and the events of an agent inside again."""
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
            return {key: _tagged(each) for key, each in value.items()}
        case list() | tuple():
            return [_tagged(each) for each in value]
    return value


def _untagged(value: Any) -> Any:
    match value:
        case dict() if PART in value:
            return types.Part.model_validate(value[PART])
        case dict():
            return {key: _untagged(each) for key, each in value.items()}
        case list():
            return [_untagged(each) for each in value]
    return value
