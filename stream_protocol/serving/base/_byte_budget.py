"""Provides ``ByteBudget``: a limit for the memory that all requests together use."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from collections.abc import Callable

    from stream_protocol.wire import ChatRequestError

UNCOUNTED_BYTES: Final = 64 * 1024
"""The number of bytes of each request that are not counted, so small requests are served even if the budget is full."""

USER_SHARE: Final = 2
"""Divisor for the limit of one user: a user can hold at most half of the budget."""


class ByteBudget:
    """Limits the bytes that all requests together hold in memory. The requests of one user may hold at most half of the
    limit.

    ``limit``: the maximum for all requests together; ``None`` for no limit. ``of_user``: creates the error (429) for a
    user who would hold more than half of ``limit``. ``of_all``: creates the error (503) for a request that does not
    fit, because all requests together would exceed ``limit``.

    ``single_fits``: True to allow larger requests in two cases. A user's only request may hold up to ``limit`` bytes.
    If no other request holds bytes, a request may even exceed ``limit``.
    """

    def __init__(
        self,
        limit: int | None,
        *,
        of_user: Callable[[], ChatRequestError],
        of_all: Callable[[], ChatRequestError],
        single_fits: bool = False,
    ) -> None:
        self._limit = limit
        self._of_user = of_user
        self._of_all = of_all
        self._single_fits = single_fits
        self._taken: Counter[str] = Counter()
        """User id -> bytes that the user's requests hold now, counted as in ``taken``."""
        self._freed = asyncio.Event()

    @property
    def taken(self) -> int:
        """The bytes that all requests together hold now. ``UNCOUNTED_BYTES`` of each request are not counted."""
        return self._taken.total()

    def share(self, user_id: str) -> ByteShare:
        return ByteShare(self, user_id)

    def refusal(self, user_id: str, count: int) -> ChatRequestError | None:
        """Return the error for a request that wants to hold ``count`` more bytes; ``None`` if the bytes fit."""
        if self._limit is None or count <= 0:
            return None
        own, taken = self._taken[user_id], self.taken
        if own + count > self._limit // USER_SHARE and not (self._single_fits and not own):
            return self._of_user()
        if taken + count > self._limit and not (self._single_fits and not taken):
            return self._of_all()
        return None

    def count(self, user_id: str, change: int) -> None:
        """Add ``change`` to the bytes that the user's requests hold. ``change`` is negative for released bytes."""
        self._taken[user_id] += change
        if not self._taken[user_id]:
            del self._taken[user_id]
        if change < 0:
            self._freed.set()
            self._freed = asyncio.Event()

    async def wait_for_less(self) -> None:
        """Wait until any request releases bytes."""
        await self._freed.wait()


class ByteShare:
    """The bytes of a ``ByteBudget`` that one request holds, until ``release`` is called or a ``with`` block ends.

    If nobody calls ``release``, the garbage collector releases the bytes. This happens if a framework drops a response
    without sending it.
    """

    def __init__(self, budget: ByteBudget, user_id: str, size: int = 0) -> None:
        self._budget = budget
        self._user_id = user_id
        self._size = size

    def take(self, count: int) -> None:
        """Hold ``count`` more bytes of the budget. If they do not fit, raise ``ChatRequestError`` (429, 503)."""
        if (refusal := self._refusal(count)) is not None:
            raise refusal
        counted = self._counted
        self._size += count
        self._budget.count(self._user_id, self._counted - counted)

    def has_room(self, count: int) -> bool:
        return self._refusal(count) is None

    async def wait_for_room(self, count: int, seconds: float) -> None:
        """Wait up to ``seconds`` until ``count`` more bytes would fit into the budget. The bytes are not reserved: call
        ``take`` next.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not self.has_room(count):
                    await self._budget.wait_for_less()

    def handed_over(self) -> ByteShare:
        """Move all bytes of this share to a new ``ByteShare``, and return it. Call this method for a response that is
        sent after the ``with`` block of this share has ended.
        """
        size, self._size = self._size, 0
        return ByteShare(self._budget, self._user_id, size)

    def release(self) -> None:
        counted, self._size = self._counted, 0
        if counted:
            self._budget.count(self._user_id, -counted)

    def _refusal(self, count: int) -> ChatRequestError | None:
        counted = max(0, self._size + count - UNCOUNTED_BYTES)
        return self._budget.refusal(self._user_id, counted - self._counted)

    @property
    def _counted(self) -> int:
        return max(0, self._size - UNCOUNTED_BYTES)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def __del__(self) -> None:
        self.release()
