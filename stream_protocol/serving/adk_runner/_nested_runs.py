"""Shows the agents that ``AgentTool`` runs inside tool calls.

The events of such a nested agent are added to the response of the run, and stored with the tool's response.

``AgentTool`` gives the plugins of the outer runner to the nested runner. So ADK also calls our plugin for the nested
run. Code in a run adds events to the response through a channel (``RunChannel``). Inside an ``AgentTool`` call, the
channel is the ``NestedCall``. So our plugin can read from the channel which tool call contains the nested run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, Final

import orjson
from google.adk.agents import LlmAgent, LoopAgent, ParallelAgent, SequentialAgent
from google.adk.agents.run_config import StreamingMode
from google.adk.events import Event
from google.adk.plugins import BasePlugin
from google.adk.tools.agent_tool import AgentTool

from stream_protocol.adk import (
    METADATA_KEY,
    NESTED_EVENT,
    NESTED_EVENTS,
    POSTED_KEY,
    POSTED_NESTED,
    items_by_id,
    read,
    running_call,
)
from stream_protocol.agents import RunChannel, run_channel, set_channel
from stream_protocol.serving.adk_runner._runner import agent_tree
from stream_protocol.session import stopped_responses, storable_json, unfinished_events
from stream_protocol.stream import InnerStreams
from stream_protocol.wire import is_instance

if TYPE_CHECKING:
    from google.adk.agents.invocation_context import InvocationContext
    from google.adk.tools import BaseTool, ToolContext

    from stream_protocol.adk import RunningCall

MAX_KEPT: Final = 2**19
"""The maximum number of bytes of nested events, as JSON, that are stored with one tool response."""

MAX_UNFINISHED: Final = 2**16
"""The maximum number of characters of unfinished texts that are kept for one ``AgentTool`` call."""

MAX_DEPTH: Final = 8
"""The maximum depth of agents inside agents. For deeper agents, only the calls and outputs are shown."""

_MODELS: Final = (
    ("google.adk.models.google_llm", "Gemini"),
    ("google.adk.models.lite_llm", "LiteLlm"),
    ("google.adk.models.anthropic_llm", "AnthropicLlm"),
    ("stream_protocol.testing._scripted_llm", "ScriptedLlm"),
)
"""The modules and names of model classes whose streams end with an event that has the whole content. It is unknown how
the streams of an app's own model classes end."""

_KNOWN: Final = (LlmAgent, SequentialAgent, ParallelAgent, LoopAgent)

_OMITTED_FIELDS: Final[Mapping[str, Any]] = {
    **dict.fromkeys(("avg_logprobs", "logprobs_result", "cache_metadata", "live_session_resumption_update"), True),
    "actions": {"state_delta": True, "agent_state": True, "end_of_agent": True},
}
"""The fields that are removed from a nested event, because clients do not need them. ``AgentTool`` itself copies the
state to the outer session."""


