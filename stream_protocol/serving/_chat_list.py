"""The list of a user's chats: newest first, in pages, each chat with a title."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import orjson

from stream_protocol.serving._sessions import find_session
from stream_protocol.session import STATE_PREFIX, AnsweredCalls, conversation_events, is_user_message
from stream_protocol.wire import ChatRequestError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from google.adk.events import Event
    from google.adk.runners import Runner
    from google.adk.sessions import Session

    from stream_protocol.session import NewUserTurn

PAGE_SIZE: Final = 20
MAX_PAGE_SIZE: Final = 100

APP_TITLE_KEY: Final = "title"
"""The key of the session's state for a title that the app or its agent has chosen."""

OWN_TITLE_KEY: Final = f"{STATE_PREFIX}title"
"""The key of the session's state for the title that is made of the user's first words; empty if these are none."""

TITLE_LENGTH: Final = 80
"""The most characters of a title that is made of the user's first words."""

MAX_LOADED: Final = 5
"""The most sessions of one page that are loaded to find their titles. A session may hold megabytes of events, and the
event loop may wait while they are parsed."""


@dataclass(frozen=True, kw_only=True)
class ChatListPage:
    """One page of the list."""

    chats: tuple[dict[str, Any], ...]
    """Newest first. Keys: ``id``; ``title``, ``None`` before the user says anything; ``updatedAt``, ISO 8601 in UTC."""
    next_cursor: str | None
    """The ``cursor`` of the next page; ``None`` on the last page."""


async def list_chats(runner: Runner, user_id: str, *, limit: int, cursor: str | None) -> ChatListPage:
    """Returns one page. A chat that changes between two pages moves to the first page.

    No events are loaded for it: the title of a chat is in the session's state. A session without it was written by
    another program, or by an earlier version. Of these the newest ``MAX_LOADED`` on the page are loaded, one after the
    other; the others have no title until their user says something again. Raises ``ChatRequestError`` (400) for a
    cursor that is not from an earlier page.
    """
    after = _parse_cursor(cursor) if cursor is not None else None
    listed = await runner.session_service.list_sessions(app_name=runner.app_name, user_id=user_id)
    newest_first = sorted(listed.sessions, key=_position, reverse=True)
    left = [session for session in newest_first if after is None or _position(session) < after]
    page = left[:limit]
    titles = {session.id: _stored_title(session) for session in page}
    for session in [session for session in page if titles[session.id] is None][:MAX_LOADED]:
        loaded = await find_session(runner, user_id, session.id)
        titles[session.id] = _first_title(loaded.events) if loaded is not None else None
    chats = (
        {
            "id": session.id,
            "title": titles[session.id] or None,
            "updatedAt": datetime.fromtimestamp(session.last_update_time, UTC).isoformat(),
        }
        for session in page
    )
    return ChatListPage(chats=tuple(chats), next_cursor=_cursor(page[-1]) if len(left) > len(page) else None)


def title_delta(session: Session, turn: NewUserTurn | AnsweredCalls) -> dict[str, str]:
    """The change of the session's state with which a turn gives its chat a title; empty if the chat has one.

    ``session``: as it is before the turn. A rewind has removed a title that came after the point of the rewind.
    """
    if isinstance(turn, AnsweredCalls) or isinstance(session.state.get(OWN_TITLE_KEY), str):
        return {}
    title = _first_title(session.events)
    if title is None:
        title = _title(said for said in turn.texts_and_files if isinstance(said, str))
    return {OWN_TITLE_KEY: title}


def _stored_title(session: Session) -> str | None:
    """The title in the session's state, the app's before our own; ``None`` if there is none."""
    titles = (session.state.get(key) for key in (APP_TITLE_KEY, OWN_TITLE_KEY))
    return next((title for title in titles if isinstance(title, str)), None)


def _first_title(events: Sequence[Event]) -> str | None:
    """The title that the user's first message gives; ``None`` if there is no such message."""
    first = next((event for event in conversation_events(events) if is_user_message(event)), None)
    if first is None or first.content is None:
        return None
    return _title(part.text or "" for part in first.content.parts or ())


def _title(texts: Iterable[str]) -> str:
    words = " ".join(" ".join(texts).split())
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
