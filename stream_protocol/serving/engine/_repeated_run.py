"""Provides ``RepeatedRun``, a new execution of a run after its worker has died."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING

from stream_protocol.adk import Text, read
from stream_protocol.serving.engine._shown import texts_in, unfinished_texts

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from google.adk.events import Event

    from stream_protocol.serving.engine._engine import Execution
    from stream_protocol.serving.engine._resumed_sessions import ResumedSessions
    from stream_protocol.serving.run_logs import EventBuffer


class RepeatedRun:
    """A new execution of a run after its earlier workers have died. Shows the partial texts of earlier executions
    again. A partial text is the text of a model call during which a worker died.

    Stored partial texts keep their positions. The text of the last interrupted model call is only in the run log. This
    execution repeats that call, and stores the old text before the call's new response. Steering messages (user
    messages to an active run) that the call reads also come after the old text.

    ``logs``: the SSE events of each earlier execution, the oldest first. ``response``: the SSE events of this
    execution.
    """

    def __init__(
        self, sessions: ResumedSessions, execution: Execution, logs: Sequence[Sequence[bytes]], response: EventBuffer
    ) -> None:
        self._sessions = sessions
        self._execution = execution
        self._logs = logs
        self._response = response
        self._has_shown_all = False

    async def repeats_model_call(self, agent: str, branch: str | None) -> bool:
        return self._sessions.is_repeating() or await self._execution.repeats_model_call(agent, branch)

    async def events_before(self, message: Event | None, *, author: str, invocation_id: str) -> list[Event]:
        """Return the partial texts that come before a steering message (a user message to an active run). A partial
        text is the text of a model call during which a worker died. If a text is only in the run log, store it first.
        """
        if message is not None:
            return self._sessions.take_partial_texts(before=message)
        stored = self._sessions.take_partial_texts(rest=True)
        return [*stored, *await self._unfinished(stored, author=author, invocation_id=invocation_id)]

    async def shown(self, events: AsyncGenerator[Event]) -> AsyncGenerator[Event]:
        """Yield the events of this execution, and the partial texts of earlier executions at their positions. A partial
        text is the text of a model call during which a worker died.
        """
        sessions, execution = self._sessions, self._execution
        async with aclosing(events):
            async for event in events:
                said = read(event)
                for earlier in sessions.take_partial_texts(rest=execution.is_live and said.is_fragment):
                    yield earlier
                if not said.is_fragment:
                    yield event
                for earlier in sessions.take_partial_texts(rest=execution.is_live):
                    yield earlier
                if execution.is_live and not said.by_user:
                    for text in await self._unfinished((), author=said.speaker[0], invocation_id=said.invocation_id):
                        yield text
                if said.is_fragment:
                    yield event

    async def _unfinished(self, taken: Sequence[Event], *, author: str, invocation_id: str) -> list[Event]:
        """Store the texts of interrupted model calls that are only in the run log. Return them as events. Later calls
        return no events.

        ``taken``: events with stored texts that the response does not yet contain.
        """
        if self._has_shown_all:
            return []
        self._has_shown_all = True
        parts = (part for event in (*taken, *self._sessions.unrepeated) for part in read(event).parts)
        again = [*texts_in([*self._response.events()]), *(part.text for part in parts if isinstance(part, Text))]
        unfinished = unfinished_texts(self._logs, again, author=author, invocation_id=invocation_id)
        for event in unfinished:
            await self._sessions.append_shown(event)
        return unfinished
