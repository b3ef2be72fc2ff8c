"""Reads chats, files and the list of chats, and stops and deletes chats."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

from stream_protocol.serving.base import (
    ARTIFACTS_AT_ONCE,
    HISTORIES_AT_ONCE,
    RunSlot,
    UserReads,
    busy_refusal,
    run_off_loop,
    unknown_chat_refusal,
)
from stream_protocol.serving.chats import (
    change_chat,
    chat_key,
    checked_changes,
    delete_session,
    list_chats,
    load_artifact,
)
from stream_protocol.serving.requests._page_values import readable_state
from stream_protocol.serving.runs import DELETION, Claim
from stream_protocol.session import Transcript, Turn, message_versions, transcript_to_messages
from stream_protocol.wire import ChatRequestError

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Sequence

    from google.adk.sessions import Session
    from google.genai import types

    from stream_protocol.serving.base import ByteShare
    from stream_protocol.serving.chats import ChatChanges, ChatKey, ChatListPage, ListedChat
    from stream_protocol.serving.requests._context import ServiceContext
    from stream_protocol.session import MessageVersions
    from stream_protocol.stream import ConverterOptions
    from stream_protocol.wire import UIMessage


class FailedMessage(TypedDict):
    """A message whose run ended with an error."""

    messageId: str
    """The id of the assistant message. If the agent had shown nothing, this is the id of the user message."""
    errorText: NotRequired[str]
    """The error text that the client received: the text of the service's ``on_error``, which is masked by default.
    Absent if it is not stored, as for runs outside the service."""


@dataclass(frozen=True, kw_only=True)
class StoredChat:
    """A stored chat in the form that a client gets."""

    messages: list[UIMessage]
    """The messages of the chat, as in a client that received each response live."""
    versions: list[MessageVersions]
    """The versions of each message that has more than one version, in the order of the chat."""
    stopped: list[str]
    """The ids of the messages whose run was stopped. If the agent had shown nothing, this is the id of the user
    message, otherwise of the assistant message."""
    failed: list[FailedMessage]
    """The messages whose run ended with an error."""
    state: dict[str, Any] | None = None
    """The values of the shared session state; ``None`` if the app shares no state with the client."""


class ChatReads:
    """Reads chats and artifacts. Limits the number of concurrent reads, to save memory."""

    def __init__(self, service: ServiceContext) -> None:
        self._service = service
        self._histories = UserReads(per_worker=HISTORIES_AT_ONCE)
        self._artifacts = UserReads(per_worker=ARTIFACTS_AT_ONCE)

    async def chat(
        self, key: ChatKey, artifact_base: str | None, memory: ByteShare | None, *, encoded: bool
    ) -> StoredChat | None:
        """Returns a stored chat; ``None`` if this user has no such chat. See ``ChatService.read_chat``."""
        until, may_lack_message = time.monotonic() + self._service.times.response_patience, True
        executor = self._service.executor
        while True:
            answered = await self._service.runs.wait_until_settled(key)
            async with self._histories.turn(key[0]):
                session = await self._service.store.session(key)
                if answered is not None and await self._service.runs.wait_until_settled(key) != answered:
                    del session  # during the read, the run has ended, and its end was stored
                    continue
                if session is None:
                    return None
                lacks_message = may_lack_message and answered is None and await executor.lacks_message(key, session)
                size = 0 if memory is None else await self._service.memory.size_of(session.events)
                left = until - time.monotonic()
                if not lacks_message and (memory is None or memory.has_room(size) or left <= 0):
                    if memory is not None:
                        memory.take(size)
                    options = self._service.planner.options_for(key[1], artifact_base)
                    work = partial(_stored_chat, session, answered, options, encoded=encoded)
                    chat = await run_off_loop(work, events=session.events)
                    return replace(chat, state=await self._shared_state(session))
                del session  # a waiting request keeps no session in memory
            if lacks_message:
                may_lack_message = False
                await executor.wait_for_message(key, self._service.limits.stop_timeout)
            elif memory is not None:
                await memory.wait_for_room(size, left)

    async def _shared_state(self, session: Session) -> dict[str, Any] | None:
        service = self._service
        if (shared := service.shared_state) is None:
            return None
        return await service.store.with_timeout(readable_state(service.runner, session, shared))

    async def artifact(self, key: ChatKey, name: str, version: int | None) -> types.Part:
        session = await self._service.store.session_without_events(key)
        if session is None:
            raise ChatRequestError("There is no such artifact.", status=404)
        async with self._artifacts.turn(key[0]):
            return await load_artifact(self._service.runner, session, name, version)

    async def page(self, user_id: str, *, limit: int, cursor: str | None, search: str, archived: bool) -> ChatListPage:
        """Returns a page of the list of the user's chats."""
        read = partial(
            list_chats, self._service.runner, user_id, limit=limit, cursor=cursor, search=search, archived=archived
        )
        page = await self._service.store.read(user_id, read)
        return replace(page, chats=tuple(await self._with_running(user_id, page.chats)))

    async def change(self, key: ChatKey, changes: ChatChanges) -> ListedChat:
        """Changes the title or the archive mark of a chat. Returns its new entry in the list of chats."""
        change = partial(change_chat, self._service.runner, *key, checked_changes(changes))
        (chat,) = await self._with_running(key[0], [await self._service.store.read(key[0], change)])
        return chat

    async def _with_running(self, user_id: str, chats: Sequence[ListedChat]) -> list[ListedChat]:
        running = await self._service.runs.running([(user_id, chat["id"]) for chat in chats])
        return [{**chat, "running": (user_id, chat["id"]) in running} for chat in chats]


