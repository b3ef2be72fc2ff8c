"""Identify tool calls while their tools run. A running tool gets only the id of its call from ADK.

ADK runs the calls of a response in parallel, and several calls may have the same id. So each call also gets a number:
its position among the calls with the same id in one event.
"""

import hashlib
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from stream_protocol.adk._call_ids import NO_IDS
from stream_protocol.adk._calls import KnownCalls
from stream_protocol.adk._failures import is_aborted
from stream_protocol.adk._known_call import CallReference, KnownCall, SpeakerKey
from stream_protocol.adk._marks import items_by_id

if TYPE_CHECKING:
    from google.adk.events import Event
    from google.adk.tools import ToolContext

_ATTRIBUTE: Final = "__adk_ui_stream_call__"
"""The attribute of a ``ToolContext`` that holds its ``RunningCall``."""


@dataclass(slots=True, eq=False)
class RunningCall:
    """A tool call whose tool is running or has run."""

    invocation_id: str
    event_id: str
    """The id of the event with the call; empty if unknown."""
    reference: CallReference
    args: Mapping[str, Any]
    """The arguments from the model. Callbacks may have changed them before the tool got them."""
    has_returned: bool = False
    may_be_silent: bool = False
    """True if a long-running tool has returned nothing. ADK then stores a response only if a callback returns one."""

    @property
    def key(self) -> str:
        """A text that identifies the call among all calls of the run."""
        return json.dumps([self.invocation_id, self.event_id, *self.reference])


class RunningCalls:
    """The calls whose tools have started in a run."""

    def __init__(self) -> None:
        self._calls: dict[tuple[str, str, str | None], KnownCalls] = defaultdict(lambda: KnownCalls(NO_IDS))
        """Invocation, agent and branch -> the calls of this agent. Each event counts as a separate run."""
        self._read: set[tuple[str, str]] = set()
        """The event id and the call id of each call that was added."""

    def start(self, context: "ToolContext", tool: str, args: Mapping[str, Any]) -> RunningCall:
        """Find and return the call of a tool that starts now with these arguments. After this, the function
        ``running_call`` returns the call, too.
        """
        agent, branch = _agent(context)
        reference = CallReference(context.function_call_id, tool, agent, branch)
        calls = self._calls[context.invocation_id, agent, branch]
        event_id = self._read_newest(context, reference, calls)
        known = calls.find(reference, lambda known: known.entry is not None, args=args)
        if known is None:
            known = calls.new(reference.id, (agent, branch, ""), shown=False)
            calls.complete(None, known, tool, {**args})
        reference = reference._replace(number=known.number)
        running = RunningCall(context.invocation_id, event_id, reference, known.args or {})
        setattr(context, _ATTRIBUTE, running)
        known.entry = running
        calls.reopen(known)
        return running

    def _read_newest(self, context: "ToolContext", reference: CallReference, calls: KnownCalls) -> str:
        """Find the agent's newest event with a call that has the id of ``reference``. Add all calls of the event with
        this id. Return the event's id, or ``""`` if there is none."""
        for event in reversed(context.session.events):
            if (event.author, event.branch) != (reference.author, reference.branch):
                continue
            same_id = [call for call in event.get_function_calls() if call.id == reference.id]
            if not same_id:
                continue
            if (event.id, reference.id or "") not in self._read:
                self._read.add((event.id, reference.id or ""))
                calls.begin_run()
                for call in same_id:
                    known = calls.new(call.id, _speaker(event), shown=False)
                    calls.complete(event, known, call.name or "", call.args or {})
            return event.id
        return ""

    def end(self, context: "ToolContext", *, may_be_silent: bool) -> RunningCall | None:
        """Record that the tool of this context (or a callback instead of the tool) has returned. Return the tool's
        call.
        """
        if (running := running_call(context)) is not None:
            running.has_returned = True
            running.may_be_silent = may_be_silent
        return running

    def confirmed(self, event: "Event", original: dict[str, Any]) -> RunningCall | None:
        """``event`` requests a confirmation for a call. Return this call if its tool is running; otherwise ``None``.
        ``original``: the result of the function ``confirmed_call``.
        """
        known = self._of(event).find_requester(_speaker(event), original)
        running: RunningCall | None = None if known is None else known.entry
        return running

    def take_answered(self, event: "Event") -> list[RunningCall | None]:
        """Return one item for each function response of the event: the answered call, or ``None`` if the call is
        unknown. A call that was returned once is not returned again.
        """
        named = [(response.id, response.name or "") for response in event.get_function_responses()]
        taken: dict[tuple[str | None, str], Iterator[RunningCall]] = {}
        for key, count in Counter(named).items():
            reference = CallReference(*key, event.author, event.branch)
            found = self._take(event, reference, count, may_be_silent=False)
            found += self._take(event, reference, count - len(found), may_be_silent=True)
            taken[key] = iter(sorted(found, key=lambda call: call.reference.number or 0))
        return [next(taken[key], None) for key in named]

    def _take(self, event: "Event", reference: CallReference, count: int, *, may_be_silent: bool) -> list[RunningCall]:
        """Return up to ``count`` calls that function responses of the event can answer. A call that was returned once
        is not returned again.

        ``may_be_silent``: True to include calls of long-running tools that have returned nothing.
        """
        is_stopped = is_aborted(event)

        def is_settled(known: KnownCall) -> bool:
            running: RunningCall | None = known.entry
            if not known.is_open or running is None or (running.may_be_silent and not may_be_silent):
                return True
            return not (running.has_returned or is_stopped)

        calls = self._of(event)
        taken: list[RunningCall] = []
        for known in calls.find_several(count, reference, is_settled):
            if known.name == reference.name and not is_settled(known):
                calls.add_response(event, known)
                taken.append(known.entry)
        return taken

    def _of(self, event: "Event") -> KnownCalls:
        return self._calls[event.invocation_id, event.author, event.branch]


