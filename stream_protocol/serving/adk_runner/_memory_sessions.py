"""ADK's in-memory session service, with reads that do not block the event loop.

ADK's service copies the sessions that it returns. For 5,000 events or 5,000 chats, copying blocks the event loop for
hundreds of milliseconds (ADK 2.13). This service copies events in batches, and copies large events in a thread. A
thread is safe, because a stored event never changes.
"""

from __future__ import annotations

import asyncio
from copy import deepcopy
from functools import partial
from typing import TYPE_CHECKING, Final

from google.adk.sessions import InMemorySessionService
from google.adk.sessions.base_session_service import GetSessionConfig, ListSessionsResponse

from stream_protocol.serving.base import run_off_loop

if TYPE_CHECKING:
    from collections.abc import Sequence

    from google.adk.events import Event
    from google.adk.sessions import Session

BATCH_SIZE: Final = 25
"""The number of events or sessions that are copied before other tasks run. Copying them takes one to two
milliseconds."""

_WITHOUT_EVENTS: Final = GetSessionConfig(num_recent_events=0)


class MemorySessionService(InMemorySessionService):
    """Session service that stores sessions in the memory of this process. Its reads do not block the event loop.

    If another task changes a session during a call of ``list_sessions``, the result may lack this change.
    """

    async def get_session(
        self, *, app_name: str, user_id: str, session_id: str, config: GetSessionConfig | None = None
    ) -> Session | None:
        key = {"app_name": app_name, "user_id": user_id, "session_id": session_id}
        if config is not None:
            return await super().get_session(**key, config=config)
        session = await self.read_session(**key)
        if session is not None:
            session.events = await _copied(session.events)
        return session

    async def read_session(self, *, app_name: str, user_id: str, session_id: str) -> Session | None:
        """Returns the session, or ``None`` if it does not exist. Its events are the stored objects, and not copies.

        Callers must not change the events. For thousands of events, this is much faster than ``get_session``.
        """
        key = {"app_name": app_name, "user_id": user_id, "session_id": session_id}
        stored = self.sessions.get(app_name, {}).get(user_id, {}).get((session_id or "").strip())
        # No other task runs until `super()` has copied the state. So events and state are from one moment.
        events = list(stored.events) if stored is not None else []
        session = await super().get_session(**key, config=_WITHOUT_EVENTS)
        if session is not None:
            session.events = events
        return session

    def set_history(self, session: Session, events: Sequence[Event]) -> None:
        """Sets the events of a new session. The events must not have a state delta.

        This is faster than ADK's ``append_event``, which compares each event with all previous events. For 25,000
        events, this comparison takes twelve seconds.
        """
        for copy in (session, self.sessions[session.app_name][session.user_id][session.id]):
            copy.events = list(events)

    async def list_sessions(self, *, app_name: str, user_id: str | None = None) -> ListSessionsResponse:
        """Returns the sessions without their events, in the order of their last updates."""
        if user_id is None:
            return await super().list_sessions(app_name=app_name)
        sessions: list[Session] = []
        for number, session_id in enumerate(list(self.sessions.get(app_name, {}).get(user_id, {}))):
            if number % BATCH_SIZE == 0:
                await asyncio.sleep(0)
            key = {"app_name": app_name, "user_id": user_id, "session_id": session_id}
            session = await super().get_session(**key, config=_WITHOUT_EVENTS)
            if session is not None:  # another task may have deleted the session
                sessions.append(session)
        return ListSessionsResponse(sessions=sorted(sessions, key=lambda each: (each.last_update_time, each.id)))


async def _copied(events: list[Event]) -> list[Event]:
    copies: list[Event] = []
    for begin in range(0, len(events), BATCH_SIZE):
        if len(events) > BATCH_SIZE:
            await asyncio.sleep(0)
        batch = events[begin : begin + BATCH_SIZE]
        copies += await run_off_loop(partial(deepcopy, batch), events=batch)
    return copies
