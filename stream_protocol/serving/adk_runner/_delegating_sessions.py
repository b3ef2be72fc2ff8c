"""Session services that stand before another one: their base, and one that reports what it stores."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from google.adk.sessions import BaseSessionService

if TYPE_CHECKING:
    from collections.abc import Callable

    from google.adk.events import Event
    from google.adk.sessions import Session
    from google.adk.sessions.base_session_service import GetSessionConfig, ListSessionsResponse


class DelegatingSessions(BaseSessionService):
    """``sessions``, of which a subclass changes some methods.

    Other attributes are those of ``sessions``: a tool may use methods that only its own service has.
    """

    def __init__(self, sessions: BaseSessionService) -> None:
        self._sessions = sessions

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sessions, name)

    async def append_event(self, session: Session, event: Event) -> Event:
        """Delegates to the session service."""
        return await self._sessions.append_event(session, event)

    async def get_session(
        self, *, app_name: str, user_id: str, session_id: str, config: GetSessionConfig | None = None
    ) -> Session | None:
        """Delegates to the session service."""
        return await self._sessions.get_session(
            app_name=app_name, user_id=user_id, session_id=session_id, config=config
        )

    async def create_session(
        self, *, app_name: str, user_id: str, state: dict[str, Any] | None = None, session_id: str | None = None
    ) -> Session:
        """Delegates to the session service."""
        return await self._sessions.create_session(
            app_name=app_name, user_id=user_id, state=state, session_id=session_id
        )

    async def list_sessions(self, *, app_name: str, user_id: str | None = None) -> ListSessionsResponse:
        """Delegates to the session service."""
        return await self._sessions.list_sessions(app_name=app_name, user_id=user_id)

    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        """Delegates to the session service."""
        await self._sessions.delete_session(app_name=app_name, user_id=user_id, session_id=session_id)

    async def get_user_state(self, *, app_name: str, user_id: str) -> dict[str, Any]:
        """Delegates to the session service."""
        return await self._sessions.get_user_state(app_name=app_name, user_id=user_id)

    async def flush(self) -> None:
        """Delegates to the session service."""
        await self._sessions.flush()


class ObservedSessions(DelegatingSessions):
    """``sessions``, which stores one event at a time, and reports each complete one before and after that.

    ADK and a steering message append to one ``Session`` at the same time. A session service would take the second
    append for one to an outdated session.
    ``before_storing``: may raise; the event is not stored then.
    """

    def __init__(
        self, sessions: BaseSessionService, before_storing: Callable[[Event], None], stored: Callable[[Event], None]
    ) -> None:
        super().__init__(sessions)
        self._before_storing = before_storing
        self._stored = stored
        self._storing = asyncio.Lock()

    async def append_event(self, session: Session, event: Event) -> Event:
        """Stores the event, and reports it before and after."""
        if event.partial:
            return await super().append_event(session, event)
        async with self._storing:
            self._before_storing(event)
            appended = await super().append_event(session, event)
            self._stored(event)
        return appended
