"""Session services that wrap another session service."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from google.adk.sessions import BaseSessionService

from stream_protocol.session.transcript import update_awaited

if TYPE_CHECKING:
    from collections.abc import Callable

    from google.adk.events import Event
    from google.adk.sessions import Session
    from google.adk.sessions.base_session_service import GetSessionConfig, ListSessionsResponse


class DelegatingSessions(BaseSessionService):
    """Session service that passes all calls on to the session service ``sessions``. It also has all other attributes of
    ``sessions``, because tools of the app may use them.
    """

    def __init__(self, sessions: BaseSessionService) -> None:
        self._sessions = sessions

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sessions, name)

    async def append_event(self, session: Session, event: Event) -> Event:
        return await self._sessions.append_event(session, event)

    async def get_session(
        self, *, app_name: str, user_id: str, session_id: str, config: GetSessionConfig | None = None
    ) -> Session | None:
        return await self._sessions.get_session(
            app_name=app_name, user_id=user_id, session_id=session_id, config=config
        )

    async def create_session(
        self, *, app_name: str, user_id: str, state: dict[str, Any] | None = None, session_id: str | None = None
    ) -> Session:
        return await self._sessions.create_session(
            app_name=app_name, user_id=user_id, state=state, session_id=session_id
        )

    async def list_sessions(self, *, app_name: str, user_id: str | None = None) -> ListSessionsResponse:
        return await self._sessions.list_sessions(app_name=app_name, user_id=user_id)

    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        await self._sessions.delete_session(app_name=app_name, user_id=user_id, session_id=session_id)

    async def get_user_state(self, *, app_name: str, user_id: str) -> dict[str, Any]:
        return await self._sessions.get_user_state(app_name=app_name, user_id=user_id)

    async def flush(self) -> None:
        await self._sessions.flush()


class ObservedSessions(DelegatingSessions):
    """Session service that reports each complete (not partial) event before and after it is stored in ``sessions``.

    ``before_storing``: called before an event is stored. If it raises, the event is not stored. ``stored``: called with
    each stored event.
    """

    def __init__(
        self,
        sessions: BaseSessionService,
        before_storing: Callable[[Session, Event], None],
        stored: Callable[[Event], None],
    ) -> None:
        super().__init__(sessions)
        self._before_storing = before_storing
        self._stored = stored
        # ADK and the `SteeringInbox` may append to one `Session` object at the same time.
        self._storing = asyncio.Lock()

    async def append_event(self, session: Session, event: Event) -> Event:
        """Stores the event. If the caller is cancelled, the method first waits until the event is stored."""
        if event.partial:
            return await super().append_event(session, event)
        async with self._storing:
            self._before_storing(session, event)
            storing = asyncio.create_task(append_in_order(self._sessions, session, event))
            try:
                appended = await asyncio.shield(storing)
            except asyncio.CancelledError:
                # A stop cancels the agent. Without this wait, the store might have an event that the `Session` object
                # lacks.
                await asyncio.gather(storing, return_exceptions=True)  # a second cancellation also cancels `storing`
                if not storing.cancelled() and storing.exception() is None:
                    self._stored(event)
                raise
            self._stored(event)
        return appended


_STEP: Final = 2e-6
"""Seconds between two events. Stores round times to microseconds: times with a distance of one may become equal."""


class OrderedSessions(DelegatingSessions):
    """Session service that stores each event with ``append_in_order``."""

    async def append_event(self, session: Session, event: Event) -> Event:
        return await append_in_order(self._sessions, session, event)


async def append_in_order(sessions: BaseSessionService, session: Session, event: Event) -> Event:
    """Stores the event. Also updates the state's list of tool calls that wait for the client (``update_awaited``).

    An event older than the session's last event gets a later time, because stores sort events by time. Such events
    exist for two reasons: ADK sets an event's time before the model call, and the clocks of workers differ.
    """
    if session.events and event.timestamp < session.events[-1].timestamp:
        event.timestamp = session.events[-1].timestamp + _STEP
    update_awaited(event, session.state)
    return await sessions.append_event(session, event)
