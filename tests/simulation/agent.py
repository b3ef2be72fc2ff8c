"""Simulated agent, a model of ADK's ``Runner``: it sends words, calls a tool, and asks for approval before it pays.

Each word is unique: ``m7.2`` is word 2 of model call 7. So the text alone shows if a reader lacks a word, or gets one
twice. ``Ledger`` records what the agent and its tools have really done.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from google.adk.agents import LlmAgent
from google.adk.agents.invocation_context import new_invocation_context_id
from google.adk.events import Event, EventActions
from google.adk.flows.llm_flows.functions import REQUEST_CONFIRMATION_FUNCTION_CALL_NAME
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.tools.tool_confirmation import ToolConfirmation
from google.genai import types
from typing_extensions import override

from stream_protocol.serving.adk_runner import RunPlugin

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from google.adk.agents.run_config import RunConfig
    from google.adk.sessions import BaseSessionService, Session

    from tests.simulation.run_engine import CallJournal

APP: Final = "app"
AGENT: Final = LlmAgent(name="root", model="scripted")

Kind: TypeAlias = Literal["talk", "work", "pay"]
"""Kind of reply. ``talk``: words. ``work``: words, a tool, words. ``pay``: words, a tool that waits for approval,
words.
"""

KINDS: Final[tuple[Kind, ...]] = ("talk", "work", "pay")

AWAITS_APPROVAL: Final = "This tool call requires confirmation, please approve or reject."


@dataclass(frozen=True)
class Script:
    """Reply to a message. ``pause``: seconds before each word. ``tool_seconds``: duration of the tool."""

    kind: Kind
    words: int
    pause: float
    tool_seconds: float


@dataclass(frozen=True)
class ToolStart:
    """Start of a tool. ``message``: the user message. ``holder``: holder of the chat's lease at this time, empty
    without one.
    """

    call_id: str
    tool: str
    message: str
    at: float
    worker: int
    holder: str
    holder_worker: str
    process: str
    """Process that runs the tool."""


@dataclass(frozen=True)
class ModelCall:
    """Call of the model."""

    number: int
    message: str
    at: float
    worker: int
    read: tuple[str, ...]
    """Steering messages that stand before the reply of this call, and before no earlier reply."""


@dataclass
class Ledger:
    """Record of everything that the agent has really done."""

    scripts: dict[str, Script] = field(default_factory=dict)
    """User message -> script of the reply."""
    calls: list[ModelCall] = field(default_factory=list)
    said: dict[int, int] = field(default_factory=dict)
    """Number of a model call -> number of words that it has sent."""
    late_words: dict[int, int] = field(default_factory=dict)
    """Number of a model call -> number of words sent while another worker's run held the chat."""
    tools: list[ToolStart] = field(default_factory=list)
    ended: set[str] = field(default_factory=set)
    """Calls whose tool has ended."""


_RUNNER: Final = Runner(app_name=APP, agent=AGENT, session_service=InMemorySessionService())


