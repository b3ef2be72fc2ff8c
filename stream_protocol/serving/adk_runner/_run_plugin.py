"""Our ADK plugin for one run. It makes events storable, and notes the calls whose tools raised an exception.

It also adds steering messages to model calls, and applies state that the client has written.
"""

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
    from collections.abc import Callable

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
    """Interface of ``PageWrites``: changes of the session state that clients request during a run."""

    def are_of(self, session: Session) -> bool:
        """Return True if the writes belong to this session."""

    async def take(self) -> dict[str, Any]:
        """Return the writes that are not applied yet."""

    async def settle(self) -> None:
        """Note that the writes returned by ``take`` are applied."""


class RunPlugin(BasePlugin):
    """Watches one run.

    ADK also calls this plugin for agents of an ``AgentTool``, which have their own invocations and sessions.

    ``session_id``: the session of the run. ``inbox``: the steering messages for the run; ``None`` if there cannot be
    any. ``writes``: state to apply between two steps; ``None`` if the client cannot write state. ``nests``: as for
    ``NestedRuns``.
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
        """The calls whose tools raised an exception. A callback of the app may still have set a result for the call."""
        self._state_writers: dict[str, set[RunningCall]] = {}
        """State key -> the calls that wrote it."""
        self._titles: dict[str, str] = {}
        """Tool name -> the tool's title for users."""
        self._approvals: dict[RunningCall, dict[str, Any]] = {}
        """Started call -> the note about its approval."""

    def raised_in(self, invocation_id: str) -> list[CallReference]:
        """Return the calls of this invocation whose tools raised an exception."""
        return [call.reference for call in self._raised if call.invocation_id == invocation_id]

    async def before_run_callback(self, *, invocation_context: InvocationContext) -> None:
        """Opens the inbox for steering messages, and starts to watch a nested run."""
        if self._inbox is not None and invocation_context.session.id == self._session_id:
            await self._inbox.enter(invocation_context)
        self._nested.begin_run(invocation_context)

    async def before_model_callback(self, *, callback_context: CallbackContext, llm_request: LlmRequest) -> None:
        """Notes the titles of the tools that the model can call, and adds the waiting steering messages."""
        for name, tool in llm_request.tools_dict.items():
            if (title := declared_title(tool)) is not None:
                self._titles[name] = title
        if self._inbox is not None:
            await self._inbox.take_in(callback_context, llm_request)

    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext
    ) -> None:
        """Notes the start of the call, and the text for the user if the call needs an approval."""
        enter_call(tool_context)
        call = self._calls.start(tool_context, tool.name, tool_args)
        if note := approval_note(tool, tool_args).to_json():
            self._approvals[call] = note
        self._nested.begin_call(tool, tool_context, call)

    async def on_tool_error_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext, error: BaseException
    ) -> None:
        """Notes the call of a tool that raised an exception.

        ADK also calls this for a call that was cancelled because a parallel call raised.
        """
        self._nested.end_call(tool_context)
        if isinstance(error, Exception):
            # A call of an unknown tool has not started.
            call = running_call(tool_context) or self._calls.start(tool_context, tool.name, tool_args)
            self._raised[call] = None

    async def after_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext, result: dict[str, Any]
    ) -> None:
        """Notes the result, and the state keys that the call wrote, before ADK merges the events of parallel calls."""
        self._nested.end_call(tool_context)
        may_be_silent = tool.is_long_running and not result
        if (call := self._calls.end(tool_context, may_be_silent=may_be_silent)) is not None:
            for key in tool_context.actions.state_delta:
                self._state_writers.setdefault(key, set()).add(call)

    async def on_event_callback(self, *, invocation_context: InvocationContext, event: Event) -> None:
        """Adds titles and approval notes to the event, and makes a complete event storable.

        ADK stores and yields the event afterwards.
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
        """Stores the state that the client has written, before the next model call.

        If the writes cannot be read, the next step or the next run applies them.
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
                if (name := asking.get("name")) in self._titles:  # the client may not have shown the call before
                    titles[name] = self._titles[name]
        cards: dict[str, dict[str, Any]] = {"titles": titles, "approvals": approvals}
        return {key: notes for key, notes in cards.items() if notes}


def extended_runner(runner: Runner, plugin: BasePlugin, sessions: BaseSessionService) -> Runner:
    """Return a copy of the runner with this session service and this plugin.

    The plugin comes before the runner's other plugins, so they get the events that it has changed.
    """
    extended = copy(runner)
    extended.session_service = sessions
    extended.plugin_manager = copy(runner.plugin_manager)
    extended.plugin_manager.plugins = [plugin, *runner.plugin_manager.plugins]
    return extended
