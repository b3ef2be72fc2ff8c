"""Limits for one user, and for all users of a worker together: ``ServiceLimits``, and the counters that enforce
them."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, fields
from itertools import islice
from typing import TYPE_CHECKING, Final, TypeAlias
from weakref import WeakValueDictionary

from stream_protocol.serving.base._byte_budget import ByteBudget
from stream_protocol.wire import ChatRequestError, check_count, check_seconds

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Collection

MAX_RUNS: Final = 300
"""Each run has a connection to its model, and mostly one to its reader and one to a store. So they fit in the 1,024
file descriptors that a process has by default."""

MAX_RUNS_PER_USER: Final = 50
"""Far more chats than a person watches, and a sixth of the worker. Without ``identify`` all are one user's: enough for
a test suite that runs side by side."""

MAX_WAITING_PER_USER: Final = 50
"""A page has one such request in each of its chats. Each keeps a connection, and its messages in memory."""

MAX_REQUESTS_PER_MINUTE: Final = 1200
"""20 a second: a page in ten tabs that asks for its list of chats twice a second. A user whose requests take 10 ms each
has a fifth of the worker's time with that, and no more."""

MAX_CHUNKS: Final = 500_000
"""A model that streams 100 tokens a second for an hour, which is ``RUN_TIMEOUT``, has 360,000. More is a loop."""

MAX_RESPONSE_BYTES: Final = 256 * 1024 * 1024
"""As much as for the bodies of requests: two chats with five files of 15 MiB, which are 100 MiB in Base64."""

READS_PER_USER: Final = 2
"""A page that opens asks for its list of chats and a history."""

HISTORIES_AT_ONCE: Final = 8
"""Sessions of all users that are read whole at once: their size is known when they are in memory."""

ARTIFACTS_AT_ONCE: Final = 16
"""Artifacts of all users that are read at once, for the same reason. Their stores may be far away."""

RUN_TIMEOUT: Final = 3600.0
"""Seconds that a run may take by default: enough for deep research; a stuck run frees its chat in the end."""

STOP_TIMEOUT: Final = 10.0
"""Seconds that a request waits for a run of its chat that is stopping: the user pressed stop and sent the next text."""

HOOK_TIMEOUT: Final = 30.0
"""Seconds for a hook by default: enough for a model that is asked for a title, or for a store that has to start."""

RUN_RETRY_AFTER: Final = 5
"""Seconds after which a request may be sent again that found too many runs: nobody knows when one ends."""

_MINUTE: Final = 60 * 10**9
_SECOND: Final = 10**9

SlotKey: TypeAlias = tuple[str, object]
"""A user's id, and what has the slot: a chat's id, for one."""


@dataclass(frozen=True, kw_only=True)
class ServiceLimits:
    """Limits for the users of a ``ChatService``: counts, sizes and times. ``None`` is without limit.

    A worker counts by itself: with three workers a user has three times as much. Times are seconds;
    ``disconnect_grace`` and ``stop_timeout`` may be ``0``. Raises ``StreamProtocolError`` for a count that is not a
    whole number from 1, and for a time that is not positive.
    """

    max_runs: int | None = MAX_RUNS
    """Active runs of all users. A further run is refused (503)."""
    max_runs_per_user: int | None = MAX_RUNS_PER_USER
    """Active runs of one user. A further run is refused (429)."""
    max_waiting_per_user: int | None = MAX_WAITING_PER_USER
    """Requests of one user that wait for the end of a run. A further request is refused (429). Of all users, at most
    ``max_runs`` requests wait (503)."""
    max_requests_per_minute: int | None = MAX_REQUESTS_PER_MINUTE
    """Requests of one user, except stops. All may come at once. Further requests are refused (429), and the allowance
    grows back evenly over a minute. Requests from pages of other sites have a separate allowance."""
    max_response_bytes: int | None = MAX_RESPONSE_BYTES
    """Memory of stored content that is being sent: histories, artifacts, and repeated responses. A response that does
    not fit is refused (503, or 429 if one user takes more than half). A response of up to 64 KiB is never refused. A
    response larger than this limit waits until no other is open."""
    max_chunks: int | None = MAX_CHUNKS
    """Chunks of one response. A longer run is stopped after the current event, and its response ends in an error."""

    run_timeout: float | None = RUN_TIMEOUT
    """Duration of a run. A longer run is stopped, and its response ends in an error."""
    disconnect_grace: float | None = None
    """Time that a run continues without a reader. 0 stops the run when the client leaves. ``None``, the default: the
    run continues to its end, so a reload loses nothing."""
    stop_timeout: float = STOP_TIMEOUT
    """Time that a request waits for a stopping run of its chat. After this time the request is refused (503, with
    ``Retry-After``)."""
    hook_timeout: float | None = HOOK_TIMEOUT
    """Time for ``on_finish``, and for each access to the session store outside a run. After this time the call is
    cancelled and logged."""

    def __post_init__(self) -> None:
        for field in fields(self):
            if field.name.startswith("max_"):
                check_count(field.name, getattr(self, field.name), or_none=True)
        check_seconds("run_timeout", self.run_timeout, or_none=True)
        check_seconds("disconnect_grace", self.disconnect_grace, zero=True, or_none=True)
        check_seconds("stop_timeout", self.stop_timeout, zero=True)
        check_seconds("hook_timeout", self.hook_timeout, or_none=True)


