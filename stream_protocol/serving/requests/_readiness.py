"""``Readiness``: asks the stores that each run needs, so that a worker knows if it can take runs."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING, Final

from stream_protocol.serving.adk_runner import check_writable
from stream_protocol.serving.base import CachedProbe
from stream_protocol.serving.chats import WITHOUT_EVENTS, find_session
from stream_protocol.serving.errors import log_error
from stream_protocol.serving.run_logs import RunLogError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from google.adk.runners import Runner

    from stream_protocol.serving.engine import Engine
    from stream_protocol.serving.run_logs import RunLog

logger = logging.getLogger(__name__)

ANSWER_SECONDS: Final = 0.8
"""Seconds that a store may take: Kubernetes gives a probe a second."""

REMEMBERED_SECONDS: Final = 1.0
"""Seconds that the answer of the stores is remembered, so that clients that ask all the time do not load the stores."""

NAME: Final = "readyz"
"""The user and chat that are looked for. There need not be any."""


class Readiness:
    """Asks the stores of a service. ``engine``: ``None`` if no run needs one."""

    def __init__(self, runner: Runner, run_log: RunLog, engine: Engine | None) -> None:
        sessions = partial(_ask_session_store, runner)
        self._pings: dict[str, Callable[[], Awaitable[object]]] = {"run log": run_log.ping, "session store": sessions}
        if engine is not None:
            # It may ask in a thread, which cannot be cancelled: so one that hangs is waited for again.
            self._pings["engine"] = CachedProbe(engine.ping, 0.0).get
        self._missing = CachedProbe(self._ask, REMEMBERED_SECONDS)
        self._told: tuple[str, ...] = ()
        """The stores that the log has named as missing."""

    async def missing(self) -> tuple[str, ...]:
        """The stores that do not answer: ``run log``, ``session store``, ``engine``. Known within a second."""
        return await self._missing.get()

    async def _ask(self) -> tuple[str, ...]:
        errors = await asyncio.gather(*map(_error_of, self._pings.values()))
        answers = zip(self._pings, errors, strict=True)
        missing = {name: error for name, error in answers if error is not None}
        if (now := tuple(missing)) != self._told:
            self._told = now
            for name, error in missing.items():
                logger.error("This worker is not ready: the %s does not answer.", name)
                if isinstance(error, RunLogError):  # what it says is ours, also in a log that quotes nobody
                    logger.error("%s.", error)
                else:
                    log_error(logger, error)
            if not missing:
                logger.warning("This worker is ready again.")
        return now


async def _ask_session_store(runner: Runner) -> None:
    """Reads from the session store, and asks for a write of nothing: a standby answers what only reads."""
    await find_session(runner, NAME, NAME, config=WITHOUT_EVENTS)
    await check_writable(runner.session_service, runner.app_name)


async def _error_of(ask: Callable[[], Awaitable[object]]) -> Exception | None:
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            await ask()
    except Exception as error:  # noqa: BLE001 - any store's
        return error
    return None
