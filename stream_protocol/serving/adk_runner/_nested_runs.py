"""Agents that ``AgentTool`` runs inside tool calls.

Their events are posted to the run, and kept with the tool's response.

``AgentTool`` gives the plugins of its runner to the runner inside, so our plugin is called there, too. A context
variable, the channel of the run, says in which call that is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from typing import TYPE_CHECKING, Any, Final

import orjson
from google.adk.agents.run_config import StreamingMode
from google.adk.events import Event
from google.adk.tools.agent_tool import AgentTool

from stream_protocol.adk import METADATA_KEY, NESTED_EVENT, NESTED_EVENTS, POSTED_KEY, POSTED_NESTED
from stream_protocol.agents import RunChannel, run_channel, set_channel
from stream_protocol.serving.adk_runner._whole_streams import ends_streams_whole
from stream_protocol.session import storable_json

if TYPE_CHECKING:
    from google.adk.agents.invocation_context import InvocationContext
    from google.adk.tools import BaseTool, ToolContext

MAX_KEPT: Final = 2**19
"""The most bytes of nested events that are kept with one response: 512 KiB of JSON."""

MAX_DEPTH: Final = 8
"""The most agents inside each other. Deeper ones are only shown by their calls and outputs."""

_NOT_KEPT: Final[Mapping[str, Any]] = {
    **dict.fromkeys(("avg_logprobs", "logprobs_result", "cache_metadata", "live_session_resumption_update"), True),
    "actions": {"state_delta": True, "agent_state": True, "end_of_agent": True},
}
"""Fields of a nested event that a page is not shown. ``AgentTool`` passes the state on to the outer session."""


class NestedCall:
    """One call of an ``AgentTool``, and the channel of all code that runs inside: the agent's message takes it."""

    def __init__(self, call_id: str, context: ToolContext, outer: RunChannel) -> None:
        self._call_id = call_id
        self._author = context.agent_name
        self._invocation_id = context.invocation_id
        run_config = context.get_invocation_context().run_config
        self.streams = run_config is not None and run_config.streaming_mode is StreamingMode.SSE
        """True if the outer agent streams."""
        self.outer = outer
        self.depth: int = outer.depth + 1 if isinstance(outer, NestedCall) else 1
        self._has_begun = False
        """True if our plugin is called inside: an ``AgentTool`` may run without the plugins."""
        self._events: list[Any] = []
        self._size = 0
        self._omitted = 0

    def begin(self) -> None:
        """A runner begins inside, with our plugin."""
        self._has_begun = True

    def post(self, event: Event) -> None:
        """Posts an event from inside the call."""
        self.outer.post(self._inside(event))

    def post_newest(self, key: str, make: Callable[[], Event]) -> None:
        """Posts an event of which only the newest counts."""
        self.outer.post_newest(f"{self._call_id} {key}", lambda: self._inside(make()))

    def add(self, event: Event) -> None:
        """Takes an event of the agent, as the app's plugins leave it: posts it, and keeps it if it is complete."""
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
        """The agent's events as they are kept, as JSON; ``None`` if our plugin is not called inside."""
        return {"events": self._events, "omitted": self._omitted} if self._has_begun else None

    def restore(self, kept: dict[str, Any] | None) -> None:
        """Takes the events of an earlier execution of the call, whose agent does not run again."""
        if kept is not None:
            self._has_begun, self._events, self._omitted = True, kept["events"], kept["omitted"]

    def keep_with(self, response: Event) -> None:
        """Keeps the agent's events on the event with the tool's response, which is not stored yet."""
        if (kept := self.kept) is not None:
            metadata = response.custom_metadata or {}
            nested = {**metadata.get(NESTED_EVENTS, {}), self._call_id: kept}
            response.custom_metadata = {**metadata, NESTED_EVENTS: nested}

    def _inside(self, event: Event | dict[str, Any]) -> Event:
        """The event that carries one from inside the call."""
        carried = {"call_id": self._call_id, "event": event}
        return Event(
            author=self._author,
            invocation_id=self._invocation_id,
            partial=True,
            custom_metadata={POSTED_KEY: POSTED_NESTED, NESTED_EVENT: carried},
        )


def current_nested_call() -> NestedCall | None:
    """Return the call inside which this code runs; ``None`` outside such a call."""
    channel = run_channel()
    return channel if isinstance(channel, NestedCall) else None


class NestedRuns:
    """The calls of ``AgentTool`` in one run. ``nests``: whether the agent that this tool runs is shown in its call."""

    def __init__(self, nests: Callable[[str], bool]) -> None:
        self._nests = nests
        self._calls: dict[tuple[str, str], NestedCall] = {}
        """By the invocation and the id of the call."""

    def begin_call(self, tool: BaseTool, context: ToolContext) -> None:
        """A tool is about to run, in the task of its call."""
        channel, call_id = run_channel(), context.function_call_id
        # The agents of its subclasses run in the outer session.
        if type(tool) is not AgentTool or not tool.include_plugins or not self._nests(tool.name):
            return
        if channel is None or not call_id:
            return
        call = NestedCall(call_id, context, channel)
        if call.depth <= MAX_DEPTH:
            self._calls[context.invocation_id, call_id] = call
            set_channel(call)

    def end_call(self, context: ToolContext) -> None:
        """The tool has ended, or has raised."""
        call = self._calls.get((context.invocation_id, context.function_call_id or ""))
        if call is not None and run_channel() is call:
            set_channel(call.outer)

    def begin_run(self, context: InvocationContext) -> None:
        """A runner begins: that of the outer agent, or one inside a call."""
        call = current_nested_call()
        if call is not None:
            call.begin()
            _observe(context, call)
            if call.streams and context.run_config is not None and ends_streams_whole(context):
                context.run_config = context.run_config.model_copy(update={"streaming_mode": StreamingMode.SSE})

    def keep_events(self, event: Event) -> None:
        """Keeps the events of nested agents on an event with the responses of their calls."""
        for response in event.get_function_responses():
            call = self._calls.pop((event.invocation_id, response.id or ""), None)
            if call is not None:
                call.keep_with(event)


def _observe(context: InvocationContext, call: NestedCall) -> None:
    """Gives the events of this invocation to the call, as all plugins leave them: an app's plugin may redact them.

    ``AgentTool`` has made the runner, and with it the plugin manager, for this call alone.
    """
    manager = copy(context.plugin_manager)
    run_callbacks = manager.run_on_event_callback

    async def run_on_event_callback(*, invocation_context: InvocationContext, event: Event) -> Event | None:
        changed = await run_callbacks(invocation_context=invocation_context, event=event)
        call.add(event if changed is None else _with_changes(event, changed))
        return changed

    manager.run_on_event_callback = run_on_event_callback  # type: ignore[method-assign]  # of the copy alone
    context.plugin_manager = manager


def _with_changes(event: Event, changed: Event) -> Event:
    """The event that ADK makes of one for which a plugin has returned another: it has the fields that are set there."""
    own = {"id", "invocation_id", "timestamp"}
    return event.model_copy(update={name: getattr(changed, name) for name in changed.model_fields_set - own})


def _to_json(event: Event) -> Any:
    """The event as JSON that every store can keep; ``None`` if it is too deep."""
    metadata = {key: value for key, value in (event.custom_metadata or {}).items() if key != METADATA_KEY}
    own = event.model_copy(update={"custom_metadata": metadata or None})
    excluded: Any = _NOT_KEPT
    return storable_json(own.model_dump(mode="json", by_alias=True, exclude_none=True, exclude=excluded, fallback=str))
