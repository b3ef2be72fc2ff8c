"""Provides ``ServiceLimits``, and the counters that enforce its limits. Some limits apply to each user, others to all
users of a worker together.
"""

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
"""The maximum number of concurrent runs of a worker. A run has up to three connections: to its model, its client and a
store. So all connections fit into the default limit of 1,024 open files for a process."""

MAX_RUNS_PER_USER: Final = 50
"""The maximum number of concurrent runs of one user. Without ``identify``, all requests belong to one user, so a
parallel test suite must fit."""

MAX_WAITING_PER_USER: Final = 50
"""The maximum number of one user's requests that wait for the end of a run. Each keeps a connection, and messages in
memory."""

MAX_REQUESTS_PER_MINUTE: Final = 1200
"""The maximum number of requests of one user in a minute. At 10 ms a request, one user can use a fifth of the worker's
time."""

MAX_CHUNKS: Final = 500_000
"""The maximum number of chunks of a response. A model that streams 100 tokens a second for an hour (``RUN_TIMEOUT``)
needs 360,000 chunks."""

MAX_RESPONSE_BYTES: Final = 256 * 1024 * 1024
"""The maximum number of bytes of stored content that a worker sends at the same time. Two chats fit, each with five
files of 15 MiB: in Base64, the files take 200 MiB."""

READS_PER_USER: Final = 2
"""The maximum number of concurrent reads of one user. A client loads the list of chats and a history at the same
time."""

HISTORIES_AT_ONCE: Final = 8
"""Maximum number of sessions that are loaded at the same time. The size of a session is unknown until it is loaded."""

ARTIFACTS_AT_ONCE: Final = 16
"""Maximum number of artifacts that are loaded at the same time. The size of an artifact is unknown until it is
loaded."""

RUN_TIMEOUT: Final = 3600.0
"""Default time limit of a run, in seconds: enough for deep research."""

STOP_TIMEOUT: Final = 10.0

HOOK_TIMEOUT: Final = 30.0
"""Default time limit of a hook, in seconds: enough to generate a title, or to wait for a starting store."""

RUN_RETRY_AFTER: Final = 5
"""Seconds in the ``Retry-After`` header of a refusal because of too many runs."""

_MINUTE: Final = 60 * 10**9
_SECOND: Final = 10**9

SlotKey: TypeAlias = tuple[str, object]
"""The key of a ``RunSlot``: the user's id, and a value such as a chat id that identifies the run or request."""


@dataclass(frozen=True, kw_only=True)
class ServiceLimits:
    """Limits of a ``ChatService`` for its users: counts, sizes in bytes, and times in seconds. ``None`` means no limit.

    Each worker counts separately: with three workers, a user has three times the limit. ``disconnect_grace`` and
    ``stop_timeout`` may be ``0``. All other times must be positive, and each count must be a whole number of at least
    1. The constructor raises ``StreamProtocolError`` for other values.
    """

    max_runs: int | None = MAX_RUNS
    """Maximum number of active runs of all users.

    Additional runs are refused (503).
    """
    max_runs_per_user: int | None = MAX_RUNS_PER_USER
    """Maximum number of active runs of one user.

    Additional runs are refused (429).
    """
    max_waiting_per_user: int | None = MAX_WAITING_PER_USER
    """Maximum number of requests of one user that wait for a run to end.

    Additional requests are refused (429). All users together may have ``max_runs`` waiting requests. Further requests
    are refused (503).
    """
    max_requests_per_minute: int | None = MAX_REQUESTS_PER_MINUTE
    """Maximum number of requests of one user in a minute. Requests that stop a run are not counted.

    Additional requests are refused (429). The user may send the maximum in one burst. The allowance is then refilled
    evenly over a minute. Requests that pages of other sites send as this user have a separate allowance.
    """
    max_response_bytes: int | None = MAX_RESPONSE_BYTES
    """Maximum memory for histories, artifacts and finished replies, which stay in memory until clients have read them.

    A response that does not fit is refused (503). One user may use half of this memory (429). A response of up to 64
    KiB is never refused. A response that is larger than the whole memory is sent when no other response is being sent.
    """
    max_chunks: int | None = MAX_CHUNKS
    """Maximum number of chunks of one response.

    A longer response ends in an error.
    """

    run_timeout: float | None = RUN_TIMEOUT
    """Maximum duration of a run.

    The response of a longer run ends in an error.
    """
    disconnect_grace: float | None = None
    """Time for which a run continues while no client reads its response. ``None``: the run continues to its end.

    0 stops the run when the last client leaves.
    """
    stop_timeout: float = STOP_TIMEOUT
    """Maximum time that a request waits for the earlier run of its chat to end.

    After this time, the request is refused (503, with ``Retry-After``).
    """
    hook_timeout: float | None = HOOK_TIMEOUT
    """Time limit for ``on_finish``, and for each access to the session store outside a run. A call that takes longer is
    cancelled and logged.

    The chat then accepts the next run.
    """

    def __post_init__(self) -> None:
        for field in fields(self):
            if field.name.startswith("max_"):
                check_count(field.name, getattr(self, field.name), or_none=True)
        check_seconds("run_timeout", self.run_timeout, or_none=True)
        check_seconds("disconnect_grace", self.disconnect_grace, zero=True, or_none=True)
        check_seconds("stop_timeout", self.stop_timeout, zero=True)
        check_seconds("hook_timeout", self.hook_timeout, or_none=True)


