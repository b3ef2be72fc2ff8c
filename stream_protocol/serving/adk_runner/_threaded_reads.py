"""Reads a session store in a thread with its own event loop.

ADK converts rows to events and sessions on the caller's event loop. For 5,000 events or chats, the conversion blocks
all other chats for about 200 ms (ADK 2.13). Writes stay on the caller's event loop, because ``append_event`` changes
the session object of the run.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar, runtime_checkable

from stream_protocol.serving.adk_runner._delegating_sessions import DelegatingSessions

if TYPE_CHECKING:
    from google.adk.sessions import BaseSessionService, Session
    from google.adk.sessions.base_session_service import GetSessionConfig, ListSessionsResponse

T = TypeVar("T")

THREAD_NAME: Final = "session-reads"


@runtime_checkable
class Closable(Protocol):
    """Session service that keeps connections open until it is closed."""

    async def close(self) -> None: ...


class ThreadedReads(DelegatingSessions):
    """Session service that reads sessions in a thread, with a second session service.

    ``make`` creates a session service. It is called twice, and both services must read the same store. So they must not
    keep sessions in memory.
    """

    def __init__(self, make: Callable[[], BaseSessionService]) -> None:
        self.service = make()
        """The session service that writes."""

        super().__init__(self.service)

        self.reader = make()
        """The session service that reads. Only the thread uses it."""

        self._thread: tuple[threading.Thread, asyncio.AbstractEventLoop] | None = None

    async def get_session(
        self, *, app_name: str, user_id: str, session_id: str, config: GetSessionConfig | None = None
    ) -> Session | None:
        return await self._read(
            self.reader.get_session(app_name=app_name, user_id=user_id, session_id=session_id, config=config)
        )

    async def list_sessions(self, *, app_name: str, user_id: str | None = None) -> ListSessionsResponse:
        return await self._read(self.reader.list_sessions(app_name=app_name, user_id=user_id))

    async def close(self) -> None:
        if isinstance(self.reader, Closable) and isinstance(self.service, Closable):
            await self._read(self.reader.close())
            await self.service.close()
        if self._thread is not None:
            thread, loop = self._thread
            self._thread = None
            loop.call_soon_threadsafe(loop.stop)
            await asyncio.to_thread(thread.join)
            loop.close()

    async def _read(self, work: Coroutine[Any, Any, T]) -> T:
        if self._thread is None:
            loop = asyncio.new_event_loop()
            thread = threading.Thread(target=loop.run_forever, name=THREAD_NAME, daemon=True)
            thread.start()
            self._thread = thread, loop
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._thread[1]))


DELETING_MODULES: Final = (
    "google.adk.sessions.database_session_service",
    "google.adk.sessions.sqlite_session_service",
)
"""ADK modules whose session services delete a session with one statement, so deleting a missing session is not an
error."""

NO_CHAT: Final = "readyz/nothing"
"""An id that no chat has, because it contains a slash."""


async def check_writable(sessions: BaseSessionService, app_name: str) -> None:
    """Raise the store's error if the store refuses writes, as a standby server or a read-only file does.

    The test write deletes a session that does not exist. If a session service might raise an error for this, it is not
    checked.
    """
    service = sessions.service if isinstance(sessions, ThreadedReads) else sessions
    if type(service).delete_session.__module__ in DELETING_MODULES:
        await service.delete_session(app_name=app_name, user_id=NO_CHAT, session_id=NO_CHAT)