def answered_numbers(event: "Event", answered: Iterable[RunningCall | None]) -> dict[str, list[int | None]]:
    """Return the value of ``ANSWERED_KEY`` for an event. This is a dictionary: for each call id, it has the numbers of
    the answered calls with this id. ``answered``: the calls from ``RunningCalls.take_answered``.
    """
    numbers = items_by_id(event, [None if call is None else call.reference.number for call in answered])
    return {
        call_id: found
        for call_id, found in numbers.items()
        if any(number not in (None, place) for place, number in enumerate(found))
    }


def _speaker(event: "Event") -> SpeakerKey:
    return event.author, event.branch, event.node_info.path


def running_call(context: "ToolContext") -> RunningCall | None:
    """Return the tool call of this tool context; ``None`` before the method ``RunningCalls.start`` has found it."""
    found: RunningCall | None = getattr(context, _ATTRIBUTE, None)
    return found


def raising_calls(error: BaseException) -> list[CallReference]:
    """Return the calls whose tools or tool callbacks raised this exception. There can be several: if a tool runs an
    agent, and a tool of this agent raised the exception, both calls are returned.
    """
    contexts = [*_tool_contexts(error)]
    # The agent of an `AgentTool` has a separate run, in which the same ids may come again.
    return [_reference(each) for each in contexts if each.invocation_id == contexts[0].invocation_id]


def _reference(context: "ToolContext") -> CallReference:
    if (running := running_call(context)) is not None:
        return running.reference
    return CallReference(context.function_call_id, "", *_agent(context))


def _agent(context: "ToolContext") -> tuple[str, str | None]:
    """Return the name and the branch of the agent that made the call of this context."""
    return context.agent_name, context._invocation_context.branch  # noqa: SLF001 - the public method copies the context


def _tool_contexts(error: BaseException) -> Iterator["ToolContext"]:
    """Yield the tool contexts in the local variables of the error's traceback, the outermost first."""
    if (loaded := sys.modules.get("google.adk.tools.tool_context")) is None:
        return  # without this module, no tool has run
    trace = error.__traceback__
    while trace is not None:
        for value in trace.tb_frame.f_locals.values():
            if issubclass(type(value), loaded.ToolContext):  # `isinstance` could run code of the object's class
                yield value
        trace = trace.tb_next


class UsedCalls:
    """Names for the tool executions of a run. If an engine executes the run again, each execution gets the same name as
    before.

    A name contains the call's id, agent, tool and arguments. The id alone is not enough, because some providers number
    the calls of each response from 0. Equal calls are numbered in order.

    ``names_by_id``: True if an older release of this library began the run. That release named the first call with an
    id by the id alone.
    """

    def __init__(self, *, names_by_id: bool = False) -> None:
        self._names_by_id = names_by_id
        self._uses = Counter[str]()

    def name(self, call: CallReference, args: Any, *, confirmed: bool) -> str:
        """Return the name of the next tool execution for a call.

        ``args``: the arguments that the model sent, as plain JSON. ``confirmed``: True for the second execution, after
        the user's approval.
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