class ScriptedRunner(Runner):
    """Runner of one worker.

    ``note_call(message, steering messages)``: called for each model call, returns its number.
    ``note_word(call)``: called for each word.
    ``note_tool(call id, tool, message)``: called for each start of a tool.
    """

    journal: CallJournal | None = None
    """Journal of the calls that an engine stores; ``None`` without an engine."""

    def __init__(
        self,
        sessions: BaseSessionService,
        ledger: Ledger,
        note_call: Callable[[str, tuple[str, ...]], int],
        note_word: Callable[[int], None],
        note_tool: Callable[[str, str, str], None],
    ) -> None:
        vars(self).update(vars(_RUNNER), session_service=sessions)  # cheaper than `Runner.__init__`
        self.ledger = ledger
        self.note_call = note_call
        self.note_word = note_word
        self.note_tool = note_tool

    @override
    async def run_async(
        self,
        *,
        user_id: str,
        session_id: str,
        invocation_id: str | None = None,
        new_message: types.Content | None = None,
        state_delta: dict[str, Any] | None = None,
        run_config: RunConfig | None = None,
        yield_user_message: bool = False,
        abort_signal: asyncio.Event | None = None,
    ) -> AsyncGenerator[Event, None]:
        session = await self.session_service.get_session(app_name=APP, user_id=user_id, session_id=session_id)
        assert session is not None
        assert new_message is not None
        assert run_config is not None
        assert abort_signal is not None
        turn = Turn(
            self, session, invocation_id or new_invocation_context_id(), run_config.custom_metadata, abort_signal
        )
        answer = new_message.parts[0].function_response if new_message.parts else None
        if answer is not None:
            turn.find_call(str(answer.id))
        user = turn.event("user", new_message, actions=EventActions(state_delta=state_delta or {}))
        await turn.store(user)
        await turn.begin()
        yield user
        if answer is None:
            message = str(new_message.parts[0].text) if new_message.parts else ""
            steps = turn.answer_words(message)
        else:
            steps = turn.answer_approval(bool((answer.response or {}).get("confirmed")))
        async for event in steps:
            yield event


