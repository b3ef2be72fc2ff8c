"""The deletion of a chat: it holds the chat as a run does, so that none goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream_protocol.serving.base import RUN_LOG, RunSlot, unreachable_refusal
from stream_protocol.serving.chats import delete_session
from stream_protocol.serving.runs import DELETION, Claim
from stream_protocol.wire import ChatRequestError

if TYPE_CHECKING:
    from stream_protocol.serving.chats import ChatKey
    from stream_protocol.serving.requests._context import ServiceContext


async def delete_chat(service: ServiceContext, key: ChatKey) -> None:
    """Stops the run of a chat, then deletes the chat. Raises ``ChatRequestError``: see ``ChatService.delete``."""
    if await service.store.session(key) is not None:
        with await _claim(service, key) as claim:
            await service.executor.cancel(key)
            if (session := await service.store.session(key)) is not None:
                if not await claim.run.holds_lease():  # others may have accepted words since
                    raise unreachable_refusal(RUN_LOG)
                return await service.store.in_time(delete_session(service.runner, session))
    raise ChatRequestError("There is no such chat.", status=404)


async def _claim(service: ServiceContext, key: ChatKey) -> Claim:
    waiting = RunSlot(service.waiting, (key[0], object()))
    try:
        while not isinstance(found := await service.runs.claim(key, DELETION, waiting), Claim):
            await waiting.take()
            await service.runs.interrupt(key, found.run)
        return found
    finally:
        waiting.free()