class RequestRates:
    """Counts the requests of each user, in memory that is bounded by the requests of the last minute.

    A user has an allowance of ``per_minute`` requests, which grows back evenly. ``now``: a clock that never goes back,
    in nanoseconds.
    """

    def __init__(self, per_minute: int | None, now: Callable[[], int] = time.monotonic_ns) -> None:
        self._interval = 0 if per_minute is None else _MINUTE // per_minute
        self._now = now
        self._whole_at: OrderedDict[str, int] = OrderedDict()
        """User id -> when the user's allowance is whole again. A user who is not in it has all of it."""

    def __len__(self) -> int:
        """The number of users that are remembered."""
        return len(self._whole_at)

    def count(self, user_id: str) -> None:
        """Counts a request. Raises ``ChatRequestError`` (429) if the user has none left; that one is not counted."""
        if not self._interval:
            return
        now = self._now()
        self._forget_some(now)
        whole_at = max(self._whole_at.get(user_id, now), now) + self._interval
        if (missing := whole_at - now - _MINUTE) > 0:
            seconds = -(-missing // _SECOND)
            wait = "a second" if seconds == 1 else f"{seconds} seconds"
            raise ChatRequestError(
                f"Too many requests. Try again in {wait}.", status=429, retry_after=seconds, reason="request_rate"
            )
        self._whole_at[user_id] = whole_at

    def _forget_some(self, now: int) -> None:
        """Looks at two users, in turn, and forgets who has the whole allowance: more than one new user a request
        brings."""
        for user_id in list(islice(self._whole_at, 2)):
            if self._whole_at[user_id] <= now:
                del self._whole_at[user_id]
            else:
                self._whole_at.move_to_end(user_id)


class UserReads:
    """Limits the reads of a store that go on at once, for one user and for all users. Others wait, in their order.

    The event loop runs each task that is ready. A thousand lists of chats that one user asks for at once would be a
    thousand steps between two of everybody else.
    """

    def __init__(self, per_user: int = READS_PER_USER, per_worker: int | None = None) -> None:
        self._per_user = per_user
        self._of_all = nullcontext() if per_worker is None else asyncio.Semaphore(per_worker)
        self._semaphores = WeakValueDictionary[str, asyncio.Semaphore]()

    @asynccontextmanager
    async def turn(self, user_id: str) -> AsyncIterator[None]:
        """Waits until it is this request's turn."""
        semaphore = self._semaphores.setdefault(user_id, asyncio.Semaphore(self._per_user))
        async with semaphore, self._of_all:
            await asyncio.sleep(0)  # a store in memory never waits: so nobody else would have a turn
            yield


class RunSlots:
    """Counts what goes on at once, and refuses what would be more than ``per_user`` of one user, or ``per_worker``.

    ``patience``: seconds that a request waits for a slot if one of those that are taken is about to become free.
    """

    def __init__(self, per_user: int | None, per_worker: int | None, patience: float = 0) -> None:
        self._per_user = per_user
        self._per_worker = per_worker
        self._patience = patience
        self._taken: dict[SlotKey, set[RunSlot]] = {}
        self._freed = asyncio.Event()

    def __len__(self) -> int:
        """The number of slots that are taken."""
        return len(self._taken)

    async def take(self, slot: RunSlot) -> None:
        """Takes a slot; it shares that of its key, if there is one. Raises ``ChatRequestError``: 429, 503."""
        deadline = asyncio.get_running_loop().time() + self._patience
        while (refusal := self._refusal(slot.key)) is not None:
            try:
                async with asyncio.timeout_at(deadline):
                    await self._freed.wait()
            except TimeoutError:
                raise refusal from None
        self._taken.setdefault(slot.key, set()).add(slot)

    def free(self, slot: RunSlot) -> None:
        """Gives a slot back, if it is taken."""
        sharing = self._taken.get(slot.key, set())
        sharing.discard(slot)
        if not sharing and self._taken.pop(slot.key, None) is not None:
            self._freed.set()
            self._freed = asyncio.Event()

    def _refusal(self, key: SlotKey) -> ChatRequestError | None:
        """Why there is no slot now, though there may be soon; ``None`` if there is one. Raises it if none is about to
        become free. The user's own come first: who has too many is told so, however busy the others are."""
        if key in self._taken:
            return None
        own = [taken for taken in self._taken if taken[0] == key[0]]
        if self._per_user is not None and len(own) >= self._per_user:
            return self._soon_or_raise(own, _too_many_of_user())
        if self._per_worker is not None and len(self._taken) >= self._per_worker:
            return self._soon_or_raise(self._taken, _too_many())
        return None

    def _soon_or_raise(self, taken: Collection[SlotKey], refusal: ChatRequestError) -> ChatRequestError:
        if any(all(slot.is_ending for slot in self._taken[key]) for key in taken):
            return refusal
        raise refusal


class RunSlot:
    """The right of one request to have a run go on, or to wait for the end of one."""

    def __init__(self, slots: RunSlots, key: SlotKey) -> None:
        self.key = key
        self._is_ending: Callable[[], bool] = lambda: False
        self._slots = slots

    async def take(self) -> None:
        """Takes the slot, unless it is taken: see ``RunSlots.take``."""
        await self._slots.take(self)

    @property
    def is_ending(self) -> bool:
        """True if the slot is about to become free: the response has ended, and is being stored."""
        return self._is_ending()

    def used_until(self, is_ending: Callable[[], bool]) -> None:
        """Has ``is_ending`` tell whether the slot is about to become free."""
        self._is_ending = is_ending

    def free(self) -> None:
        """Gives the slot back, if it is taken."""
        self._slots.free(self)


def response_budget(limit: int | None = MAX_RESPONSE_BYTES) -> ByteBudget:
    """Return the budget of all responses that hold stored content: see ``ServiceLimits.max_response_bytes``."""
    return ByteBudget(limit, of_user=_too_much_of_user, of_all=_too_much, single_fits=True)


def _too_much_of_user() -> ChatRequestError:
    text = "Several of your chats or files are still being loaded. Try again in some seconds."
    return ChatRequestError(text, status=429, retry_after=RUN_RETRY_AFTER, reason="responses_of_user")


def _too_much() -> ChatRequestError:
    text = "The server is busy with the chats and files of others. Try again in some seconds."
    return ChatRequestError(text, status=503, retry_after=RUN_RETRY_AFTER, reason="responses")


def _too_many_of_user() -> ChatRequestError:
    text = "Too many of your messages are being answered at once. Wait for an answer, or stop one."
    return ChatRequestError(text, status=429, retry_after=RUN_RETRY_AFTER, reason="runs_of_user")


def _too_many() -> ChatRequestError:
    text = "The server is busy with other chats. Try again in a moment."
    return ChatRequestError(text, status=503, retry_after=RUN_RETRY_AFTER, reason="runs")
