"""The user's settings of a chat: the title and the archive mark.

The settings are stored in a separate ADK session, because only an active run may append to the session of the chat. See
``docs/decisions/the-list-of-chats.md``.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, TypedDict, TypeGuard

from google.adk.errors import StaleSessionError
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events import Event, EventActions
from google.adk.sessions.base_session_service import GetSessionConfig

from stream_protocol.session import DETAILS_PREFIX, STATE_PREFIX
from stream_protocol.wire import ChatRequestError, parse_json

if TYPE_CHECKING:
    from collections.abc import Iterable

    from google.adk.runners import Runner
    from google.adk.sessions import Session

MAX_TITLE_LENGTH: Final = 200

WITHOUT_EVENTS: Final = GetSessionConfig(num_recent_events=0)

CHANGED_BY_OTHERS: Final = (AlreadyExistsError, StaleSessionError, SessionNotFoundError)
"""The exceptions of a session store if another worker has concurrently created, changed or deleted the session."""

_NOT_IN_A_LINE: Final = frozenset({"Cc", "Cs", "Zl", "Zp"})
"""Unicode categories that a title must not have: control characters, line breaks and lone surrogates. Some databases
refuse control characters and surrogates."""

_INVISIBLE: Final = frozenset({"Cf", "Zs"})
"""Unicode categories of spaces and format characters. A title of only these characters is invisible."""


class ChatChanges(TypedDict, total=False):
    """The changes for ``ChatService.update``. An absent key leaves its value unchanged."""

    title: str | None
    """The new title: one line of 1 to 200 characters, with at least one visible character. ``None`` removes the user's
    title."""
    archived: bool
    """True moves the chat to the list of archived chats, False moves it back."""


@dataclass(frozen=True, kw_only=True)
class ChatDetails:
    title: str | None = None
    archived: bool = False


NO_DETAILS: Final = ChatDetails()


def parse_changes(body: bytes) -> ChatChanges:
    """Parses the body of a request that changes a chat. Raises ``ChatRequestError`` (400, 422)."""
    return checked_changes(parse_object(body))


def parse_object(body: bytes) -> dict[str, Any]:
    """Parses a JSON object. Raises ``ChatRequestError`` (400) for any other body."""
    try:
        parsed = parse_json(body)
    except (ValueError, RecursionError) as error:
        raise ChatRequestError("The request body is not valid JSON, or is nested too deeply.") from error
    if not isinstance(parsed, dict):
        raise ChatRequestError("The request body must be a JSON object.")
    return parsed


def checked_changes(changes: object) -> ChatChanges:
    """Returns the changes with a trimmed title. Raises ``ChatRequestError`` (422) for invalid changes."""
    if not _has_known_keys(changes):
        raise ChatRequestError("Only the title of a chat and archived can be changed.", status=422)
    checked: ChatChanges = {}
    if "title" in changes:
        checked["title"] = _checked_title(changes["title"])
    if "archived" in changes:
        if not isinstance(changes["archived"], bool):
            raise ChatRequestError("archived must be true or false.", status=422)
        checked["archived"] = changes["archived"]
    return checked


def is_details_id(session_id: str) -> bool:
    """Return True if a session with this id contains the settings of a chat. Ignores case, because some databases do
    the same when they compare ids.
    """
    return session_id.strip().lower().startswith(DETAILS_PREFIX)


def details_by_id(sessions: Iterable[Session]) -> dict[str, ChatDetails]:
    return {session.id: _details(session) for session in sessions if is_details_id(session.id)}


def details_id(chat_id: str) -> str:
    """Return the id of the session that contains the settings of a chat. Every session store accepts this id."""
    return DETAILS_PREFIX + sha256(chat_id.encode(errors="surrogatepass")).hexdigest()[:32]


async def find_details(runner: Runner, chat: Session) -> ChatDetails:
    session = await runner.session_service.get_session(**_key(chat), config=WITHOUT_EVENTS)
    return NO_DETAILS if session is None else _details(session)


async def change_details(runner: Runner, chat: Session, changes: ChatChanges) -> None:
    await store_details(runner, chat, {f"{STATE_PREFIX}{name}": value for name, value in changes.items()})


async def store_details(runner: Runner, chat: Session, state: dict[str, Any]) -> None:
    """Stores ``state`` in the separate session that contains the settings of a chat. Concurrent changes of different
    keys are all stored. For the same key, the last change wins.
    """
    store, key = runner.session_service, _key(chat)
    while True:
        try:
            session = await store.get_session(**key, config=WITHOUT_EVENTS)
            if session is None:
                await store.create_session(**key, state=state)
            else:
                await store.append_event(session, Event(author="user", actions=EventActions(state_delta=state)))
        except CHANGED_BY_OTHERS:
            continue  # a concurrent request was stored first, so this loop makes progress
        return


async def delete_details(runner: Runner, chat: Session) -> None:
    store, key = runner.session_service, _key(chat)
    if await store.get_session(**key, config=WITHOUT_EVENTS) is not None:
        await store.delete_session(**key)


def _key(chat: Session) -> dict[str, str]:
    return {"app_name": chat.app_name, "user_id": chat.user_id, "session_id": details_id(chat.id)}


def _details(session: Session) -> ChatDetails:
    title, archived = (session.state.get(f"{STATE_PREFIX}{name}") for name in ("title", "archived"))
    return ChatDetails(title=title if isinstance(title, str) else None, archived=archived is True)


def _has_known_keys(changes: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(changes, dict) and changes.keys() <= ChatChanges.__annotations__.keys()


def _checked_title(title: object) -> str | None:
    if title is None:
        return None
    if not isinstance(title, str):
        raise ChatRequestError("The title must be a text, or null.", status=422)
    line = title.strip()
    categories = {unicodedata.category(character) for character in line}
    if len(line) > MAX_TITLE_LENGTH or categories <= _INVISIBLE or categories & _NOT_IN_A_LINE:
        raise ChatRequestError(f"The title must be one line of 1 to {MAX_TITLE_LENGTH} characters.", status=422)
    return line