def _stored_chat(session: Session, answered: str | None, options: ConverterOptions, *, encoded: bool) -> StoredChat:
    """Return the chat that a session contains. ``answered``: the idempotency key of the active run's request; ``None``
    without an active run.
    """
    transcript = Transcript(session.events)
    running = answered is not None and transcript.is_answering(answered)
    messages = transcript_to_messages(transcript, running=running, encoded=encoded, **options)
    ended = transcript.turns[:-1] if running else transcript.turns
    shown = {message["id"] for message in messages}
    return StoredChat(
        messages=messages,
        versions=message_versions(transcript),
        stopped=[id_ for turn, id_ in _last_messages(ended, shown) if turn.was_stopped],
        failed=[_failed_message(turn, id_) for turn, id_ in _last_messages(ended, shown) if turn.has_failed],
    )


def _last_messages(turns: Iterable[Turn], shown: Container[str]) -> Iterator[tuple[Turn, str]]:
    """Yield each turn (a user message and its answers), and the id of the turn's last shown message. ``shown``: the ids
    of all messages that the client sees.
    """
    for turn in turns:
        message_id = next(filter(shown.__contains__, (turn.message_id, *turn.user_message_ids)), None)
        if message_id is not None:
            yield turn, message_id


def _failed_message(turn: Turn, message_id: str) -> FailedMessage:
    if turn.error_text is None:
        return {"messageId": message_id}
    return {"messageId": message_id, "errorText": turn.error_text}


async def stop_chat(service: ServiceContext, user_id: str, chat_id: str) -> None:
    """Stops the run of a chat: see ``ChatService.stop``."""
    with service.audit.acting(user_id, chat_id, "stop"):
        key = chat_key(user_id, chat_id)
        if not await service.executor.stop(key) and await service.store.session_without_events(key) is None:
            raise unknown_chat_refusal()


async def delete_chat(service: ServiceContext, user_id: str, chat_id: str) -> None:
    """Stops the run of a chat, then deletes the chat: see ``ChatService.delete``. Claims the chat, so that no run
    begins during the deletion."""
    with service.audit.acting(user_id, chat_id, "delete"):
        key = chat_key(user_id, chat_id)
        if await service.store.session(key) is None:
            raise unknown_chat_refusal()
        with await claim_chat(service, key, DELETION, interrupts=True) as claim:
            await service.executor.cancel(key)
            session = await service.store.session(key)
            if session is None:
                raise unknown_chat_refusal()
            await claim.check_lease()
            await service.store.with_timeout(delete_session(service.runner, session))


async def claim_chat(service: ServiceContext, key: ChatKey, idempotency_key: str, *, interrupts: bool) -> Claim:
    """Claims a chat for a change, so that no run begins during the change. ``interrupts``: True to stop an active run
    of the chat. If False, raises ``ChatRequestError`` (409) for an active run.
    """
    waiting = RunSlot(service.waiting, (key[0], object()))
    try:
        while not isinstance(found := await service.runs.claim(key, idempotency_key, waiting), Claim):
            if not interrupts:
                raise busy_refusal()
            await waiting.take()
            await service.runs.interrupt(key, found.run)
        return found
    finally:
        waiting.free()
