"""Time limit for the app's hooks and its session store, which run while a request holds the lease of a chat.

Without a limit, a store that does not respond would block the chat until the server restarts.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine

T = TypeVar("T")


class HookTimeoutError(Exception):
    """Raised if a hook or a store took longer than its time limit."""


async def with_timeout(seconds: float | None, work: Coroutine[Any, Any, T]) -> T:
    """Returns the result of the work. ``seconds``: the time limit; ``None`` for no limit.

    After the limit, cancels the work and raises ``HookTimeoutError``. Does not wait for the end of the cancelled work,
    which may swallow the cancellation.
    """
    task = asyncio.create_task(work)
    try:
        await asyncio.wait({task}, timeout=seconds)
        if not task.done():
            raise HookTimeoutError(f"It took longer than {seconds} seconds.")
        return task.result()
    finally:
        if not task.done():
            task.add_done_callback(_ignore_failure)
            task.cancel()


def _ignore_failure(task: asyncio.Task[Any]) -> None:
    """Retrieve the failure of a task that nobody awaits. Otherwise asyncio logs it as never retrieved."""
    if not task.cancelled():
        task.exception()
