"""A user's chats as a list: newest first, page by page, each with a title."""

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
"""Chats on a page. A title may cost a look into the chat's events."""

TITLE_KEY: Final = "title"
"""Key of the session's state under which an app, or its agent, keeps a title of its own."""

TITLE_LENGTH: Final = 80


@dataclass(frozen=True, kw_only=True)
class ChatPage:
    """Some of a user's chats."""

    chats: tuple[dict[str, Any], ...]
    """``id``, ``title`` (``None`` where nobody said anything yet) and ``updatedAt`` (ISO 8601, UTC), newest first."""
    next_cursor: str | None
    """Where the next page begins; ``None`` on the last."""


def parse_limit(text: str | None) -> int:
    """The ``limit`` of a query. Raises ``ChatRequestError`` unless it is a number from 1 to ``MAX_PAGE_SIZE``."""
    if text is None:
        return PAGE_SIZE
    if text.isascii() and text.isdigit() and len(text) < 5 and 1 <= int(text) <= MAX_PAGE_SIZE:
        return int(text)
    raise ChatRequestError(f"The limit must be a number from 1 to {MAX_PAGE_SIZE}.")


async def list_chats(runner: Runner, user_id: str, *, limit: int, cursor: str | None) -> ChatPage:
    """One page. A chat that changes meanwhile moves to the front, where the next look at the first page finds it.

    Raises ``ChatRequestError`` for a cursor that no page gave.
    """
    after = _parse_cursor(cursor) if cursor is not None else None
    listed = await runner.session_service.list_sessions(app_name=runner.app_name, user_id=user_id)
    newest_first = sorted(listed.sessions, key=_position, reverse=True)
    left = [session for session in newest_first if after is None or _position(session) < after]
    page = left[:limit]
    chats = await asyncio.gather(*(_chat(runner, session) for session in page))
    return ChatPage(chats=tuple(chats), next_cursor=_cursor(page[-1]) if len(left) > len(page) else None)


async def delete_chat(runner: Runner, session: Session) -> None:
    """Deletes the session and its artifacts; artifacts of the user (``user:``) are the user's and stay."""
    of = {"app_name": session.app_name, "user_id": session.user_id, "session_id": session.id}
    if (artifacts := runner.artifact_service) is not None:
        for name in await artifacts.list_artifact_keys(**of):
            if not name.startswith("user:"):
                await artifacts.delete_artifact(**of, filename=name)
    await runner.session_service.delete_session(**of)


async def _chat(runner: Runner, session: Session) -> dict[str, Any]:
    updated = datetime.fromtimestamp(session.last_update_time, UTC)
    return {"id": session.id, "title": await _title(runner, session), "updatedAt": updated.isoformat()}


async def _title(runner: Runner, session: Session) -> str | None:
    """The app's title, or the user's first words. Services list sessions without their events."""
    if isinstance(title := session.state.get(TITLE_KEY), str):
        return title
    whole = await runner.session_service.get_session(
        app_name=session.app_name, user_id=session.user_id, session_id=session.id
    )
    first = next((event for event in whole.events if is_user_message(event)), None) if whole is not None else None
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
