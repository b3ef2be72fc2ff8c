"""Show each agent that runs inside a tool call. A message with the agent's content is the output of this call."""

from collections.abc import Callable, Sequence
from typing import Any

from stream_protocol.adk import USER, Call, EventFacts, NestedEvent, NestedEvents, ProviderPart, Result, outer_calls
from stream_protocol.stream._nested_messages import NestedConversion, NestedMessage
from stream_protocol.stream._options import Settings
from stream_protocol.stream.calls import CallRegistry, CallState, ToolCall
from stream_protocol.wire import Sink


class InnerAgents:
    """The agents that run inside tool calls, and the message of each agent so far."""

    __slots__ = ("_begin_nested", "_nested", "_registry", "_settings", "_shows", "_sink")

    def __init__(
        self,
        sink: Sink[Any],
        settings: Settings,
        registry: CallRegistry,
        begin_nested: Callable[[Settings, str], NestedConversion],
    ) -> None:
        """``begin_nested``: a function that begins the conversion for an agent inside a tool call. Its arguments are
        the settings and the call's ``toolCallId``.
        """
        self._sink = sink
        self._settings = settings
        self._registry = registry
        self._begin_nested = begin_nested
        self._nested: dict[ToolCall, NestedMessage] | None = None
        """Call -> message of the agent that runs inside the call now."""
        self._shows = True
        """False while no client reads the response."""

    def nesting_call(self, facts: EventFacts) -> ToolCall | None:
        """If the event's agent runs inside a tool call, return this call; otherwise ``None``. The event's branch
        contains the id of the call.

        Returns ``None`` for events of a workflow that runs as a tool. Also returns ``None`` for events of a task-mode
        agent that come after its question to the user.
        """
        author, branch, path = facts.speaker
        if branch is None or "@" not in branch:
            return None
        says_something = facts.role not in (None, USER) or facts.calls or facts.results or facts.failure is not None
        for outer in outer_calls(branch):
            name = outer.name
            call = self._registry.find(outer)
            has_agent = call is not None and call.has_agent_inside
            if f"{name}@{outer.id}" in path.split("/") and facts.scope != outer.id and not has_agent:
                continue
            if call is None or call.name != name or not call.is_shown or self._settings.nested_agents(name) == "flat":
                continue
            if has_agent or (says_something and author != USER):
                return call if call.is_open or call.state is CallState.INTERIM else None
        return None

    def add_nested(self, nested: NestedEvent) -> None:
        """Show an event of an agent that runs inside a tool call and has its own session."""
        call = self._registry.find(nested.call)
        if call is None or not call.is_shown or call.state is not CallState.RUNNING:
            return
        if not self._settings.nests(call.name):
            return
        message = self._message_of(call)
        message.add(nested.event)
        self._show(call, message)

    def add(self, call: ToolCall, facts: EventFacts, *, asks: bool) -> Any:
        """Show an event of an agent that runs inside a tool call and uses the session of the chat.

        ``asks``: True if the event contains a question to the user. Then returns the agent's message so far, to be sent
        as a preliminary output. Otherwise returns ``None``.
        """
        if any(
            outer.id == facts.scope and self._registry.find(outer) is call for outer in outer_calls(facts.speaker[1])
        ):
            call.runs_task = True
        call.has_agent_inside = True
        if not self._settings.nests(call.name):
            return {"agent": call.name} if asks else None
        message = self._message_of(call, answerable=True)
        message.add(facts.event)
        message.add_stored(facts)
        if asks:
            return message.so_far()
        self._show(call, message)
        return None

    def end_task(self, call: ToolCall) -> Any:
        """A task-mode agent inside the call has asked the user. Return the output of the call: the agent's message so
        far.
        """
        if not self._settings.nests(call.name):
            return {"agent": call.name}
        return self._whole(call, self._message_of(call)).ended(keeps_questions=True)

    def message_so_far(self, call: ToolCall) -> Any:
        """Return the message of the agent inside a call, with the agent's open questions. Returns ``None`` if the call
        shows no message of an agent.
        """
        message = self._messages.get(call)
        return None if message is None else self._whole(call, message).so_far()

    def has_ended(self, call: ToolCall) -> bool:
        """Return True if a task-mode agent ran inside this call, and the call has its final output. A later result of
        the agent must not be sent, because clients refuse outputs for calls of earlier messages.
        """
        return call.runs_task and call.state is CallState.ANSWERED

    def stopped(self, call: ToolCall, *, run_failed: bool) -> Any:
        """Return the output of a call that ends without a result: the message of the agent inside the call.

        Returns ``None`` if the agent has shown nothing, or if the run failed before ADK ended the call. Then the call
        must end with an error.
        """
        if call not in self._messages or not self._settings.nests(call.name):
            return None
        if run_failed and not call.closed_by_stop:
            return None
        ended = self._messages.pop(call).ended({"stopped": True})
        return ended if ended["parts"] else None

    def note_stopped(self, call: ToolCall, kept: NestedEvents | None) -> None:
        """Record that ADK has ended this call because the run was stopped.

        ``kept``: the stored events of the agent inside the call. If the client has received no content of this agent
        yet, the agent's message is built from these events.
        """
        call.closed_by_stop = True
        if kept is None or call in self._messages or not self._settings.nests(call.name):
            return
        message = self._message_of(call)
        for event in kept.events:
            message.add(event)

    def show(self, *, shows: bool) -> None:
        """If ``shows``, send the preliminary outputs of agents inside tool calls from now on, and immediately send
        their current messages. Otherwise, hold them back, because no client reads the response.

        Final outputs are always sent.
        """
        began, self._shows = shows and not self._shows, shows
        for call, message in self._messages.items() if began else ():
            if call.state is not CallState.ANSWERED:
                self._show(call, message)

    def _show(self, call: ToolCall, message: NestedMessage) -> None:
        if not self._shows:
            return
        if (output := message.next_preliminary()) is not None:
            call.write_preliminary(output)
        for chunk in message.take_transient():
            self._sink.data(chunk["type"].removeprefix("data-"), chunk["data"], data_id=chunk.get("id"), transient=True)

    @property
    def _messages(self) -> dict[ToolCall, NestedMessage]:
        return {} if self._nested is None else self._nested

    def _message_of(self, call: ToolCall, *, answerable: bool = False) -> NestedMessage:
        self._nested = self._nested or {}
        if call not in self._nested:
            self._nested[call] = self._begin_message(call, answerable=answerable)
        return self._nested[call]

    def _begin_message(self, call: ToolCall, *, answerable: bool = False) -> NestedMessage:
        conversion = self._begin_nested(self._settings, call.id)
        return NestedMessage(conversion, call.id, self._settings.client.major, answerable=answerable)

    def output(self, call: ToolCall, output: Any, kept: NestedEvents | None) -> Any:
        """Return the final output of a call. If an agent ran inside the call, the output is the agent's message.

        ``kept``: the agent's stored events. The message is built from them, so it equals the message in the chat's
        history.
        """
        message = self._messages.pop(call, None)
        if not self._settings.nests(call.name) or (message is None and kept is None):
            return output
        omitted = kept.omitted if kept is not None else 0
        return self._whole(call, message, kept).ended({"result": output}, omitted=omitted)

    def _whole(self, call: ToolCall, message: NestedMessage | None, kept: NestedEvents | None = None) -> NestedMessage:
        """Return the complete message of the agent inside a call, built from stored events. Without stored events,
        returns the message so far. The message is not ended yet.
        """
        stored = message.stored if message is not None else None
        whole = self._begin_message(call, answerable=stored is not None)
        if stored is not None:
            events: Sequence[Any] = stored
        elif kept is not None:
            events = kept.events
        else:
            return message or whole
        for event in events:
            whole.add(event)
        return whole


def ends_task_turn(facts: EventFacts) -> bool:
    """Return True if a task-mode agent replies in this event, and calls no tool. After the reply, the agent waits for
    the user's next message.
    """
    branch, scope = facts.speaker[1], facts.scope
    by_task_agent = scope is not None and branch is not None and branch.rpartition("@")[2] == scope
    return (
        by_task_agent
        and facts.role == "model"
        and facts.is_final
        and not any(isinstance(part, Call | Result | ProviderPart) for part in facts.parts)
    )
