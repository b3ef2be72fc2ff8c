"""Simulated session store, a model of ADK's ``DatabaseSessionService``: it refuses an event for an outdated session."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from google.adk.errors import StaleSessionError
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.sessions import BaseSessionService, Session
from google.adk.sessions.base_session_service import ListSessionsResponse
from typing_extensions import override

if TYPE_CHECKING:
    from collections.abc import Callable

    from google.adk.events import Event
    from google.adk.sessions.base_session_service import GetSessionConfig

    from tests.simulation.network import Network, T


@dataclass
class StoredSession:
    """A session, and its number of changes."""

    events: list[Event] = field(default_factory=list)
    state: dict[str, Any] = field(default_factory=dict)
    revision: int = 0


class SessionDatabase:
    """Data of all sessions. ``on_append(session id, event, worker)``: called for each stored event."""

    def __init__(self, on_append: Callable[[str, Event, int], None]) -> None:
        self.sessions: dict[str, StoredSession] = {}
        self.on_append = on_append


class SimulatedSessions(BaseSessionService):
    """Session service of one worker, for one app and user."""

    def __init__(self, database: SessionDatabase, network: Network, worker: int) -> None:
        self._database = database
        self._network = network
        self._worker = worker
        self._appending = asyncio.Lock()

    @override
    async def get_session(
        self, *, app_name: str, user_id: str, session_id: str, config: GetSessionConfig | None = None
    ) -> Session | None:
        return await self._ask("get", partial(self._get, app_name, user_id, session_id, config))

    @override
    async def create_session(
        self, *, app_name: str, user_id: str, state: dict[str, Any] | None = None, session_id: str | None = None
    ) -> Session:
        assert session_id is not None

        def create() -> Session:
            if session_id in self._database.sessions:
                raise AlreadyExistsError(session_id)
            self._database.sessions[session_id] = StoredSession(state=dict(state or {}))
            created = self._get(app_name, user_id, session_id, None)
            assert created is not None
            return created

        return await self._ask("create", create)

    @override
    async def append_event(self, session: Session, event: Event) -> Event:
        if event.partial:
            return event
        async with self._appending:  # as ADK's own service: a worker appends one event at a time
            return await self._append(session, event)

    async def _append(self, session: Session, event: Event) -> Event:
        marker = session._storage_update_marker  # noqa: SLF001 - ADK's own services do so

        def append() -> int:
            stored = self._database.sessions.get(session.id)
            if stored is None:
                raise SessionNotFoundError(session.id)
            if marker != str(stored.revision):
                raise StaleSessionError("The session has been changed.")
            stored.events.append(event)
            stored.revision += 1
            stored.state.update(event.actions.state_delta)
            self._database.on_append(session.id, event, self._worker)
            return stored.revision

        revision = await self._ask(f"append {event.author} {event.id[-4:]}", append)
        session._storage_update_marker = str(revision)  # noqa: SLF001 - see above
        return await super().append_event(session, event)

    @override
    async def list_sessions(self, *, app_name: str, user_id: str | None = None) -> ListSessionsResponse:
        return ListSessionsResponse(sessions=[])

    @override
    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        await self._ask("delete", lambda: self._database.sessions.pop(session_id, None))

    def _get(self, app_name: str, user_id: str, session_id: str, config: GetSessionConfig | None) -> Session | None:
        stored = self._database.sessions.get(session_id)
        if stored is None:
            return None
        events = [] if config is not None and config.num_recent_events == 0 else list(stored.events)
        session = Session.model_construct(
            app_name=app_name, user_id=user_id, id=session_id, state=dict(stored.state), events=events
        )
        session._storage_update_marker = str(stored.revision)  # noqa: SLF001 - as ADK's own services do
        return session

    async def _ask(self, name: str, command: Callable[[], T]) -> T:
        return await self._network.ask("sessions", self._worker, name, command, ConnectionError)
