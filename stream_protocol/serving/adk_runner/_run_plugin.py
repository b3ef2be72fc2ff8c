"""Provides ``RunPlugin``: this library's ADK plugin for one run."""

from __future__ import annotations

import logging
from copy import copy
from typing import TYPE_CHECKING, Any, Final, Protocol

from google.adk.events import Event, EventActions
from google.adk.plugins import BasePlugin

from stream_protocol.adk import (
    ANSWERED_KEY,
    CARDS_KEY,
    REQUEST_CONFIRMATION,
    RunningCalls,
    answered_numbers,
    confirmed_call,
    running_call,
)
from stream_protocol.agents import approval_note, declared_title, enter_call
from stream_protocol.serving.adk_runner._nested_runs import NestedRuns
from stream_protocol.serving.base import run_off_loop
from stream_protocol.serving.errors import Quoting
from stream_protocol.session import make_storable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from google.adk.agents.callback_context import CallbackContext
    from google.adk.agents.invocation_context import InvocationContext
    from google.adk.models import LlmRequest
    from google.adk.runners import Runner
    from google.adk.sessions import BaseSessionService, Session
    from google.adk.tools import BaseTool, ToolContext

    from stream_protocol.adk import CallReference, RunningCall
    from stream_protocol.serving.adk_runner._steering_inbox import SteeringInbox

logger = logging.getLogger(__name__)

PLUGIN_NAME: Final = "adk_ui_stream"


class StateWrites(Protocol):
    """Interface of ``PageWrites``, which contains changes of the session state that clients send during a run."""

    def are_of(self, session: Session) -> bool:
        """Return True if the clients' changes belong to ``session``."""

    async def take(self) -> dict[str, Any]:
        """Return the clients' changes that are not applied yet, as a state delta."""

    async def settle(self) -> None:
        """Mark the changes that ``take`` has returned as applied."""


