"""Identify tool calls while their tools run. ADK gives a running tool only the id of its call.

A model may use one id for several calls of a response. ADK then runs these calls in parallel, and gives all of them the
same id. So each call also has a number: its position among the calls with its id in their event.
"""

import hashlib
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from stream_protocol.adk._call_index import CallReference
from stream_protocol.adk._failures import is_aborted

if TYPE_CHECKING:
    from google.adk.events import Event
    from google.adk.tools import ToolContext
    from google.genai.types import FunctionCall, FunctionResponse

ANSWERED_KEY: Final = "adk_ui_stream_answered"
"""Key in the ``custom_metadata`` of an event with function responses: ``{CALL_ID: [NUMBER, …]}``.

The list has the number of the answered call for each response to the id; ``null`` if unknown. It is left out if the
responses answer the first calls with the id in their order.
"""

_ATTRIBUTE: Final = "__adk_ui_stream_call__"
"""The attribute of a tool's context with its ``RunningCall``."""


@dataclass(slots=True, eq=False)
class RunningCall:
    """A call whose tool runs, or has run."""

    invocation_id: str
    event_id: str
    """The id of the event with the call; empty if unknown."""
    reference: CallReference
    args: Mapping[str, Any]
    """The arguments from the model. Callbacks may have changed the arguments of the tool."""
    has_new_result: bool | None = None
    """``None`` while the tool runs. True if the tool has returned, and no event has its result yet."""
    may_be_silent: bool = False
    """True if a long-running tool has returned nothing. ADK then stores no response, unless a callback gives one."""

    @property
    def key(self) -> str:
        """A key that no other call of the run has."""
        return json.dumps([self.invocation_id, self.event_id, *self.reference])


class RunningCalls:
    """The calls whose tools a run has started."""

    def __init__(self) -> None:
        self._by_id: dict[tuple[str, str, str | None, str | None], list[RunningCall]] = defaultdict(list)
        """Invocation, agent, branch and id -> started calls."""

    def start(self, context: "ToolContext", tool: str, args: Mapping[str, Any]) -> RunningCall:
        """Return the call of a tool that starts with these arguments. ``running_call`` finds it again."""
        agent, branch = _agent(context)
        call_id = context.function_call_id
        started = self._by_id[context.invocation_id, agent, branch, call_id]
        event_id, calls = _newest_calls(context, agent, branch, call_id)
        taken = {each.reference.number for each in started if each.event_id == event_id}
        free = [number for number, call in enumerate(calls) if number not in taken and call.name == tool]
        equal = [number for number in free if (calls[number].args or {}) == args]
        number = next(iter(equal or free), 0)
        made = calls[number].args or {} if calls else {**args}
        reference = CallReference(call_id, tool, agent, branch, number)
        running = RunningCall(context.invocation_id, event_id, reference, made)
        setattr(context, _ATTRIBUTE, running)
        started.append(running)
        return running

    def end(self, context: "ToolContext", *, may_be_silent: bool) -> RunningCall | None:
        """Note that the tool of this context, or a callback in its place, has returned. Return the call."""
        if (running := running_call(context)) is not None:
            running.has_new_result = True
            running.may_be_silent = may_be_silent
        return running

    def confirmed(self, event: "Event", original: dict[str, Any]) -> RunningCall | None:
        """Return the newest started call that a confirmation request in this event is for. ``original``: the result of
        ``confirmed_call``."""
        named = self._of(event, original.get("id"), original.get("name"))
        equal = [call for call in named if call.args == original.get("args", {})]
        return next(reversed(equal or named), None)

    def take_answered(self, event: "Event") -> list[RunningCall | None]:
        """Return the calls of the event's function responses, in their order. Each call is returned once.

        After a stop, ADK also responds to the calls whose tools still run.
        """
        named = [(response.id, response.name) for response in event.get_function_responses()]
        taken = {key: iter(self._take(event, *key, count)) for key, count in Counter(named).items()}
        return [next(taken[key], None) for key in named]

    def _take(self, event: "Event", call_id: str | None, name: str | None, count: int) -> list[RunningCall]:
        """Return the calls of this many responses of the event, in the order of the calls."""
        started = self._of(event, call_id, name)
        is_stopped = is_aborted(event)
        taken: list[RunningCall] = []
        while len(taken) < count:
            waiting = [call for call in started if call.has_new_result or (is_stopped and call.has_new_result is None)]
            newest = [call for call in waiting if call.event_id == waiting[-1].event_id]
            if not newest:
                break
            newest.sort(key=lambda call: (call.may_be_silent, call.reference.number or 0))
            found = sorted(newest[: count - len(taken)], key=lambda call: call.reference.number or 0)
            for call in found:
                call.has_new_result = False
            taken += found
        return taken

    def _of(self, event: "Event", call_id: str | None, name: str | None) -> list[RunningCall]:
        calls = self._by_id.get((event.invocation_id, event.author, event.branch, call_id), [])
        return [call for call in calls if call.reference.name == name]