class NestedCall:
    """One call of an ``AgentTool``. It is also the ``RunChannel`` for all code inside the call."""

    def __init__(self, call: RunningCall, context: ToolContext, outer: RunChannel) -> None:
        self.call = call
        run_config = context.get_invocation_context().run_config
        self.streams = run_config is not None and run_config.streaming_mode is StreamingMode.SSE
        """True if the outer agent streams its text."""
        self.outer = outer
        self.depth: int = outer.depth + 1 if isinstance(outer, NestedCall) else 1
        self._has_begun = False
        """True if our plugin was called inside the call. False if the ``AgentTool`` runs its agent without plugins."""
        self._streams = InnerStreams(MAX_UNFINISHED)
        """The streamed texts whose complete event is missing. These texts are stored only if the run stops before the
        complete event."""
        self._events: list[Any] = []
        self._size = 0
        self._omitted = 0

    @property
    def is_open(self) -> bool:
        """False once the run's response has ended."""
        return self.outer.is_open

    def begin(self) -> None:
        """Must be called when a runner with our plugin starts inside the ``AgentTool`` call."""
        self._has_begun = True

    def post(self, event: Event) -> None:
        """Adds an event of a nested agent to the response of the run."""
        self.outer.post(self._inside(event))

    def post_newest(self, key: str, make: Callable[[], Event]) -> None:
        """Adds an event that replaces earlier events with an equal ``key``: see ``RunChannel``."""
        self.outer.post_newest(f"{self.call.key} {key}", lambda: self._inside(make()))

    async def ready(self) -> None:
        """Waits until the response of the run can take the next event."""
        await self.outer.ready()

    def add(self, event: Event) -> None:
        """Adds an event of the nested agent to the response. If the event is complete, keeps the event for the store,
        too.

        The app's plugins have already changed the event. After a stop, the response shows no more events, and most
        events are not kept, so that the history equals the response. Only an event that contains events of deeper
        agents is still kept: see ``stopped_responses``.
        """
        if not self.is_open:
            if NESTED_EVENTS not in (event.custom_metadata or {}):
                return
            event = stopped_responses(event)
        self._streams.add(read(event))
        if event.partial:
            self.post(event.model_copy())
            return
        plain = _to_json(event)
        if plain is not None:
            self.outer.post(self._inside(plain))
        size = len(orjson.dumps(plain))
        if plain is None or self._omitted or self._size + size > MAX_KEPT:
            self._omitted += 1
            return
        self._events.append(plain)
        self._size += size

    @property
    def kept(self) -> dict[str, Any] | None:
        """The nested agent's events as JSON, for the session; ``None`` if our plugin was not called inside the call."""
        if not self._has_begun:
            return None
        unfinished = [_to_json(event) for stream in self._streams for event in unfinished_events(stream)]
        return {"events": [*self._events, *unfinished], "omitted": self._omitted}

    def restore(self, kept: dict[str, Any] | None) -> None:
        """Sets the events that an earlier execution of this tool call has kept. Must be called if the nested agent does
        not run again."""
        if kept is not None:
            self._has_begun, self._events, self._omitted = True, kept["events"], kept["omitted"]

    def _inside(self, event: Event | dict[str, Any]) -> Event:
        """Wrap an event from inside the call in an event of the agent that made the call."""
        reference = self.call.reference
        carried = {"call_id": reference.id, **reference.stored_number, "event": event}
        return Event(
            author=reference.author,
            invocation_id=self.call.invocation_id,
            branch=reference.branch,
            partial=True,
            custom_metadata={POSTED_KEY: POSTED_NESTED, NESTED_EVENT: carried},
        )


def current_nested_call() -> NestedCall | None:
    """Return the ``AgentTool`` call inside which the caller runs; ``None`` outside an ``AgentTool`` call."""
    channel = run_channel()
    return channel if isinstance(channel, NestedCall) else None


