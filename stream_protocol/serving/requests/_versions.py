"""Provides ``choose_version``, which continues a chat from an earlier version of a message."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from stream_protocol.serving.base import busy_refusal, run_off_loop, unknown_chat_refusal
from stream_protocol.serving.chats import chat_key, rewind_session
from stream_protocol.serving.requests._chat_reads import claim_chat
from stream_protocol.session import Transcript, rewind_to_choose

if TYPE_CHECKING:
    from google.adk.sessions import Session

    from stream_protocol.serving.chats import ChatKey
    from stream_protocol.serving.requests._context import ServiceContext

CHOICE: Final = "choice"
"""The idempotency key with which the choice of a version claims the chat."""


async def choose_version(service: ServiceContext, user_id: str, chat_id: str, version_id: str) -> None:
    """Makes a chat continue from an earlier version of a message: see ``ChatService.choose_version``.

    Rewinds the session. While it does this, no run can begin in the chat.
    """
    key = chat_key(user_id, chat_id)
    with service.audit.acting(user_id, chat_id, "branch"):
        _, invocation_id = await _find(service, key, version_id)
        if invocation_id is None:
            return
        with await claim_chat(service, key, CHOICE, interrupts=False) as claim:
            if await service.executor.recover_same(key, claim) != "none":
                raise busy_refusal()
            session, invocation_id = await _find(service, key, version_id)
            if invocation_id is None:
                return
            await claim.check_lease()
            await service.store.with_timeout(rewind_session(service.runner, session, invocation_id))


async def _find(service: ServiceContext, key: ChatKey, version_id: str) -> tuple[Session, str | None]:
    """Return the session, and the id of the invocation to rewind to. The id is ``None`` if the chat already continues
    from this version.
    """
    session = await service.store.session(key)
    if session is None:
        raise unknown_chat_refusal()
    events = session.events
    return session, await run_off_loop(lambda: rewind_to_choose(Transcript(events), version_id), events=events)
