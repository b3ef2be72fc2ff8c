"""The list of a user's chats, in pages with the newest chats first."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, TypedDict

from stream_protocol.serving.base import run_off_loop, unknown_chat_refusal
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
from stream_protocol.session.transcript import has_awaited
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

APP_TITLE_KEY: Final = "title"
"""The key in the session's state for a title that the app or its agent sets."""

OWN_TITLE_KEY: Final = f"{STATE_PREFIX}title"
"""The key in the session's state for the title from the user's first message. Empty for a message without text."""

TITLE_LENGTH: Final = 80
"""The maximum number of characters of a title from the user's first message."""

MAX_LOADED: Final = 5
"""The maximum number of sessions that are loaded to find missing titles for one page. Parsing megabytes of events may
block the event loop."""


class ListedChat(TypedDict):
    """A chat in the list of chats."""

    id: str
    title: str | None
    """The title that the user has set (``ChatService.update``), or the app's title, or the beginning of the user's
    first message. ``None`` before the first message."""
    updatedAt: str
    """The time of the last event in the chat: ISO 8601, in UTC."""
    archived: bool
    running: bool
    """True if a response is running in the chat."""
    waiting: bool
    """True if the agent waits for the user: for an approval, an input, a sign-in, or the output of a client tool."""


@dataclass(frozen=True, kw_only=True)
class ChatListPage:
    """One page of the list of chats."""

    chats: tuple[ListedChat, ...]
    """The chats of the page, newest first."""
    next_cursor: str | None
    """The ``cursor`` of the next page; ``None`` on the last page."""
    has_archived: bool
    """True if the user has archived chats, also if the list omits them."""


async def list_chats(
    runner: Runner, user_id: str, *, limit: int, cursor: str | None, search: str, archived: bool
) -> ChatListPage:
    """Returns one page of the list of chats. Each chat has ``running=False``; the caller sets the correct value.

    Each chat is on only one page, even if the chat changes while the pages are read. Titles are read from the state of
    the sessions. If another program has created a session, its state has no title. For the newest ``MAX_LOADED`` such
    sessions, the title is read from the events.

    Raises ``ChatRequestError`` (422) for a cursor of a different list, and for a search that is too long.
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
        has_archived=any(chat.archived for chat in details.values()),
    )


async def change_chat(runner: Runner, user_id: str, chat_id: str, changes: ChatChanges) -> ListedChat:
    """Changes the title or the archive mark of a chat. Returns its entry in the list of chats, with ``running=False``.
    Raises ``ChatRequestError`` (404) if the chat does not exist.
    """
    chat = await find_session(runner, user_id, chat_id, config=WITHOUT_EVENTS)
    if chat is not None and changes:
        await change_details(runner, chat, changes)
        if await find_session(runner, user_id, chat_id, config=WITHOUT_EVENTS) is None:  # the chat was deleted
            await delete_details(runner, chat)
            chat = None
    if chat is None:
        raise unknown_chat_refusal()
    details = await find_details(runner, chat)
    titles = await _titles(runner, [chat], {chat.id: details})
    return _listed(chat, titles[chat.id], details)


def title_delta(session: Session, transcript: Transcript, request_plan: NewUserTurn | AnsweredCalls) -> dict[str, str]:
    """Return the state change that stores the title from the user's first message. Return an empty change if this title
    is already stored, or if the request only answers tool calls.

    ``session``, ``transcript``: the chat before the request. Must be called for each message, because a rewind may
    remove the title.
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
    """Return the archived chats (or the other chats) that were on no previous page, newest first. Also return the
    settings of all chats.
    """
    by_id = details_by_id(listed)
    details = {chat.id: by_id.get(details_id(chat.id), NO_DETAILS) for chat in listed if not is_details_id(chat.id)}
    chats = [chat for chat in listed if chat.id in details and details[chat.id].archived == archived]
    return reached.unread(chats), details


def _found(chats: Sequence[Session], titles: Mapping[str, str | None], wanted: str) -> list[Session]:
    return [chat for chat in chats if wanted in _searchable(titles[chat.id] or "")]


def _listed(chat: Session, title: str | None, details: ChatDetails) -> ListedChat:
    return {
        "id": chat.id,
        "title": title or None,
        "updatedAt": datetime.fromtimestamp(chat.last_update_time, UTC).isoformat(),
        "archived": details.archived,
        "running": False,
        "waiting": has_awaited(chat.state),
    }


async def _titles(
    runner: Runner, chats: Sequence[Session], details: Mapping[str, ChatDetails]
) -> dict[str, str | None]:
    """Return the titles of the chats. Load the events of chats without a stored title, but only of the newest
    ``MAX_LOADED`` chats.
    """
    titles = {chat.id: _stored_title(chat, details[chat.id]) for chat in chats}
    for chat in [chat for chat in chats if titles[chat.id] is None][:MAX_LOADED]:
        loaded = await find_session(runner, chat.user_id, chat.id)
        titles[chat.id] = await _said_title(loaded) if loaded is not None else None
    return titles


async def _said_title(chat: Session) -> str | None:
    return await run_off_loop(lambda: _first_title(Transcript(chat.events)), events=chat.events)


def _stored_title(chat: Session, details: ChatDetails) -> str | None:
    """Return the user's title. If there is none, return the app's title. If there is none, return the stored title from
    the first message.
    """
    titles = (details.title, chat.state.get(APP_TITLE_KEY), chat.state.get(OWN_TITLE_KEY))
    return next((title for title in titles if isinstance(title, str)), None)


def _searchable(text: str) -> str:
    """Normalize the text for a search. The result has no differences in case, in full-width and half-width forms, and
    in repeated spaces.
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return " ".join(folded.split())


def _first_title(transcript: Transcript) -> str | None:
    """Return the title from the user's first message; ``None`` if the chat has no message."""
    user_events = (turn.user_event for turn in transcript.turns)
    first = next((event for event in user_events if event is not None), None)
    if first is None or first.content is None:
        return None
    return _title(part.text or "" for part in first.content.parts or ())


def _title(texts: Iterable[str]) -> str:
    line = " ".join(" ".join(texts).split(maxsplit=TITLE_LENGTH)[:TITLE_LENGTH])  # each word has at least one character
    return line if len(line) <= TITLE_LENGTH else line[: TITLE_LENGTH - 1].rstrip() + "…"
