"""Provides ``ChatStore``, which reads stored chats with a time limit."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from stream_protocol.serving.base import (
    ENGINE,
    SESSION_STORE,
    HookTimeoutError,
    UserReads,
    changed_refusal,
    unreachable_refusal,
    with_timeout,
)
from stream_protocol.serving.chats._chat_details import CHANGED_BY_OTHERS, WITHOUT_EVENTS
from stream_protocol.serving.chats._sessions import find_session
from stream_protocol.serving.errors import is_unreachable, log_error
from stream_protocol.wire import ChatRequestError, check_text, parse_chat_id

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

    from google.adk.runners import Runner
    from google.adk.sessions import Session

logger = logging.getLogger(__name__)

T = TypeVar("T")

ChatKey: TypeAlias = tuple[str, str]
"""The key of a chat: the user id and the chat id."""


def chat_key(user_id: str, chat_id: str) -> ChatKey:
    """Return the key of a user's chat. Raises ``ChatRequestError`` (400) for an invalid chat id."""
    check_text("user_id", user_id)
    return user_id, parse_chat_id(chat_id)


class ChatStore:
    """Reads stored chats. Limits the time of each call, and the number of concurrent reads of a user.

    ``timeout``: the time limit in seconds; ``None`` for no limit. Methods raise ``ChatRequestError`` (503) in three
    cases: the call takes longer, the store is unreachable, or another worker has changed the chat.
    """

    def __init__(self, runner: Runner, timeout: float | None) -> None:
        self._runner = runner
        self._timeout = timeout
        self._reads = UserReads()

    async def session(self, key: ChatKey) -> Session | None:
        """Returns the session of a chat; ``None`` if this user has no such chat."""
        return await self.with_timeout(self.find(key))

    async def session_without_events(self, key: ChatKey) -> Session | None:
        return await self.read(key[0], partial(find_session, self._runner, *key, config=WITHOUT_EVENTS))

    async def find(self, key: ChatKey) -> Session | None:
        """Returns the session of a chat, without a time limit. Raises the errors of the session store."""
        return await self._in_turn(key[0], partial(find_session, self._runner, *key))

    async def look_up(self, key: ChatKey) -> Session | None:
        """Returns the session of a chat within the time limit, for callers outside of a request. Raises
        ``HookTimeoutError``, and the errors of the session store.
        """
        return await with_timeout(self._timeout, self.find(key))

    async def read(self, user_id: str, read: Callable[[], Awaitable[T]]) -> T:
        """Calls the function ``read``, and returns its result. The function reads or changes a chat of the user. Limits
        the time and the number of concurrent calls.
        """
        return await self.with_timeout(self._in_turn(user_id, read))

    async def with_timeout(self, work: Coroutine[Any, Any, T], *, of: str = SESSION_STORE) -> T:
        """Awaits ``work`` within the time limit, and returns its result. Raises ``ChatRequestError`` (503).

        ``work``: a call of a store. ``of``: the name of the store, for the text of the error.
        """
        try:
            return await with_timeout(self._timeout, work)
        except HookTimeoutError as error:
            text = "A request was refused: the %s took longer than %s seconds."
            logger.error(text, of.replace("_", " "), self._timeout)  # noqa: TRY400 - a traceback would not help
            raise unreachable_refusal(of) from error
        except ChatRequestError:
            raise
        except CHANGED_BY_OTHERS as error:
            raise changed_refusal() from error
        except Exception as error:
            if of != ENGINE and not is_unreachable(error):
                raise
            logger.error("A request was refused: the %s cannot be reached.", of.replace("_", " "))  # noqa: TRY400 - the next line has the reason
            log_error(logger, error)
            raise unreachable_refusal(of) from error

    async def _in_turn(self, user_id: str, read: Callable[[], Awaitable[T]]) -> T:
        async with self._reads.turn(user_id):
            return await read()
