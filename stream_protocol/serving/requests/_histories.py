"""The messages of chats, for pages that load them."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

from stream_protocol.serving.base import HISTORIES_AT_ONCE, UserReads, long_work
from stream_protocol.session import Transcript, transcript_to_messages

if TYPE_CHECKING:
    from google.adk.sessions import Session

    from stream_protocol.serving.base import ByteShare
    from stream_protocol.serving.chats import ChatKey
    from stream_protocol.serving.requests._context import ServiceContext
    from stream_protocol.stream import ConverterOptions
    from stream_protocol.wire import UIMessage


class Histories:
    """Reads the messages of chats, few at once: their size is known when they are in memory."""

    def __init__(self, service: ServiceContext) -> None:
        self._service = service
        self._reads = UserReads(per_worker=HISTORIES_AT_ONCE)

    async def read(self, key: ChatKey, artifact_base: str | None, memory: ByteShare | None) -> list[UIMessage] | None:
        """Returns the messages of a chat; ``None`` if this user has no such chat. See ``ChatService.history``."""
        until = time.monotonic() + self._service.times.response_patience
        while True:
            answered = await self._service.runs.wait_until_settled(key)
            async with self._reads.turn(key[0]):
                session, answered = await self._settled_session(key, answered)
                if session is None:
                    return None
                size = 0 if memory is None else await self._service.memory.size_of(session.events)
                left = until - time.monotonic()
                if memory is None or memory.has_room(size) or left <= 0:
                    if memory is not None:
                        memory.take(size)
                    options = self._service.planner.options_for(key[1], artifact_base)
                    return await long_work(partial(_messages, session, answered, options), events=session.events)
                del session  # what waits for memory takes none
            await memory.wait_for_room(size, left)

    async def _settled_session(self, key: ChatKey, answered: str | None) -> tuple[Session | None, str | None]:
        """Returns the session with all that was accepted, and the idempotency key of the request that a run answers.

        ``answered``: that of the request that a run answered a moment ago, if any.
        """
        store, runs, executor = self._service.store, self._service.runs, self._service.executor
        session = await store.session(key)
        wait = self._service.stopping_wait
        if answered is None and session is not None and await executor.wait_until_stored(key, session, wait):
            answered = await runs.wait_until_settled(key)
            session = await store.session(key)
        while answered is not None and (now := await runs.wait_until_settled(key)) != answered:
            # That run has ended while the session was read, and its end is stored since.
            answered, session = now, await store.session(key)
        return session, answered


def _messages(session: Session, answered: str | None, options: ConverterOptions) -> list[UIMessage]:
    """The messages of a session. ``answered``: the idempotency key of the request that a run answers now."""
    transcript = Transcript(session.events)
    running = answered is not None and transcript.is_answering(answered)
    return transcript_to_messages(transcript, running=running, **options)
