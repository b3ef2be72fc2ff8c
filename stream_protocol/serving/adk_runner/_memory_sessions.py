"""ADK's session service in memory, with reads that let other chats go on meanwhile.

ADK copies all that it returns. 5,000 events, or the sessions of a user with 5,000 chats, hold the event loop for
hundreds of milliseconds (ADK 2.13). Here they are copied in pieces, and large events in a thread: a stored event never
changes. The state cannot be copied in a thread, because it may change meanwhile.
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

AT_ONCE: Final = 25
"""Events or sessions that are copied before others have their turn: one to two milliseconds."""

_WITHOUT_EVENTS: Final = GetSessionConfig(num_recent_events=0)


class MemorySessionService(InMemorySessionService):
    """Sessions in the memory of this process, as ``InMemorySessionService`` of ADK has them.

    A session is as it was when the reading began. The sessions of a list are each as they were at some moment of it.
    """

    async def get_session(
        self, *, app_name: str, user_id: str, session_id: str, config: GetSessionConfig | None = None
    ) -> Session | None:
        """Returns a copy of the session; ``None`` if there is none."""
        key = {"app_name": app_name, "user_id": user_id, "session_id": session_id}
        stored = self.sessions.get(app_name, {}).get(user_id, {}).get((session_id or "").strip())
        if config is not None or stored is None:
            return await super().get_session(**key, config=config)
        events = list(stored.events)  # below nothing waits before the state is copied, too
        session = await super().get_session(**key, config=_WITHOUT_EVENTS)
        if session is not None:
            session.events = await _copied(events)
        return session

    async def read_session(self, *, app_name: str, user_id: str, session_id: str) -> Session | None:
        """Returns a copy of the session with the stored events themselves; ``None`` if there is none.

        For callers that change no event: to copy thousands of events takes longer than to read them.
        """
        key = {"app_name": app_name, "user_id": user_id, "session_id": session_id}
        stored = self.sessions.get(app_name, {}).get(user_id, {}).get(session_id.strip())
        events = list(stored.events) if stored is not None else []  # below nothing waits before the state is copied
        session = await super().get_session(**key, config=_WITHOUT_EVENTS)
        if session is not None:
            session.events = events
        return session

    def set_history(self, session: Session, events: Sequence[Event]) -> None:
        """Gives a new session the events of its history, which change no state.

        ADK compares an event that it appends with all before it: 25,000 would take twelve seconds.
        """
        for one in (session, self.sessions[session.app_name][session.user_id][session.id]):
            one.events = list(events)

    async def list_sessions(self, *, app_name: str, user_id: str | None = None) -> ListSessionsResponse:
        """Returns copies of the sessions, without events, by the time of their last change."""
        if user_id is None:
            return await super().list_sessions(app_name=app_name)
        sessions: list[Session] = []
        for number, session_id in enumerate(list(self.sessions.get(app_name, {}).get(user_id, {}))):
            if number % AT_ONCE == 0:
                await asyncio.sleep(0)
            key = {"app_name": app_name, "user_id": user_id, "session_id": session_id}
            session = await super().get_session(**key, config=_WITHOUT_EVENTS)
            if session is not None:  # it may be deleted meanwhile
                sessions.append(session)
        return ListSessionsResponse(sessions=sorted(sessions, key=lambda one: (one.last_update_time, one.id)))


async def _copied(events: list[Event]) -> list[Event]:
    copies: list[Event] = []
    for begin in range(0, len(events), AT_ONCE):
        if len(events) > AT_ONCE:
            await asyncio.sleep(0)
        some = events[begin : begin + AT_ONCE]
        copies += await run_off_loop(partial(deepcopy, some), events=some)
    return copies
