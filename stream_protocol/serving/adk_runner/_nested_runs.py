"""Streams and stores the events of agents that ``AgentTool`` runs inside tool calls (nested agents).

The events of a nested agent are added to the response of the run, and stored with the response of the tool call.
``AgentTool`` passes the outer runner's plugins to the nested runner, so ADK also calls this library's plugin for the
nested run. Inside an ``AgentTool`` call, ``run_channel()`` returns the call's ``NestedCall``, so the plugin can find
the tool call that contains the nested run.
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
"""Model classes whose streams end with an event that has the whole content. For an app's own model classes, this is
unknown."""

_KNOWN: Final = (LlmAgent, SequentialAgent, ParallelAgent, LoopAgent)

_OMITTED_FIELDS: Final[Mapping[str, Any]] = {
    **dict.fromkeys(("avg_logprobs", "logprobs_result", "cache_metadata", "live_session_resumption_update"), True),
    "actions": {"state_delta": True, "agent_state": True, "end_of_agent": True},
}
"""The fields that are removed from a nested event. ``AgentTool`` itself copies the state to the outer session."""


class NestedCall:
    """One call of an ``AgentTool``. All code inside the call uses this object as its ``RunChannel``."""

    def __init__(self, call: RunningCall, context: ToolContext, outer: RunChannel) -> None:
        self.call = call
        run_config = context.get_invocation_context().run_config
        self.streams = run_config is not None and run_config.streaming_mode is StreamingMode.SSE
        """True if the outer agent streams its text."""
        self.outer = outer
        self.depth: int = outer.depth + 1 if isinstance(outer, NestedCall) else 1
        self._has_begun = False
        """True once a runner with our plugin has started inside the call. An ``AgentTool`` may run its agent without
        plugins."""
        self._streams = InnerStreams(MAX_UNFINISHED)
        """The streamed texts without a complete event. They are stored only if the run stops."""
        self._events: list[Any] = []
        self._size = 0
        self._omitted = 0

    @property
    def is_open(self) -> bool:
        return self.outer.is_open

    def begin(self) -> None:
        """Records that a runner with this library's plugin starts inside the call."""
        self._has_begun = True

    def post(self, event: Event) -> None:
        self.outer.post(self._inside(event))

    def post_newest(self, key: str, make: Callable[[], Event]) -> None:
        self.outer.post_newest(f"{self.call.key} {key}", lambda: self._inside(make()))

    async def ready(self) -> None:
        await self.outer.ready()

    def add(self, event: Event) -> None:
        """Adds an event of the nested agent to the response. Also keeps the event for the session, unless it is
        partial.

        The app's plugins have already changed the event. After a stop of the run, an event is added only if it contains
        the stored events of a deeper nested agent. The outputs of tools are removed from it (``stopped_responses``).
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
        """The nested agent's events as JSON, which are stored with the tool's response. ``None`` if ``begin`` was not
        called.
        """
        if not self._has_begun:
            return None
        unfinished = [_to_json(event) for stream in self._streams for event in unfinished_events(stream)]
        return {"events": [*self._events, *unfinished], "omitted": self._omitted}

    def restore(self, kept: dict[str, Any] | None) -> None:
        """Sets ``kept`` to the value of an earlier execution of this run. After a crash, a run may be executed again,
        although the result of this call is already stored. The nested agent then does not run again. Call this method
        in its place.
        """
        if kept is not None:
            self._has_begun, self._events, self._omitted = True, kept["events"], kept["omitted"]

    def _inside(self, event: Event | dict[str, Any]) -> Event:
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
    channel = run_channel()
    return channel if isinstance(channel, NestedCall) else None


class NestedRuns:
    """The ``AgentTool`` calls of one run. ``nests``: takes a tool's name, and returns True if the events of its agent
    are shown inside the tool call.
    """

    def __init__(self, nests: Callable[[str], bool]) -> None:
        self._nests = nests
        self._calls: dict[RunningCall, NestedCall] = {}

    def begin_call(self, tool: BaseTool, context: ToolContext, running: RunningCall) -> None:
        """Prepares an ``AgentTool`` call, so that the events of its agent are streamed and kept. Does nothing for other
        tools.

        Must be called in the task of the tool call, before the tool runs.
        """
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
        """Restores the ``RunChannel`` that ``begin_call`` has replaced. Must also be called if the tool has raised an
        exception.
        """
        call = current_nested_call()
        if call is not None and call.call is running_call(context):
            set_channel(call.outer)

    def begin_run(self, context: InvocationContext) -> None:
        """Passes the events of the nested agent's invocation to the ``NestedCall`` from now on. Does nothing outside an
        ``AgentTool`` call.
        """
        call = current_nested_call()
        if call is not None:
            call.begin()
            _observe(context, call)
            if call.streams and context.run_config is not None and _ends_streams_whole(context):
                context.run_config = context.run_config.model_copy(update={"streaming_mode": StreamingMode.SSE})

    def keep_events(self, event: Event, answered: Sequence[RunningCall | None]) -> None:
        """Adds the nested agents' events to an event with tool responses, before ADK stores the event.

        ``answered``: for each tool response in the event, the call to which it belongs.
        """
        nested = [None if call is None else self._calls.pop(call, None) for call in answered]
        kept = items_by_id(event, [None if call is None else call.kept for call in nested])
        found = {call_id: each if len(each) > 1 else each[0] for call_id, each in kept.items() if any(each)}
        if found:
            event.custom_metadata = {**(event.custom_metadata or {}), NESTED_EVENTS: found}


def _observe(context: InvocationContext, call: NestedCall) -> None:
    """Pass the events of a nested agent's invocation to ``call``, after the app's plugins have changed the events.

    The unchanged events must not be passed, because a plugin may remove private data.
    """
    manager = copy(context.plugin_manager)  # `AgentTool` creates a plugin manager for each call
    run_callbacks = manager.run_on_event_callback

    async def run_on_event_callback(*, invocation_context: InvocationContext, event: Event) -> Event | None:
        changed = await run_callbacks(invocation_context=invocation_context, event=event)
        await call.ready()
        call.add(event if changed is None else _with_changes(event, changed))
        return changed

    manager.run_on_event_callback = run_on_event_callback  # type: ignore[method-assign]  # only on the copy
    context.plugin_manager = manager


def _with_changes(event: Event, changed: Event) -> Event:
    """Return ``event`` with the fields of ``changed``, an event that a plugin has returned. Follows ADK's rules for
    this.
    """
    kept = {"id", "invocation_id", "timestamp"}
    return event.model_copy(update={name: getattr(changed, name) for name in changed.model_fields_set - kept})


def _to_json(event: Event) -> Any:
    """Return the event as JSON that every session store can store; ``None`` if its values are nested too deeply."""
    metadata = {key: value for key, value in (event.custom_metadata or {}).items() if key != METADATA_KEY}
    plain = event.model_copy(update={"custom_metadata": metadata or None})
    excluded: Any = _OMITTED_FIELDS
    return storable_json(
        plain.model_dump(mode="json", by_alias=True, exclude_none=True, exclude=excluded, fallback=str)
    )


def _ends_streams_whole(context: InvocationContext) -> bool:
    """Return True if the result of an ``AgentTool`` call stays the same when its agents stream.

    The result is the content of the last event. So the last event of each stream must contain the whole text.
    """
    plugins: list[BasePlugin] = context.plugin_manager.plugins
    if any(type(plugin).after_model_callback is not BasePlugin.after_model_callback for plugin in plugins):
        return False
    root = context.agent
    return root is not None and all(type(agent) in _KNOWN and _streams_whole(agent) for agent in agent_tree(root))


def _streams_whole(agent: Any) -> bool:
    """Return True if the last event of the agent's stream has the whole content, and no code of the app reads the
    partial events.
    """
    if not isinstance(agent, LlmAgent):
        return True
    if agent.canonical_after_model_callbacks or agent.planner is not None or agent.code_executor is not None:
        return False
    return any(is_instance(agent.canonical_model, module, name) for module, name in _MODELS)
