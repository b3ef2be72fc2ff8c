"""A session service that reports what it stores. Each run has its own: the app's service stays as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream_protocol.serving.adk_runner import DelegatingSessions

if TYPE_CHECKING:
    from collections.abc import Callable

    from google.adk.events import Event
    from google.adk.sessions import BaseSessionService, Session


class ObservedSessions(DelegatingSessions):
    """``sessions``, which reports each complete event before and after it is stored.

    ``before_storing``: may raise; the event is not stored then.
    """

    def __init__(
        self, sessions: BaseSessionService, before_storing: Callable[[Event], None], stored: Callable[[Event], None]
    ) -> None:
        super().__init__(sessions)
        self._before_storing = before_storing
        self._stored = stored

    async def append_event(self, session: Session, event: Event) -> Event:
        """Stores the event, and reports it before and after."""
        if event.partial:
            return await super().append_event(session, event)
        self._before_storing(event)
        appended = await super().append_event(session, event)
        self._stored(event)
        return appended