class Turn:
    """One invocation of the agent."""

    def __init__(
        self,
        runner: ScriptedRunner,
        session: Session,
        invocation_id: str,
        metadata: dict[str, Any] | None,
        abort_signal: asyncio.Event,
    ) -> None:
        self._runner = runner
        self._ledger = runner.ledger
        self._journal = runner.journal
        self._session = session
        self._invocation_id = invocation_id
        self._metadata = metadata
        self._abort_signal = abort_signal
        self._call = types.FunctionCall()
        self._message = ""
        (self._plugin,) = (each for each in runner.plugin_manager.plugins if isinstance(each, RunPlugin))

    def find_call(self, confirmation_id: str) -> None:
        """Find the call for this approval, and the user message of its run."""
        for event in self._session.events:
            for call in event.get_function_calls():
                if call.id == confirmation_id:
                    self._call = types.FunctionCall.model_validate((call.args or {})["originalFunctionCall"])
                    self._invocation_id = event.invocation_id
        self._message = str((self._call.args or {})["message"])

    def event(self, author: str, content: types.Content | None, **fields: Any) -> Event:
        return Event(
            author=author,
            invocation_id=self._invocation_id,
            content=content,
            custom_metadata=self._metadata,
            **fields,
        )

    async def store(self, event: Event) -> None:
        await self._runner.session_service.append_event(self._session, event)

    async def begin(self) -> None:
        """Call the plugin of the run, as ADK does after it has stored the user's message."""
        invocation: Any = SimpleNamespace(
            session=self._session,
            session_service=self._runner.session_service,
            plugin_manager=self._runner.plugin_manager,
            invocation_id=self._invocation_id,
            branch=None,
            isolation_scope=None,
        )
        self._context: Any = SimpleNamespace(_invocation_context=invocation, agent_name="root")
        await self._plugin.before_run_callback(invocation_context=invocation)

    async def _read_steering(self) -> tuple[str, ...]:
        """Return the steering messages for the next model call, which the plugin adds."""
        request: Any = SimpleNamespace(tools_dict={}, contents=[])
        await self._plugin.before_model_callback(callback_context=self._context, llm_request=request)
        return tuple(content.parts[0].text for content in request.contents)

    async def answer_words(self, message: str) -> AsyncGenerator[Event, None]:
        """Yield the reply to a message."""
        self._message = message
        kind = self._ledger.scripts[message].kind
        async for event in self._speak(call="" if kind == "talk" else kind):
            yield event
        if kind == "talk" or self._abort_signal.is_set():
            return
        if kind == "work":
            async for event in self._use_tool():
                yield event
            return
        async for event in self._ask_for_approval():
            yield event

    async def answer_approval(self, approved: bool) -> AsyncGenerator[Event, None]:
        """Yield the events after an approval or a denial."""
        if approved:
            async for event in self._use_tool():
                yield event
            return
        denied = self._response({"error": "This tool call is rejected."})
        await self.store(denied)
        yield denied
        async for event in self._speak():
            yield event

    async def _speak(self, call: str = "") -> AsyncGenerator[Event, None]:
        """Call the model. ``call``: tool that the model calls after its words."""
        if self._abort_signal.is_set():
            return
        read = await self._read_steering()
        kept = None if self._journal is None else self._journal.next_answer()
        if kept is None:
            script = self._ledger.scripts[self._message]
            number = self._runner.note_call(self._message, read)
            partial = self.event("root", None, partial=True)
            for word in range(script.words):
                await asyncio.sleep(script.pause)
                if self._abort_signal.is_set():
                    return
                self._ledger.said[number] = word + 1
                self._runner.note_word(number)
                yield partial.model_copy(update={"id": Event.new_id(), "content": _text(f"m{number}.{word} ")})
            kept = number, script.words
            if self._journal is not None:
                await self._journal.keep_answer(kept)
        number, words = kept
        parts = [types.Part(text="".join(f"m{number}.{word} " for word in range(words)))]
        if call:
            self._call = types.FunctionCall(id=f"{call}-{number}", name=call, args={"message": self._message})
            parts.append(types.Part(function_call=self._call))
        complete = self.event("root", types.Content(role="model", parts=parts))
        await self.store(complete)
        yield complete

    async def _use_tool(self) -> AsyncGenerator[Event, None]:
        """Run the tool of a stored call, and send its result to the model."""
        if self._abort_signal.is_set():
            return
        call_id, tool = str(self._call.id), str(self._call.name)
        noted = None if self._journal is None else await self._journal.begin_tool(call_id)
        if noted is None:
            self._runner.note_tool(call_id, tool, self._message)
            await asyncio.sleep(self._ledger.scripts[self._message].tool_seconds)
            self._ledger.ended.add(call_id)
            if self._journal is not None:
                await self._journal.end_tool(call_id, "done")
            noted = "done"
        response = {"error": "Nobody knows whether it ended."} if noted == "started" else {"result": noted}
        done = self._response(response)
        await self.store(done)
        yield done
        if not self._abort_signal.is_set():
            async for event in self._speak():
                yield event

    async def _ask_for_approval(self) -> AsyncGenerator[Event, None]:
        confirmation = ToolConfirmation(hint="", confirmed=False)
        args = {
            "originalFunctionCall": self._call.model_dump(exclude_none=True, by_alias=True),
            "toolConfirmation": confirmation.model_dump(exclude_none=True, by_alias=True),
        }
        asked = types.FunctionCall(id=f"ask-{self._call.id}", name=REQUEST_CONFIRMATION_FUNCTION_CALL_NAME, args=args)
        content = types.Content(role="model", parts=[types.Part(function_call=asked)])
        request = self.event("root", content, long_running_tool_ids={str(asked.id)})
        await self.store(request)
        yield request
        actions = EventActions(requested_tool_confirmations={str(self._call.id): confirmation}, skip_summarization=True)
        waiting = self._response({"error": AWAITS_APPROVAL}, actions=actions)
        await self.store(waiting)
        yield waiting

    def _response(self, response: dict[str, Any], **fields: Any) -> Event:
        part = types.Part(
            function_response=types.FunctionResponse(id=self._call.id, name=self._call.name, response=response)
        )
        return self.event("root", types.Content(role="user", parts=[part]), **fields)


_PART: Final = types.Part(text="")
_CONTENT: Final = types.Content(role="model", parts=[_PART])


def _text(text: str) -> types.Content:
    """Return a text of the model. Copies are cheaper than new objects."""
    return _CONTENT.model_copy(update={"parts": [_PART.model_copy(update={"text": text})]})
