"""The list of a user's chats: newest first, in pages, each chat with a title."""

from __future__ import annotations

import asyncio
import base64
import binascii
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import orjson

from stream_protocol.session import is_user_message
from stream_protocol.wire import ChatRequestError

if TYPE_CHECKING:
    from google.adk.runners import Runner
    from google.adk.sessions import Session

PAGE_SIZE: Final = 20
MAX_PAGE_SIZE: Final = 100
"""The most chats on a page. The title of each may need its session to be loaded."""

TITLE_KEY: Final = "title"
"""The key of the session's state for a title that the app or its agent has chosen."""

TITLE_LENGTH: Final = 80
"""The most characters of a title that is made of the user's first words."""


@dataclass(frozen=True, kw_only=True)
class ChatListPage:
    """One page of the list."""

    chats: tuple[dict[str, Any], ...]
    """Newest first. Keys: ``id``; ``title``, ``None`` before the user says anything; ``updatedAt``, ISO 8601 in UTC."""
    next_cursor: str | None
    """The ``cursor`` of the next page; ``None`` on the last page."""


async def list_chats(runner: Runner, user_id: str, *, limit: int, cursor: str | None) -> ChatListPage:
    """Returns one page. A chat that changes between two pages moves to the first page.

    Raises ``ChatRequestError`` (400) for a cursor that is not from an earlier page.
    """
    after = _parse_cursor(cursor) if cursor is not None else None
    listed = await runner.session_service.list_sessions(app_name=runner.app_name, user_id=user_id)
    newest_first = sorted(listed.sessions, key=_position, reverse=True)
    left = [session for session in newest_first if after is None or _position(session) < after]
    page = left[:limit]
    chats = await asyncio.gather(*(_list_item(runner, session) for session in page))
    return ChatListPage(chats=tuple(chats), next_cursor=_cursor(page[-1]) if len(left) > len(page) else None)


async def _list_item(runner: Runner, session: Session) -> dict[str, Any]:
    updated = datetime.fromtimestamp(session.last_update_time, UTC)
    return {"id": session.id, "title": await _title(runner, session), "updatedAt": updated.isoformat()}


async def _title(runner: Runner, session: Session) -> str | None:
    """Returns the title in the session's state, or the user's first words. For these it loads the session's events."""
    if isinstance(title := session.state.get(TITLE_KEY), str):
        return title
    loaded = await runner.session_service.get_session(
        app_name=session.app_name, user_id=session.user_id, session_id=session.id
    )
    first = next((event for event in loaded.events if is_user_message(event)), None) if loaded is not None else None
    parts = (first.content.parts if first is not None and first.content is not None else None) or ()
    words = " ".join(" ".join(part.text or "" for part in parts).split())
    if not words:
        return None
    return words if len(words) <= TITLE_LENGTH else words[: TITLE_LENGTH - 1].rstrip() + "…"


def _position(session: Session) -> tuple[float, str]:
    return session.last_update_time, session.id


def _cursor(session: Session) -> str:
    return base64.urlsafe_b64encode(orjson.dumps(_position(session))).decode()


def _parse_cursor(text: str) -> tuple[float, str]:
    try:
        match orjson.loads(base64.b64decode(text, altchars=b"-_", validate=True)):
            case [float(time), str(chat_id)]:
                return time, chat_id
    except (binascii.Error, ValueError):
        pass
    raise ChatRequestError("The cursor is not one that this server gave.")