class NestedRuns:
    """The ``AgentTool`` calls of one run. ``nests``: takes the name of a tool, and returns True if the tool's agent is
    shown inside the call."""

    def __init__(self, nests: Callable[[str], bool]) -> None:
        self._nests = nests
        self._calls: dict[RunningCall, NestedCall] = {}

    def begin_call(self, tool: BaseTool, context: ToolContext, running: RunningCall) -> None:
        """Starts to show the agent of an ``AgentTool`` call. Must be called in the task of each tool call, before the
        tool runs."""
        channel = run_channel()
        # Subclasses of `AgentTool` run their agent in the outer session, so their calls are not nested here.
        if type(tool) is not AgentTool or not tool.include_plugins or not self._nests(tool.name):
            return
        if channel is None or not running.reference.id:
            return
        call = NestedCall(running, context, channel)
        if call.depth <= MAX_DEPTH:
            self._calls[running] = call
            set_channel(call)

    def end_call(self, context: ToolContext) -> None:
        """Restores the channel that ``begin_call`` has replaced. Must be called when a tool has returned or raised."""
        call = current_nested_call()
        if call is not None and call.call is running_call(context):
            set_channel(call.outer)

    def begin_run(self, context: InvocationContext) -> None:
        """Starts to pass on the events of a nested agent. Must be called when the runner of any agent starts."""
        call = current_nested_call()
        if call is not None:
            call.begin()
            _observe(context, call)
            if call.streams and context.run_config is not None and _ends_streams_whole(context):
                context.run_config = context.run_config.model_copy(update={"streaming_mode": StreamingMode.SSE})

    def keep_events(self, event: Event, answered: Sequence[RunningCall | None]) -> None:
        """Adds the events of nested agents to an event with tool responses, before the event is stored. ``answered``:
        the call of each tool response, in order."""
        nested = [None if call is None else self._calls.pop(call, None) for call in answered]
        kept = items_by_id(event, [None if call is None else call.kept for call in nested])
        found = {call_id: each if len(each) > 1 else each[0] for call_id, each in kept.items() if any(each)}
        if found:
            event.custom_metadata = {**(event.custom_metadata or {}), NESTED_EVENTS: found}


def _observe(context: InvocationContext, call: NestedCall) -> None:
    """Pass the events of a nested agent's invocation to ``call``, after the app's plugins have changed the events.

    The original events must not be passed, because a plugin may remove private data. This function changes the
    invocation's plugin manager. ``AgentTool`` creates a plugin manager for each call, so only this call is affected.
    """
    manager = copy(context.plugin_manager)
    run_callbacks = manager.run_on_event_callback

    async def run_on_event_callback(*, invocation_context: InvocationContext, event: Event) -> Event | None:
        changed = await run_callbacks(invocation_context=invocation_context, event=event)
        await call.ready()
        call.add(event if changed is None else _with_changes(event, changed))
        return changed

    manager.run_on_event_callback = run_on_event_callback  # type: ignore[method-assign]  # only on the copy
    context.plugin_manager = manager


def _with_changes(event: Event, changed: Event) -> Event:
    """Return the event with the fields of ``changed``, the event that a plugin has returned. ADK merges the two events
    in the same way."""
    kept = {"id", "invocation_id", "timestamp"}
    return event.model_copy(update={name: getattr(changed, name) for name in changed.model_fields_set - kept})


def _to_json(event: Event) -> Any:
    """Return the event as JSON that every session store can keep; ``None`` if its values are nested too deeply."""
    metadata = {key: value for key, value in (event.custom_metadata or {}).items() if key != METADATA_KEY}
    plain = event.model_copy(update={"custom_metadata": metadata or None})
    excluded: Any = _OMITTED_FIELDS
    return storable_json(
        plain.model_dump(mode="json", by_alias=True, exclude_none=True, exclude=excluded, fallback=str)
    )


def _ends_streams_whole(context: InvocationContext) -> bool:
    """Return True if streaming does not change the result of the ``AgentTool`` call around an invocation.

    The result of ``AgentTool`` is the content of the last event, so ADK runs the agent without streaming. Streaming is
    possible if the last event of a stream has the whole content.
    """
    plugins: list[BasePlugin] = context.plugin_manager.plugins
    if any(type(plugin).after_model_callback is not BasePlugin.after_model_callback for plugin in plugins):
        return False
    root = context.agent
    return root is not None and all(type(agent) in _KNOWN and _streams_whole(agent) for agent in agent_tree(root))


def _streams_whole(agent: Any) -> bool:
    """Return True if the last event of the agent's stream has the whole content. Return False if the agent's model is
    unknown, or if a callback, planner or code executor of the agent reads each chunk."""
    if not isinstance(agent, LlmAgent):
        return True
    if agent.canonical_after_model_callbacks or agent.planner is not None or agent.code_executor is not None:
        return False
    return any(is_instance(agent.canonical_model, module, name) for module, name in _MODELS)
