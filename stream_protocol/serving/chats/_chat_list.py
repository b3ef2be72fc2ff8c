"""The list of a user's chats: newest first, in pages, each chat with a title."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, TypedDict

from stream_protocol.serving.base import run_off_loop
from stream_protocol.serving.chats._chat_cursor import ChatCursor
from stream_protocol.serving.chats._chat_details import (
    NO_DETAILS,
    WITHOUT_EVENTS,
    change_details,
    delete_details,
    details_by_id,
    details_id,
    find_details,
    is_details_id,
)
from stream_protocol.serving.chats._sessions import find_session
from stream_protocol.session import STATE_PREFIX, AnsweredCalls, Transcript
from stream_protocol.wire import ChatRequestError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from google.adk.runners import Runner
    from google.adk.sessions import Session

    from stream_protocol.serving.chats._chat_details import ChatChanges, ChatDetails
    from stream_protocol.session import NewUserTurn

PAGE_SIZE: Final = 20
MAX_PAGE_SIZE: Final = 100

MAX_SEARCH_LENGTH: Final = 200
"""Characters that a search in the titles may have."""

APP_TITLE_KEY: Final = "title"
"""The key of the session's state for a title that the app or its agent has chosen."""

OWN_TITLE_KEY: Final = f"{STATE_PREFIX}title"
"""The key of the session's state for the title that is made of the user's first message; empty if that has no text."""

TITLE_LENGTH: Final = 80
"""The most characters of a title that is made of the user's first message."""

MAX_LOADED: Final = 5
"""The most sessions for one page that are loaded to find their titles. A session may hold megabytes of events, and the
event loop may wait while they are parsed."""


class ListedChat(TypedDict):
    """A chat in the list."""

    id: str
    title: str | None
    """The one that the user gave (``ChatService.update``), else the app's, else the user's first message; ``None``
    before the user says anything."""
    updatedAt: str
    """When something was last said in it: ISO 8601 in UTC."""
    archived: bool
    running: bool
    """True if an answer is being written in the chat now."""


@dataclass(frozen=True, kw_only=True)
class ChatListPage:
    """One page of the list."""

    chats: tuple[ListedChat, ...]
    """Newest first."""
    next_cursor: str | None
    """The ``cursor`` of the next page; ``None`` on the last page."""


async def list_chats(
    runner: Runner, user_id: str, *, limit: int, cursor: str | None, search: str, archived: bool
) -> ChatListPage:
    """Returns one page, in which no chat is marked as running.

    The pages of one list have each chat once, also those that change or are new between two pages. No events are loaded
    for it: the title of a chat is in a session's state. A session without it was written by another program, or by an
    earlier version. Of these the newest ``MAX_LOADED`` are loaded, one after the other; the others have no title until
    their user says something again. Raises ``ChatRequestError`` (422) for a cursor that is not from an earlier page of
    the same list, and for a search that is too long.
    """
    if len(search) > MAX_SEARCH_LENGTH:
        raise ChatRequestError(f"The search is longer than {MAX_SEARCH_LENGTH} characters.", status=422)
    wanted = _searchable(search)
    reached = ChatCursor.first(runner.app_name, user_id, wanted, archived)
    if cursor is not None:
        reached = reached.parse(cursor)
    listed = (await runner.session_service.list_sessions(app_name=runner.app_name, user_id=user_id)).sessions
    left, details = await run_off_loop(lambda: _unread(listed, reached, archived=archived), items=listed)
    titles = await _titles(runner, left if wanted else left[:limit], details)
    if wanted:
        left = await run_off_loop(lambda: _found(left, titles, wanted), items=left)
    page = left[:limit]
    return ChatListPage(
        chats=tuple(_listed(chat, titles[chat.id], details[chat.id]) for chat in page),
        next_cursor=str(reached.after(page)) if len(left) > len(page) else None,
    )


