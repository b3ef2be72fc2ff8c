"""``check_writable``: asks a session store for a write that changes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from stream_protocol.serving.adk_runner._threaded_reads import ThreadedReads

if TYPE_CHECKING:
    from google.adk.sessions import BaseSessionService

DELETING_MODULES: Final = (
    "google.adk.sessions.database_session_service",
    "google.adk.sessions.sqlite_session_service",
)
"""The modules of ADK in which to delete a session that is not there is one statement, and no error."""

NO_CHAT: Final = "readyz/nothing"
"""The id of no chat: it has a slash."""


async def check_writable(sessions: BaseSessionService, app_name: str) -> None:
    """Raises the store's error if it cannot be written to: a standby, or a file that is read-only.

    Only the databases of ADK's own session services are asked. A service of the app may do anything at a deletion, and
    one at a remote API takes it for an error.
    """
    service = sessions.service if isinstance(sessions, ThreadedReads) else sessions
    if type(service).delete_session.__module__ in DELETING_MODULES:
        await service.delete_session(app_name=app_name, user_id=NO_CHAT, session_id=NO_CHAT)