class RunPlugin(BasePlugin):
    """ADK plugin for one run. It makes events storable as JSON, adds steering messages (user messages to an active
    run), and applies session state from clients.

    ADK also calls this plugin for agents inside an ``AgentTool``. These agents have another invocation and another
    session than the run. ``session_id``: the session of the run. ``nests``: see ``NestedRuns``.
    """

    def __init__(
        self,
        session_id: str,
        inbox: SteeringInbox | None,
        writes: StateWrites | None = None,
        *,
        nests: Callable[[str], bool],
    ) -> None:
        super().__init__(PLUGIN_NAME)
        self._session_id = session_id
        self._inbox = inbox
        self._writes = writes
        self._calls = RunningCalls()
        self._nested = NestedRuns(nests)
        self._raised: dict[RunningCall, None] = {}
        """The calls whose tools raised an exception. A callback of the app may nevertheless have set a result."""
        self._state_writers: dict[str, set[RunningCall]] = {}
        """The tool calls that have written each key of the state. ADK merges the events of parallel calls, so no event
        shows this."""
        self._titles: dict[str, str] = {}
        """The title for users, by the tool's name."""
        self._approvals: dict[RunningCall, dict[str, Any]] = {}
        """The texts in the request for approval of each started call, as JSON."""

    def raised_in(self, invocation_id: str) -> list[CallReference]:
        return [call.reference for call in self._raised if call.invocation_id == invocation_id]

    async def before_run_callback(self, *, invocation_context: InvocationContext) -> None:
        if self._inbox is not None and invocation_context.session.id == self._session_id:
            await self._inbox.enter(invocation_context)
        self._nested.begin_run(invocation_context)

    async def before_model_callback(self, *, callback_context: CallbackContext, llm_request: LlmRequest) -> None:
        for name, tool in llm_request.tools_dict.items():
            if (title := declared_title(tool)) is not None:
                self._titles[name] = title
        if self._inbox is not None:
            await self._inbox.take_in(callback_context, llm_request)

    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext
    ) -> None:
        enter_call(tool_context)
        call = self._calls.start(tool_context, tool.name, tool_args)
        if note := approval_note(tool, tool_args).to_json():
            self._approvals[call] = note
        self._nested.begin_call(tool, tool_context, call)

    async def on_tool_error_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext, error: BaseException
    ) -> None:
        """Records that the tool raised an exception. If one of several parallel calls raises, ADK cancels the others,
        and calls this method for them, too. Cancelled calls are not recorded.
        """
        self._nested.end_call(tool_context)
        if isinstance(error, Exception):
            # A call of an unknown tool has no start.
            call = running_call(tool_context) or self._calls.start(tool_context, tool.name, tool_args)
            self._raised[call] = None

    async def after_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext, result: dict[str, Any]
    ) -> None:
        """Records that the tool call has ended, and which keys of the session state the tool has written."""
        self._nested.end_call(tool_context)
        may_be_silent = tool.is_long_running and not result
        if (call := self._calls.end(tool_context, may_be_silent=may_be_silent)) is not None:
            for key in tool_context.actions.state_delta:
                self._state_writers.setdefault(key, set()).add(call)

    async def on_event_callback(self, *, invocation_context: InvocationContext, event: Event) -> None:
        """Adds titles and approval texts to the event. A complete (not partial) event is also made storable as JSON.
        ADK then stores and yields the event.
        """
        if (self._titles or self._approvals) and (cards := self._cards(event)):
            event.custom_metadata = {**(event.custom_metadata or {}), CARDS_KEY: cards}
        if event.partial:
            return
        answered = self._calls.take_answered(event)
        writers = {key: [call in calls for call in answered] for key, calls in self._state_writers.items()}
        for problem in await run_off_loop(lambda: make_storable(event, writers), events=[event]):
            logger.error("%s", Quoting(problem, "A tool or an agent gave a value that is not JSON."))
        if numbers := answered_numbers(event, answered):
            event.custom_metadata = {**(event.custom_metadata or {}), ANSWERED_KEY: numbers}
        self._nested.keep_events(event, answered)
        if event.get_function_responses():
            await self._apply_writes(invocation_context)

    async def _apply_writes(self, invocation_context: InvocationContext) -> None:
        """Store the clients' changes of the session state before the next model call.

        If the changes cannot be read, the next call of this method, or the next run, applies them.
        """
        session = invocation_context.session
        if self._writes is None or not self._writes.are_of(session):
            return
        try:
            written = await self._writes.take()
        except Exception:
            logger.exception("State that the page has written could not be read.")
            return
        if written:
            event = Event(
                author="user", invocation_id=invocation_context.invocation_id, actions=EventActions(state_delta=written)
            )
            await invocation_context.session_service.append_event(session, event)
            await self._writes.settle()

    def _cards(self, event: Event) -> dict[str, dict[str, Any]]:
        titles: dict[str, str] = {}
        approvals: dict[str, dict[str, Any]] = {}
        for call in event.get_function_calls():
            if call.name in self._titles:
                titles[call.name] = self._titles[call.name]
            if call.name == REQUEST_CONFIRMATION:
                asking = confirmed_call(call.args or {})
                running = self._calls.confirmed(event, asking)
                if running is not None and running in self._approvals:
                    approvals[asking["id"]] = self._approvals[running]
                if (name := asking.get("name")) in self._titles:  # this may be the first event with the call
                    titles[name] = self._titles[name]
        cards: dict[str, dict[str, Any]] = {"titles": titles, "approvals": approvals}
        return {key: notes for key, notes in cards.items() if notes}


def extended_runner(
    runner: Runner, plugin: BasePlugin, sessions: BaseSessionService, *, last: Sequence[BasePlugin] = ()
) -> Runner:
    """Return a copy of the runner with another session service and additional plugins.

    ``plugin`` comes before the runner's own plugins, and ``last`` after them. If a plugin changes an event, the plugins
    after it get the changed event.
    """
    extended = copy(runner)
    extended.session_service = sessions
    extended.plugin_manager = copy(runner.plugin_manager)
    extended.plugin_manager.plugins = [plugin, *runner.plugin_manager.plugins, *last]
    return extended
