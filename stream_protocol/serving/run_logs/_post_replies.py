"""Sends messages from a request to a run of another worker, and returns the replies of the run. The store of the run
log transports messages and replies.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from stream_protocol.serving.base import Tasks
from stream_protocol.serving.run_logs._run_log import RunLogError
from stream_protocol.serving.run_logs._run_store import Post

if TYPE_CHECKING:
    from collections.abc import Iterable

    from stream_protocol.serving.run_logs._run_log import RunHandle
    from stream_protocol.serving.run_logs._run_store import RunIdentity, RunStore

logger = logging.getLogger(__name__)

MIN_PAUSE, MAX_PAUSE = 0.01, 0.25
"""The limits of the pause between two reads of the store while a reply is missing, in seconds. The pause is a tenth of
the time since the message was sent."""

CLOSING_SECONDS: Final = 1.0
"""The maximum number of seconds in which an ended run stores its last replies."""


class PostReplies:
    """Passes messages from other workers to a run, and stores the replies of the run."""

    def __init__(self, store: RunStore, run: RunIdentity, owner: RunHandle) -> None:
        self._store = store
        self._run = run
        self._owner = owner
        self._handled: set[str] = set()
        self._tasks = Tasks()

    def take(self, posts: Iterable[Post]) -> None:
        """Starts to handle the messages. Skips messages that are already being handled."""
        for post in posts:
            if post.id not in self._handled:
                self._handled.add(post.id)
                _ = self._tasks.start(self._handle(post))

    async def wait(self) -> None:
        await self._tasks.wait(CLOSING_SECONDS)

    async def _handle(self, post: Post) -> None:
        try:
            reply = await self._owner.receive(post.content)
            await self._store.reply(self._run.chat, self._run.run_id, post.id, reply)
        except RunLogError as error:
            logger.warning("A reply of run %s is not stored just now: %s", self._run.run_id, error)
        except Exception:
            logger.exception("A post to run %s could not be handled.", self._run.run_id)
        finally:
            self._handled.discard(post.id)  # a message without a stored reply is sent again


async def post_through(
    store: RunStore, chat: str, run_id: str, content: bytes, renewal_interval: float
) -> bytes | None:
    """Send a message to a run of another worker, and return the reply; ``None`` if the run ends without a reply.

    The message is sent again every ``renewal_interval`` seconds, because a fail-over of the store may lose the message.
    """
    post, loop = Post.of(content), asyncio.get_running_loop()
    begun = loop.time()
    while True:
        worker = await store.post(chat, run_id, post)
        if worker is None:
            return await store.reply_to(chat, run_id, post.id)
        with suppress(RunLogError):  # the worker gets the message at its next regular renewal
            await store.request_renewal(worker, run_id)
        repeat_at = loop.time() + renewal_interval
        while loop.time() < repeat_at:
            await asyncio.sleep(min(max(MIN_PAUSE, (loop.time() - begun) / 10), MAX_PAUSE))
            if (reply := await store.reply_to(chat, run_id, post.id)) is not None:
                return reply