async def change_chat(runner: Runner, user_id: str, chat_id: str, changes: ChatChanges) -> ListedChat:
    """Changes what the list says of a chat. Returns the chat as it is in the list, not marked as running.

    Raises ``ChatRequestError`` (404) if this user has no such chat.
    """
    chat = await find_session(runner, user_id, chat_id, config=WITHOUT_EVENTS)
    if chat is not None and changes:
        await change_details(runner, chat, changes)
        if await find_session(runner, user_id, chat_id, config=WITHOUT_EVENTS) is None:  # it was deleted meanwhile
            await delete_details(runner, chat)
            chat = None
    if chat is None:
        raise ChatRequestError("There is no such chat.", status=404)
    details = await find_details(runner, chat)
    titles = await _titles(runner, [chat], {chat.id: details})
    return _listed(chat, titles[chat.id], details)


def title_delta(session: Session, transcript: Transcript, request_plan: NewUserTurn | AnsweredCalls) -> dict[str, str]:
    """The change of the session's state with which a turn gives its chat a title; empty if the chat has one.

    ``session`` and ``transcript``: as they are before the turn. A rewind has removed a title that came after the point
    of the rewind.
    """
    if isinstance(request_plan, AnsweredCalls) or isinstance(session.state.get(OWN_TITLE_KEY), str):
        return {}
    title = _first_title(transcript)
    if title is None:
        title = _title(said for said in request_plan.texts_and_files if isinstance(said, str))
    return {OWN_TITLE_KEY: title}


def _unread(
    listed: Sequence[Session], reached: ChatCursor, *, archived: bool
) -> tuple[list[Session], dict[str, ChatDetails]]:
    """The chats that later pages of the list have, newest first, and the details of all chats, by id."""
    by_id = details_by_id(listed)
    details = {chat.id: by_id.get(details_id(chat.id), NO_DETAILS) for chat in listed if not is_details_id(chat.id)}
    chats = [chat for chat in listed if chat.id in details and details[chat.id].archived == archived]
    return reached.unread(chats), details


def _found(chats: Sequence[Session], titles: Mapping[str, str | None], wanted: str) -> list[Session]:
    """The chats whose title has these words. ``wanted``: as ``_searchable`` returns it."""
    return [chat for chat in chats if wanted in _searchable(titles[chat.id] or "")]


def _listed(chat: Session, title: str | None, details: ChatDetails) -> ListedChat:
    return {
        "id": chat.id,
        "title": title or None,
        "updatedAt": datetime.fromtimestamp(chat.last_update_time, UTC).isoformat(),
        "archived": details.archived,
        "running": False,
    }


async def _titles(
    runner: Runner, chats: Sequence[Session], details: Mapping[str, ChatDetails]
) -> dict[str, str | None]:
    """The titles of these chats, by id. The newest ``MAX_LOADED`` without a stored title are loaded."""
    titles = {chat.id: _stored_title(chat, details[chat.id]) for chat in chats}
    for chat in [chat for chat in chats if titles[chat.id] is None][:MAX_LOADED]:
        loaded = await find_session(runner, chat.user_id, chat.id)
        titles[chat.id] = await _said_title(loaded) if loaded is not None else None
    return titles


async def _said_title(chat: Session) -> str | None:
    """The title that the user's first message gives; ``None`` if there is no such message."""
    return await run_off_loop(lambda: _first_title(Transcript(chat.events)), events=chat.events)


def _stored_title(chat: Session, details: ChatDetails) -> str | None:
    """The title that is stored: the user's, else the app's, else our own; ``None`` if there is none."""
    titles = (details.title, chat.state.get(APP_TITLE_KEY), chat.state.get(OWN_TITLE_KEY))
    return next((title for title in titles if isinstance(title, str)), None)


def _searchable(text: str) -> str:
    """The text as titles are compared: case, wide and narrow letters, and the number of spaces make no difference."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return " ".join(folded.split())


def _first_title(transcript: Transcript) -> str | None:
    """The title that the user's first message gives; ``None`` if there is no such message."""
    said = (turn.user_event for turn in transcript.turns)
    first = next((event for event in said if event is not None), None)
    if first is None or first.content is None:
        return None
    return _title(part.text or "" for part in first.content.parts or ())


def _title(texts: Iterable[str]) -> str:
    words = " ".join(" ".join(texts).split(maxsplit=TITLE_LENGTH)[:TITLE_LENGTH])  # each of them has a letter
    return words if len(words) <= TITLE_LENGTH else words[: TITLE_LENGTH - 1].rstrip() + "…"
