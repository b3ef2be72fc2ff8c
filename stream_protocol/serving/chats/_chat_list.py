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
"""The maximum number of characters of a search in the titles."""

APP_TITLE_KEY: Final = "title"
"""Key in the session's state for a title that the app or its agent sets."""

OWN_TITLE_KEY: Final = f"{STATE_PREFIX}title"
"""Key in the session's state for the title from the user's first message.

The title is empty if that message has no text.
"""

TITLE_LENGTH: Final = 80
"""The maximum number of characters of a title from the user's first message."""

MAX_LOADED: Final = 5
"""The maximum number of sessions that one page of the list loads to find their titles. A session can have megabytes of
events, which may block the event loop while they are parsed.
"""


class ListedChat(TypedDict):
    """A chat in the list."""

    id: str
    title: str | None
    """The title: the user's (``ChatService.update``), else the app's, else the beginning of the user's first message.
    ``None`` before the first message."""
    updatedAt: str
    """Time of the last event in the chat: ISO 8601 in UTC."""
    archived: bool
    running: bool
    """True if a response is running in the chat."""


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
    """Returns one page of the list. ``running`` is always False.

    Each chat is on one page of a list, even if it changes or is created between two pages. The title of a chat is in
    the session's state, so no events are loaded. Sessions that other programs or earlier versions have created have no
    stored title. The newest ``MAX_LOADED`` of them are loaded, and get a title from their events. The others have no
    title until the user's next message. Raises ``ChatRequestError`` (422) for a cursor of a different list, and for a
    search that is too long.
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
    """Changes the title or the archive mark of a chat. Returns its entry in the list, with ``running`` False.

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
    """Return the state change that stores a title from the user's first message; empty if the chat has a title.

    ``session``, ``transcript``: the chat before the request. A rewind also removes a title that was stored after the
    point to which the session is rewound.
    """
    if isinstance(request_plan, AnsweredCalls) or isinstance(session.state.get(OWN_TITLE_KEY), str):
        return {}
    title = _first_title(transcript)
    if title is None:
        title = _title(text for text in request_plan.texts_and_files if isinstance(text, str))
    return {OWN_TITLE_KEY: title}


def _unread(
    listed: Sequence[Session], reached: ChatCursor, *, archived: bool
) -> tuple[list[Session], dict[str, ChatDetails]]:
    """Return the chats that were on no earlier page, newest first, and the details of all chats, by id."""
    by_id = details_by_id(listed)
    details = {chat.id: by_id.get(details_id(chat.id), NO_DETAILS) for chat in listed if not is_details_id(chat.id)}
    chats = [chat for chat in listed if chat.id in details and details[chat.id].archived == archived]
    return reached.unread(chats), details


def _found(chats: Sequence[Session], titles: Mapping[str, str | None], wanted: str) -> list[Session]:
    """Return the chats whose title contains the text. ``wanted``: a result of ``_searchable``."""
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
    """Return the titles of these chats, by id. Loads the newest ``MAX_LOADED`` chats without a stored title."""
    titles = {chat.id: _stored_title(chat, details[chat.id]) for chat in chats}
    for chat in [chat for chat in chats if titles[chat.id] is None][:MAX_LOADED]:
        loaded = await find_session(runner, chat.user_id, chat.id)
        titles[chat.id] = await _said_title(loaded) if loaded is not None else None
    return titles


async def _said_title(chat: Session) -> str | None:
    """Return the title from the user's first message; ``None`` if there is no such message."""
    return await run_off_loop(lambda: _first_title(Transcript(chat.events)), events=chat.events)


def _stored_title(chat: Session, details: ChatDetails) -> str | None:
    """Return the stored title: the user's, else the app's, else the first message's; ``None`` if no title is stored."""
    titles = (details.title, chat.state.get(APP_TITLE_KEY), chat.state.get(OWN_TITLE_KEY))
    return next((title for title in titles if isinstance(title, str)), None)


def _searchable(text: str) -> str:
    """Normalize a text for the search: ignores case, full-width and half-width forms, and repeated spaces."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return " ".join(folded.split())


def _first_title(transcript: Transcript) -> str | None:
    """Return the title from the user's first message; ``None`` if there is no such message."""
    user_events = (turn.user_event for turn in transcript.turns)
    first = next((event for event in user_events if event is not None), None)
    if first is None or first.content is None:
        return None
    return _title(part.text or "" for part in first.content.parts or ())


def _title(texts: Iterable[str]) -> str:
    line = " ".join(" ".join(texts).split(maxsplit=TITLE_LENGTH)[:TITLE_LENGTH])  # each word has a character or more
    return line if len(line) <= TITLE_LENGTH else line[: TITLE_LENGTH - 1].rstrip() + "…"
