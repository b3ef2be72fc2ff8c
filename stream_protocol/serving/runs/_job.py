"""Provides ``Job``, the work of one run. A job is created from a ``RequestPlan``."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from google.adk.agents.invocation_context import new_invocation_context_id
from google.adk.agents.run_config import RunConfig
from google.adk.events import Event

from stream_protocol.adk import NO_IDS, CallIds, raising_calls
from stream_protocol.serving.adk_runner import (
    RunPlugin,
    announces_user_message,
    append_in_order,
    extended_runner,
    with_cheap_telemetry,
    with_sessions,
)
from stream_protocol.serving.base import run_off_loop
from stream_protocol.serving.chats import find_session, is_overtaken, repair_session, rewind_session, title_delta
from stream_protocol.serving.runs._observed_input import StoppedBeforeStoredError, observed_sessions
from stream_protocol.serving.runs._run import NOT_FAILURES
from stream_protocol.serving.runs._run_response import StartedResponse
from stream_protocol.session import (
    AnsweredCalls,
    NewUserTurn,
    Transcript,
    context_content,
    count_seen_events,
    denial_events,
    events_before_message,
    responses_missing_for_model,
    run_config_for_turn,
    run_inputs,
    tool_failure_events,
    transcript_to_messages,
)
from stream_protocol.session.transcript import AcceptedMessage
from stream_protocol.stream import ConverterOptions, Settings, sse_conversion
from stream_protocol.wire import client_version, encode_sse
from stream_protocol.wire.client import message_to_chunks

if TYPE_CHECKING:
    from google.adk.runners import Runner
    from google.adk.sessions import Session

    from stream_protocol.serving.adk_runner import SteeringInbox
    from stream_protocol.serving.base import RunOverrides, TurnRecorders
    from stream_protocol.serving.chats import PageWrites
    from stream_protocol.serving.runs._run import Run
    from stream_protocol.session import CallAnswer, RunInput
    from stream_protocol.wire import ChatRequest, UIMessage

logger = logging.getLogger(__name__)

_COMPUTED: Final = ("transcript", "_continuation")
"""The cached properties that ``read_session`` computes."""


@dataclass(eq=False, kw_only=True)
class Job:
    request: ChatRequest
    request_plan: NewUserTurn | AnsweredCalls
    session: Session
    """The stored session before the run. ``events`` first rewinds it, if the plan says so."""
    overrides: RunOverrides
    runner: Runner
    run_config: RunConfig
    options: ConverterOptions
    recorder: TurnRecorders
    on_stored: Callable[[Sequence[CallAnswer]], None]
    """Called when the user's message or the first answers to tool calls are stored. The argument: all answers of the
    request, or only its denials if the run was stopped before its start."""
    invocation_id: str | None = None
    """The invocation id for the run of a new user message; ``None`` if ADK generates the id."""
    context: Any = None
    """The client's context for this request, as JSON."""
    page_state: Mapping[str, Any] = field(default_factory=dict)
    """Session state that the client wrote before the run, or sent with the request. Only this run stores it."""
    page_writes: PageWrites | None = None
    """Session state that the client writes during the run; ``None`` if the client must not write state."""
    known_transcript: Transcript | None = None
    """The conversation before the run, if the request has loaded it."""
    on_answered: Callable[[Sequence[CallAnswer]], None] = lambda _: None
    """Like ``on_stored``, for answers that came with a new message."""
    is_rewound: bool = False
    """True once ``events`` has rewound the session. Until the user's message is stored, the chat lacks this message."""

    @cached_property
    def transcript(self) -> Transcript:
        return self.known_transcript or Transcript(self.session.events)

    @property
    def answers(self) -> tuple[CallAnswer, ...]:
        return self.request_plan.answers if isinstance(self.request_plan, AnsweredCalls) else ()

    def with_runner(self, runner: Runner) -> Job:
        """Return a copy of the job with another runner. The new runner gets the session service of the
        current runner.
        """
        return self.changed(runner=with_sessions(runner, self.runner.session_service))

    def changed(self, **values: Any) -> Job:
        """Return a copy of the job in which ``values`` replace fields. The copy keeps what ``read_session`` has
        computed.
        """
        other = replace(self, **values)
        vars(other).update({name: vars(self)[name] for name in _COMPUTED if name in vars(self)})
        return other

    def read_session(self) -> None:
        """Compute and cache the stored conversation and the beginning of the response. Call this method with
        ``run_off_loop``, because the computation can take long.
        """
        _ = self.transcript
        if isinstance(self.request_plan, AnsweredCalls):
            with suppress(Exception):  # an app's hook may raise; it raises again when the response starts
                _ = self._continuation

    @cached_property
    def _continuation(self) -> StartedResponse:
        assert isinstance(self.request_plan, AnsweredCalls)
        settings = Settings(**self.options)
        plan = self.request_plan
        seen = count_seen_events(self.request.target, plan, self.options)
        conversion = sse_conversion(plan.past, plan.message_id, settings, plan.call_ids, seen=seen)
        return StartedResponse(conversion, self._past_sse(seen))

    def start_response(self, invocation_id: str | None) -> StartedResponse:
        """Starts the response. ``invocation_id``: the invocation id of the run's first event; ``None`` if the run has
        no event.
        """
        settings = Settings(**self.options)
        match self.request_plan:
            case AnsweredCalls():
                return self._continuation
            case NewUserTurn() if invocation_id is None:
                return StartedResponse(sse_conversion((), None, settings))
            case NewUserTurn():
                message_id = self.transcript.next_message_id(invocation_id)
                return StartedResponse(sse_conversion((), message_id, settings, self.request_plan.call_ids))

    async def events(self, run: Run) -> AsyncGenerator[Event]:
        """Runs the agent and yields the events of ADK. First prepares the session.

        The first event is the event of the user. Its invocation id determines the id of the assistant message. The
        user's events store the idempotency key of ``run``.

        If the run was stopped before its start, a user message is still stored. Of the user's answers to tool calls,
        only denials are stored.
        """
        await self._prepare_session()
        beginning = self.request_plan.client_message_id if isinstance(self.request_plan, NewUserTurn) else None
        run.steering.begin(
            self._earlier_messages(beginning),
            context=self.context,
            delivered=(taken_in for turn in self.transcript.turns for taken_in in turn.steering_ids),
        )
        # This is a copy: `messages_before_response` and `Completion` need the session as it was before the run.
        session = self.session.model_copy(update={"events": list(self.session.events)})
        for event in responses_missing_for_model(self.transcript) if isinstance(self.request_plan, NewUserTurn) else ():
            await append_in_order(self.runner.session_service, session, event)
        inputs = run_inputs(self.request_plan, run.mark)
        for number, run_input in enumerate(inputs):
            if number:  # the run of the previous input has appended events
                session = await find_session(self.runner, session.user_id, session.id) or session
            with suppress(StoppedBeforeStoredError):
                if run.may_store_input(self.request_plan):
                    for event in run_input.before:
                        yield await append_in_order(self.runner.session_service, session, event)
                    async with aclosing(self._run(run_input, session, run)) as events:
                        async for event in events:
                            yield event
                    continue
            left = [answer for each in inputs[number:] for answer in each.answers]
            for event in denial_events(left, self.request_plan.reasons, run.mark):
                yield await append_in_order(self.runner.session_service, session, event)
            self.on_stored([answer for answer in left if answer.is_denial])
            return

    async def _prepare_session(self) -> None:
        """Rewind the session if the plan needs it, and repair its state. If the user's answers to tool calls came with
        a new message, append these answers.
        """
        plan, found = self.request_plan, len(self.session.events)
        if isinstance(plan, NewUserTurn) and plan.rewind_before is not None:
            kept = plan.kept_steering
            self.session = await rewind_session(self.runner, self.session, plan.rewind_before, kept_steering=kept)
            self.is_rewound = True
        await repair_session(self.runner, self.session)
        if isinstance(plan, NewUserTurn):
            for event in events_before_message(plan):
                await append_in_order(self.runner.session_service, self.session, event)
            self.on_answered(plan.answers)
        if len(self.session.events) != found:
            self.known_transcript = None
            vars(self).pop("transcript", None)
            await run_off_loop(self.read_session, events=self.session.events)

    def _earlier_messages(self, beginning: str | None) -> Iterator[AcceptedMessage]:
        """Yield steering messages (user messages to an active run) that earlier runs have accepted. Omit messages that
        a model has read, and the message that begins this run.

        ``beginning``: the id (from the client) of the message that begins this run. Messages before it are yielded
        without their context, because the context of this run is newer.
        """
        is_newer = False
        for message in self.transcript.waiting:
            if message.id == beginning:
                is_newer = True
            else:
                yield replace(message, model_calls=0, context=message.context if is_newer else None)

    async def _run(self, run_input: RunInput, session: Session, run: Run) -> AsyncGenerator[Event]:
        content = run_input.content
        invocation_id = self._announced_invocation()
        complete: list[Event] = []
        if invocation_id is not None:
            complete.append(Event(author="user", invocation_id=invocation_id, content=content))
            yield complete[0]
            if self._needs_event():
                opening = Event(author="user", invocation_id=invocation_id)
                await append_in_order(self.runner.session_service, session, opening)
        named = self.invocation_id if isinstance(self.request_plan, NewUserTurn) else None
        plugin = RunPlugin(self.session.id, run.steering, self.page_writes, nests=Settings(**self.options).nests)
        compactions: list[Event] = []
        """Compaction events, which ADK stores but does not yield."""
        sessions = observed_sessions(self, run, run_input, compactions, known=len(session.events))
        events = extended_runner(self.runner, plugin, sessions, last=self.recorder.plugins()).run_async(
            user_id=self.session.user_id,
            session_id=self.session.id,
            invocation_id=invocation_id or named,
            new_message=content,
            state_delta=self._state_delta() or None,
            run_config=run_config_for_turn(self.request_plan, self._config_with_context(run.steering), run.mark),
            yield_user_message=True,
            abort_signal=run.agent_task.abort_signal,
        )
        failure: BaseException | None = None
        try:
            async with aclosing(events):
                async for event in events:
                    if self.page_writes is not None:
                        await self.page_writes.settle()
                    while compactions:
                        yield compactions.pop(0)
                    if not event.partial:
                        complete.append(event)
                    yield event
            while compactions:
                yield compactions.pop(0)
        except NOT_FAILURES:
            raise
        except BaseException as error:  # noqa: BLE001 - any error of the agent; raised again below
            failure = error
        finally:
            await run.steering.leave()
        if complete and not run.agent_task.abort_signal.is_set():  # a stop can make tools fail
            for event in await self._store_tool_failures(run, plugin, [*session.events, *complete], failure):
                yield event
        if failure is not None:
            raise failure

    def _state_delta(self) -> dict[str, Any]:
        title = title_delta(self.session, self.transcript, self.request_plan)
        return {**title, **self.page_state, **self.overrides.state()}

    def _config_with_context(self, inbox: SteeringInbox) -> RunConfig:
        run_config = with_cheap_telemetry(self.overrides.run_config or self.run_config)
        if inbox.context is None:
            return run_config
        before = run_config.model_input_context or []
        return run_config.model_copy(update={"model_input_context": [*before, context_content(inbox.context)]})

    async def _store_tool_failures(
        self, run: Run, plugin: RunPlugin, events: Sequence[Event], failure: BaseException | None
    ) -> list[Event]:
        """Append an error response for each unanswered call of a tool that raised an exception. Return the appended
        events.

        ``events``: the events of the session and of the run. ``failure``: the exception that ended the run. If the
        session store fails, still return the events, so that the client gets them.
        """
        raised = [*plugin.raised_in(events[-1].invocation_id), *(raising_calls(failure) if failure else ())]
        if not raised:
            return []
        missing = await run_off_loop(
            lambda: tool_failure_events(Transcript(events), raised, run_failed=failure is not None), events=events
        )
        try:
            key = (self.session.user_id, self.session.id)
            session = await find_session(self.runner, *key) if missing else None
            if session is not None and not self.is_overtaken(run, session):
                return [await append_in_order(self.runner.session_service, session, event) for event in missing]
        except Exception:
            logger.exception("The failure of a tool could not be stored.")
        return missing

    def is_overtaken(self, run: Run, session: Session) -> bool:
        since = session.events[len(self.session.events) :]
        return is_overtaken(since, mark=run.mark, execution=run.id)

    def _announced_invocation(self) -> str | None:
        """Return the invocation id for the user event, if the job must yield this event. Return ``None`` if ADK yields
        it.
        """
        if announces_user_message(self.runner.agent):
            return None
        if isinstance(self.request_plan, AnsweredCalls):
            return self.request_plan.past[0].invocation_id if self.request_plan.past else None
        return self.invocation_id or new_invocation_context_id()

    def _needs_event(self) -> bool:
        """Return True if the session needs an empty event before ADK accepts an invocation id.

        This is the case for a new session of a resumable app. The empty event changes neither the prompt nor the chat.
        """
        resumable = self.runner.resumability_config
        return resumable is not None and resumable.is_resumable and not self.session.events

    def messages_before_response(self) -> list[UIMessage]:
        """Return the stored messages, then the user's new message. If the request answers tool calls, the answers are
        added to the last message.
        """
        return self._messages_after(self.session.events, self.request_plan)

    def _continued_message(self, seen: int | None) -> UIMessage:
        """Return the assistant message that the response continues. It contains the user's new approvals and denials.
        Outputs from the client are left out, because the response sends them.

        ``seen``: how many events of this message the client has received; ``None`` for all. The response sends the
        other events.
        """
        plan = self.request_plan
        assert isinstance(plan, AnsweredCalls)
        if not plan.past:  # only the client has the message
            return self.request.target
        plan = replace(plan, answers=tuple(answer for answer in plan.answers if answer.is_approval))
        return {**self._messages_after(plan.past[:seen], plan, plan.call_ids)[-1], "id": plan.message_id}

    def _messages_after(
        self, stored: Sequence[Event], plan: NewUserTurn | AnsweredCalls, call_ids: CallIds = NO_IDS
    ) -> list[UIMessage]:
        """Return the messages of the ``stored`` events and of the request. ``plan``: the plan of the request.
        ``call_ids``: the tool call ids that earlier messages contain.
        """
        metadata = run_config_for_turn(plan, self.run_config).custom_metadata
        own: list[Event] = []
        for run_input in run_inputs(plan):
            own += [*run_input.before, Event(author="user", content=run_input.content, custom_metadata=metadata)]
        transcript = Transcript([*stored, *own], call_ids=call_ids)
        return transcript_to_messages(transcript, running=True, **self.options)

    def _past_sse(self, seen: int | None) -> bytes:
        """Return SSE events with the content of the message that the response continues. The ``start`` chunk is
        omitted, because the response sends its own.
        """
        _start, *parts = message_to_chunks(
            self._continued_message(seen), ai_sdk=client_version(self.options.get("ai_sdk", 6)).major
        )
        return b"".join(map(encode_sse, parts))
