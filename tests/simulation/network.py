"""Network between workers and stores: delays, outages, and replies that get lost after the store did the work."""

from __future__ import annotations

import asyncio
from contextvars import Context
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from tests.simulation.virtual_time import VirtualLoop

T = TypeVar("T")

StoreName: TypeAlias = Literal["run log", "sessions", "engine"]

STORES: Final[tuple[StoreName, ...]] = ("run log", "sessions", "engine")

Manner: TypeAlias = Literal["refuses", "hangs", "loses replies", "is slow"]
"""``refuses``: fails at once. ``hangs``: takes a command and never answers. ``loses replies``: does some commands and
does not say so. ``is slow``: takes up to a second for a command."""

MANNERS: Final[tuple[Manner, ...]] = ("refuses", "hangs", "loses replies", "is slow")

PATIENCE: Final = 0.6
"""Seconds after which a worker gives up a command: a fifth of a lease, as with the default times."""

SLOW: Final = 0.5
"""Maximum seconds in which a slow store receives a command, and again in which it replies."""

LOST_SHARE: Final = 0.4
"""Share of lost replies while a store loses replies."""


MAX_TOLD: Final = 120
"""Maximum characters of a reply in a story."""


@dataclass(frozen=True)
class Outage:
    """Outage of a store, or of its connection to one worker.

    Its times are in seconds of the true time. ``worker``: the number of the worker; ``None`` means all workers.
    """

    store: StoreName
    worker: int | None
    manner: Manner
    at: float
    seconds: float

    @property
    def until(self) -> float:
        return self.at + self.seconds


class Network:
    """All connections. ``note(worker, text)``: gets a line for the story; ``None`` without a story."""

    def __init__(
        self,
        loop: VirtualLoop,
        outages: tuple[Outage, ...],
        rng: Random,
        note: Callable[[int, str], None] | None,
    ) -> None:
        self.loop = loop
        self._outages = outages
        self._rng = rng
        self._note = note
        self.is_over = False
        self._context = Context()
        """Of no process: what is under way arrives, though the worker is frozen or dead."""

    def manner(self, store: StoreName, worker: int) -> Manner | None:
        """Return the behaviour of the store for this worker at this time; ``None`` for normal behaviour."""
        now = self.loop.now
        for outage in self._outages:
            if outage.store == store and outage.worker in (None, worker) and outage.at <= now < outage.until:
                return outage.manner
        return None

    async def ask(
        self,
        store: StoreName,
        worker: int,
        name: str,
        command: Callable[[], T | asyncio.Future[T]],
        failure: Callable[[str], Exception],
    ) -> T:
        """Send a command to the store, which may reply later. Raises ``failure`` without a reply."""
        if self.is_over:
            raise failure("the schedule is over")
        manner, random, loop = self.manner(store, worker), self._rng.random, self.loop
        reply = asyncio.Future[Any](loop=loop)
        there, back, is_lost, lost_reply = 0.0005 + 0.003 * random(), 0.0005 + 0.003 * random(), False, False
        if manner == "is slow":
            there, back = SLOW * random(), SLOW * random()
            lost_reply = there + back > PATIENCE
        elif manner == "refuses":
            is_lost = True
        elif manner == "hangs":
            is_lost, there = True, PATIENCE
        elif manner == "loses replies":
            lost_reply = random() < LOST_SHARE

        def arrive() -> None:
            if is_lost:
                return fail(reply, failure(f"the {store} {manner}"))
            result: object
            try:
                result = command()
            except Exception as error:  # noqa: BLE001 - the reply of the store, such as a refusal
                result, done = error, partial(fail, reply, error)
            else:
                if isinstance(result, asyncio.Future):
                    result.add_done_callback(lambda late: give(reply, late.result()), context=self._context)
                    return None
                done = partial(give, reply, result)
            if self._note is not None:
                self._note(worker, f"{store}: {name} -> {_short(result)}{' (the reply is lost)' if lost_reply else ''}")
            if lost_reply:
                done = partial(fail, reply, failure("no reply"))
            self.loop.call_after(max(PATIENCE - there, 0.0) if lost_reply else back, done, self._context)
            return None

        self.loop.call_after(there, arrive, self._context)
        return cast("T", await reply)


def give(reply: asyncio.Future[Any], result: Any) -> None:
    if not reply.done():
        reply.set_result(result)


def fail(reply: asyncio.Future[Any], error: Exception) -> None:
    if not reply.done():
        reply.set_exception(error)


def _short(result: object) -> str:
    text = repr(result)
    return text if len(text) <= MAX_TOLD else f"{text[:MAX_TOLD]}…"