class RequestRates:
    """Rate limiter for each user's requests. A user may send ``per_minute`` requests at once. After that, the user may
    send one more request every ``60 / per_minute`` seconds.

    ``now``: a monotonic clock, in nanoseconds.
    """

    def __init__(self, per_minute: int | None, now: Callable[[], int] = time.monotonic_ns) -> None:
        self._interval = 0 if per_minute is None else _MINUTE // per_minute
        self._now = now
        self._whole_at: OrderedDict[str, int] = OrderedDict()
        """The time at which each user's allowance is full again. A user without an entry has the full allowance."""

    def __len__(self) -> int:
        return len(self._whole_at)

    def count(self, user_id: str) -> None:
        """Counts a request of the user. Above the limit, raises ``ChatRequestError`` (429) and does not count the
        request.
        """
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
        """Remove up to two users from memory who have sent no request for some time. Each request adds at most one
        user, so memory does not grow forever.
        """
        for user_id in list(islice(self._whole_at, 2)):
            if self._whole_at[user_id] <= now:
                del self._whole_at[user_id]
            else:
                self._whole_at.move_to_end(user_id)


class UserReads:
    """Limiter for the concurrent reads of a store by one user, and by all users of the worker. Further reads wait in
    order.

    Without the limiter, a thousand reads of one user would delay all other users on the event loop. ``per_worker``: the
    maximum for all users of the worker together; ``None`` for no maximum.
    """

    def __init__(self, per_user: int = READS_PER_USER, per_worker: int | None = None) -> None:
        self._per_user = per_user
        self._of_all = nullcontext() if per_worker is None else asyncio.Semaphore(per_worker)
        self._semaphores = WeakValueDictionary[str, asyncio.Semaphore]()

    @asynccontextmanager
    async def turn(self, user_id: str) -> AsyncIterator[None]:
        """Context manager around one read of a user. At its start, waits until the user's limit and the worker's limit
        allow another read.
        """
        semaphore = self._semaphores.setdefault(user_id, asyncio.Semaphore(self._per_user))
        async with semaphore, self._of_all:
            await asyncio.sleep(0)  # without this pause, an in-memory store would let no other task run
            yield


class RunSlots:
    """Limits the number of active runs, or of waiting requests. Each run or request takes a slot.

    ``patience``: the maximum wait, in seconds. A request waits only if all slots are taken, and one of them is about to
    become free.
    """

    def __init__(self, per_user: int | None, per_worker: int | None, patience: float = 0) -> None:
        self._per_user = per_user
        self._per_worker = per_worker
        self._patience = patience
        self._taken: dict[SlotKey, set[RunSlot]] = {}
        self._freed = asyncio.Event()

    def __len__(self) -> int:
        return len(self._taken)

    async def take(self, slot: RunSlot) -> None:
        """Takes a slot. Several slots with an equal ``key`` count as one.

        Raises ``ChatRequestError`` if no slot is free: 429 at the user's limit, 503 at the worker's limit.
        """
        deadline = asyncio.get_running_loop().time() + self._patience
        while (refusal := self._refusal(slot.key)) is not None:
            try:
                async with asyncio.timeout_at(deadline):
                    await self._freed.wait()
            except TimeoutError:
                raise refusal from None
        self._taken.setdefault(slot.key, set()).add(slot)

    def free(self, slot: RunSlot) -> None:
        sharing = self._taken.get(slot.key, set())
        sharing.discard(slot)
        if not sharing and self._taken.pop(slot.key, None) is not None:
            self._freed.set()
            self._freed = asyncio.Event()

    def _refusal(self, key: SlotKey) -> ChatRequestError | None:
        """Return ``None`` if a slot is free. If all slots are taken, raise the error. If one of them is about to become
        free, return the error and do not raise it. The caller then waits for this slot, and raises the error if the
        wait takes too long.
        """
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
    """The right of one request to execute a run, or to wait for the end of a run."""

    def __init__(self, slots: RunSlots, key: SlotKey) -> None:
        self.key = key
        self._is_ending: Callable[[], bool] = lambda: False
        self._slots = slots

    async def take(self) -> None:
        """Takes the slot, like ``RunSlots.take``. Does nothing if the slot is already taken."""
        await self._slots.take(self)

    @property
    def is_ending(self) -> bool:
        """True if the slot is about to become free: the response of the run has ended, and the run's end is being
        stored.
        """
        return self._is_ending()

    def used_until(self, is_ending: Callable[[], bool]) -> None:
        """Sets the function that returns the value of ``is_ending``."""
        self._is_ending = is_ending

    def free(self) -> None:
        self._slots.free(self)


def response_budget(limit: int | None = MAX_RESPONSE_BYTES) -> ByteBudget:
    """Return the memory budget for responses with histories, artifacts or finished replies. See
    ``ServiceLimits.max_response_bytes``.
    """
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
