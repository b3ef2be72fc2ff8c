"""Provides ``PageWrites``: session state that the client writes.

Only an active run may append to the session of a chat. So a write of the client is first stored in a separate session,
which contains the settings of the chat. The active run applies the write before its next model call. If no run is
active, the next run applies it.

A run that has applied a write stores the id of the write under a separate key. The client and the run never write the
same key, so no write is lost.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from uuid import uuid4

from stream_protocol.serving.chats._chat_details import WITHOUT_EVENTS, details_id, store_details
from stream_protocol.session import STATE_PREFIX

if TYPE_CHECKING:
    from collections.abc import Mapping

    from google.adk.runners import Runner
    from google.adk.sessions import Session

logger = logging.getLogger(__name__)

_WRITTEN: Final = f"{STATE_PREFIX}written:"
_APPLIED: Final = f"{STATE_PREFIX}applied:"


class PageWrite(NamedTuple):
    id: str
    value: Any


class PageWrites:
    """Session state that the client has written and that no run has applied yet. ``keys``: the state keys that the
    client may write.
    """

    def __init__(self, runner: Runner, chat: Session, keys: tuple[str, ...]) -> None:
        self._runner = runner
        self._chat = chat
        self._keys = keys
        self._taken: dict[str, PageWrite] = {}

    def are_of(self, session: Session) -> bool:
        """Return True if ``session`` is the session of this chat. An agent inside an ``AgentTool`` has a different
        session.
        """
        return session.id == self._chat.id and session.user_id == self._chat.user_id

    async def add(self, changes: Mapping[str, Any]) -> None:
        written = {f"{_WRITTEN}{key}": {"id": uuid4().hex, "value": value} for key, value in changes.items()}
        await store_details(self._runner, self._chat, written)

    async def pending(self) -> dict[str, Any]:
        """Return the values that no run has applied, by state key."""
        return {key: write.value for key, write in (await self._find()).items()}

    async def take(self) -> dict[str, Any]:
        """Return the values that no run has applied, by state key. Until ``settle`` is called, later calls return them
        again.
        """
        self._taken = await self._find()
        return {key: write.value for key, write in self._taken.items()}

    async def settle(self) -> None:
        """Marks the values of the last ``take`` as applied. Call this method when the session's state contains the
        values.
        """
        taken, self._taken = self._taken, {}
        if not taken:
            return
        try:
            applied = {f"{_APPLIED}{key}": write.id for key, write in taken.items()}
            await store_details(self._runner, self._chat, applied)
        except Exception:
            logger.exception("State that the page has written is applied again by the next step.")

    async def _find(self) -> dict[str, PageWrite]:
        chat = self._chat
        session = await self._runner.session_service.get_session(
            app_name=chat.app_name, user_id=chat.user_id, session_id=details_id(chat.id), config=WITHOUT_EVENTS
        )
        found: dict[str, PageWrite] = {}
        state = {} if session is None else session.state
        for key in self._keys:
            match state.get(f"{_WRITTEN}{key}"):
                case {"id": str(write_id), "value": value} if state.get(f"{_APPLIED}{key}") != write_id:
                    found[key] = PageWrite(write_id, value)
        return found
