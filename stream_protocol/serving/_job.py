"""One turn of a chat, ready to be run."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from google.adk.agents.invocation_context import new_invocation_context_id
from google.adk.agents.run_config import RunConfig
from google.adk.events import Event

from stream_protocol.convert import ConverterOptions, Settings, sse_conversion
from stream_protocol.serving._run import Begun
from stream_protocol.serving.adk_runner import announces_user_message
from stream_protocol.session import (
    AnsweredCalls,
    NewUserTurn,
    answers_ahead,
    is_user_text,
    live_events,
    message_id,
    run_config_for,
    session_to_messages,
    shown_events,
    superseded,
    user_content,
)
from stream_protocol.wire import encode_sse
from stream_protocol.wire.client import message_to_chunks

if TYPE_CHECKING:
    import asyncio

    from google.adk.runners import Runner
    from google.adk.sessions import Session

    from stream_protocol.serving._overrides import RunOverrides
    from stream_protocol.serving._recorder_protocol import TurnRecorder
    from stream_protocol.wire import ChatRequest, UIMessage


@dataclass(frozen=True, kw_only=True)
class Job:
    """A turn, and how its request wants it run."""

    request: ChatRequest
    turn: NewUserTurn | AnsweredCalls
    session: Session
    """As it was stored before the run."""
    prepared: RunOverrides
    runner: Runner
    run_config: RunConfig
    options: ConverterOptions
    recorder: TurnRecorder

    def begin(self, invocation_id: str | None) -> Begun:
        """The conversion of a response whose run has begun in this invocation."""
        settings = Settings(**self.options)
        match self.turn:
            case AnsweredCalls():
                past = shown_events(self.turn.past)
                return Begun(sse_conversion(past, self.turn.message_id, settings), self._rebuilt())
            case NewUserTurn() if invocation_id is None:
                return Begun(sse_conversion((), None, settings))
            case NewUserTurn():
                stored = live_events(self.session.events)
                texts = sum(event.invocation_id == invocation_id for event in stored if is_user_text(event))
                return Begun(sse_conversion((), message_id(invocation_id, texts + 1), settings))

    async def events(self, abort_signal: asyncio.Event) -> AsyncGenerator[Event]:
        """What ADK yields, with the user's own event first, which tells the invocation before the model speaks."""
        # A copy of the session: who asks what this run answers goes by what was stored before.
        session = self.session.model_copy(update={"events": list(self.session.events)})
        for event in superseded(session.events) if isinstance(self.turn, NewUserTurn) else ():
            await self.runner.session_service.append_event(session, event)
        for event in answers_ahead(self.turn):
            yield await self.runner.session_service.append_event(session, event)
        content = user_content(self.turn)
        invocation_id = self._announced_invocation()
        if invocation_id is not None:
            yield Event(author="user", invocation_id=invocation_id, content=content)
            if self._needs_event():
                opening = Event(author="user", invocation_id=invocation_id)
                await self.runner.session_service.append_event(session, opening)
        events = self.runner.run_async(
            user_id=self.session.user_id,
            session_id=self.session.id,
            invocation_id=invocation_id,
            new_message=content,
            state_delta=self.prepared.state() or None,
            run_config=run_config_for(self.turn, self.prepared.run_config or self.run_config),
            yield_user_message=True,
            abort_signal=abort_signal,
        )
        async with aclosing(events):
            async for event in events:
                yield event

    def _announced_invocation(self) -> str | None:
        """The invocation that we name, where ADK itself would not tell it before the model speaks."""
        if announces_user_message(self.runner.agent):
            return None
        if isinstance(self.turn, AnsweredCalls):
            return self.turn.past[0].invocation_id if self.turn.past else None
        return new_invocation_context_id()

    def _needs_event(self) -> bool:
        """Whether the session must have an event before an invocation can be named.

        A resumable app takes one with a name for a resumption, which ADK refuses in a session without any. An event of
        the user's without content changes nothing: not what the model is shown, nor the chat.
        """
        resumable = self.runner.resumability_config
        return resumable is not None and resumable.is_resumable and not self.session.events

    def messages(self) -> list[UIMessage]:
        """The stored messages when the run begins, with what the user says or answers: the message that the response
        goes on with is the last then."""
        return self._asked(self.session.events)

    def continued(self) -> UIMessage:
        """The message that the response goes on with, as the client made it when it answered."""
        assert isinstance(self.turn, AnsweredCalls)
        if not self.turn.past:  # nothing is stored: the page alone has it
            return self.request.messages[-1]
        return {**self._asked(self.turn.past)[-1], "id": self.turn.message_id}

    def _asked(self, stored: Sequence[Event]) -> list[UIMessage]:
        asked = Event(
            author="user",
            content=user_content(self.turn),
            custom_metadata=run_config_for(self.turn, self.run_config).custom_metadata,
        )
        events = [*stored, *answers_ahead(self.turn), asked]
        told = self.session.model_copy(update={"events": events})
        return session_to_messages(told, running=True, **self.options)

    def _rebuilt(self) -> bytes:
        _start, *parts = message_to_chunks(self.continued(), ai_sdk=self.options.get("ai_sdk", 6))
        return b"".join(map(encode_sse, parts))