def answered_numbers(event: "Event", answered: Sequence[RunningCall | None]) -> dict[str, list[int | None]]:
    """Return the value of ``ANSWERED_KEY`` for an event with responses to these calls."""
    numbers: dict[str, list[int | None]] = defaultdict(list)
    for response, call in zip(event.get_function_responses(), answered, strict=True):
        numbers[response.id or ""].append(None if call is None else call.reference.number)
    return {
        call_id: found
        for call_id, found in numbers.items()
        if any(number not in (None, place) for place, number in enumerate(found))
    }


def running_call(context: "ToolContext") -> RunningCall | None:
    """Return the call of this tool context, if ``RunningCalls`` has started it."""
    found: RunningCall | None = getattr(context, _ATTRIBUTE, None)
    return found


def answered_number(event: "Event", response: "FunctionResponse") -> int | None:
    """Return the number of the call that this response of the event answers; ``None`` if the event does not have it."""
    match event.custom_metadata and event.custom_metadata.get(ANSWERED_KEY):
        case dict() as numbers if isinstance(listed := numbers.get(response.id), list):
            number = item_of(event, response, listed)
            return number if isinstance(number, int) else None
    return None


def item_of(event: "Event", response: "FunctionResponse", listed: Sequence[Any]) -> Any:
    """Return the item for a response from a list with an item for each response to its id; ``None`` if missing."""
    same_id = [each for each in event.get_function_responses() if each.id == response.id]
    return next((item for each, item in zip(same_id, listed, strict=False) if each is response), None)


def _newest_calls(
    context: "ToolContext", agent: str, branch: str | None, call_id: str | None
) -> tuple[str, list["FunctionCall"]]:
    """Return the calls with this id in the newest event of the agent that has any, and the id of the event."""
    for event in reversed(context.session.events):
        if (event.author, event.branch) == (agent, branch):
            calls = [call for call in event.get_function_calls() if call.id == call_id]
            if calls:
                return event.id, calls
    return "", []


def raising_calls(error: BaseException) -> list[CallReference]:
    """Return the calls that were running where the exception was raised: in a tool or in its callbacks.

    There are several calls if a tool runs an agent of the same run. There is no call for an exception outside tools.
    """
    contexts = [*_tool_contexts(error)]
    # The agent of an `AgentTool` has a separate run, in which the same ids may come again.
    return [_reference(each) for each in contexts if each.invocation_id == contexts[0].invocation_id]


def _reference(context: "ToolContext") -> CallReference:
    if (running := running_call(context)) is not None:
        return running.reference
    return CallReference(context.function_call_id, "", *_agent(context))


def _agent(context: "ToolContext") -> tuple[str, str | None]:
    """Return the name and the branch of the agent that made the call."""
    return context.agent_name, context._invocation_context.branch  # noqa: SLF001 - the public method copies the context


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


class UsedCalls:
    """Names for tool executions. If a run is executed again, its calls get the same names again.

    Some providers number the calls of each response from 0, so an id can belong to several calls of a run. As in
    ``KnownCalls``, calls differ if their speakers, tools or arguments differ. Equal calls are numbered in their order.

    The names are stored. ``names_by_id``: True if an older release began the run. That release named the first call
    with an id by the id alone.
    """

    def __init__(self, *, names_by_id: bool = False) -> None:
        self._names_by_id = names_by_id
        self._uses = Counter[str]()

    def name(self, call: CallReference, args: Any, *, confirmed: bool) -> str:
        """Return the name of the next execution of such a call.

        ``args``: the arguments from the model, as plain JSON. ``confirmed``: True if the user has confirmed the call.
        ADK then runs the tool again under the same id.
        """
        phase = "confirmed" if confirmed else "called"
        if self._names_by_id:
            name = f"tool/{call.id}/{phase}"
            self._uses[name] += 1
            if self._uses[name] == 1:
                return name
        asked = json.dumps([call.name, args], sort_keys=True)
        digest = hashlib.sha256(asked.encode()).hexdigest()[:16]
        name = f"tool/{call.author}/{call.branch or ''}/{call.id}/{phase}/{digest}"
        self._uses[name] += 1
        return f"{name}/{self._uses[name]}"
