"""Acts on a whole chat: stops its run, or deletes it. Both are in the audit trail."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream_protocol.serving.base import RUN_LOG, RunSlot, unreachable_refusal
from stream_protocol.serving.chats import chat_key, delete_session
from stream_protocol.serving.runs import DELETION, Claim
from stream_protocol.wire import ChatRequestError

if TYPE_CHECKING:
    from stream_protocol.serving.chats import ChatKey
    from stream_protocol.serving.requests._context import ServiceContext


async def stop_chat(service: ServiceContext, user_id: str, chat_id: str) -> None:
    """Stops the run of a chat. Raises ``ChatRequestError``: see ``ChatService.stop``."""
    with service.audit.acting(user_id, chat_id, "stop"):
        key = chat_key(user_id, chat_id)
        if not await service.executor.stop(key) and await service.store.session_without_events(key) is None:
            raise _no_such_chat()


async def delete_chat(service: ServiceContext, user_id: str, chat_id: str) -> None:
    """Stops the run of a chat, then deletes the chat. Raises ``ChatRequestError``: see ``ChatService.delete``.

    It holds the chat as a run does, so that none begins.
    """
    with service.audit.acting(user_id, chat_id, "delete"):
        key = chat_key(user_id, chat_id)
        if await service.store.session(key) is None:
            raise _no_such_chat()
        with await _claim(service, key) as claim:
            await service.executor.cancel(key)
            session = await service.store.session(key)
            if session is None:
                raise _no_such_chat()
            if not await claim.run.holds_lease():  # others may have accepted words since
                raise unreachable_refusal(RUN_LOG)
            await service.store.in_time(delete_session(service.runner, session))


async def _claim(service: ServiceContext, key: ChatKey) -> Claim:
    waiting = RunSlot(service.waiting, (key[0], object()))
    try:
        while not isinstance(found := await service.runs.claim(key, DELETION, waiting), Claim):
            await waiting.take()
            await service.runs.interrupt(key, found.run)
        return found
    finally:
        waiting.free()


def _no_such_chat() -> ChatRequestError:
    return ChatRequestError("There is no such chat.", status=404)
