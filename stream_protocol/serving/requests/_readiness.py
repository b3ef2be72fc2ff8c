"""Provides ``Readiness``, the check of the stores for readiness probes."""

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

    from stream_protocol.serving.base import ServiceTimes
    from stream_protocol.serving.engine import Engine
    from stream_protocol.serving.run_logs import RunLog

logger = logging.getLogger(__name__)

NAME: Final = "readyz"
"""The user id and chat id of the read that tests the session store. This chat need not exist."""


class Readiness:
    """Checks the stores of a service for readiness probes."""

    def __init__(self, runner: Runner, run_log: RunLog, engine: Engine | None, times: ServiceTimes) -> None:
        self._times = times
        sessions = partial(_ask_session_store, runner)
        self._pings: dict[str, Callable[[], Awaitable[object]]] = {"run log": run_log.ping, "session store": sessions}
        if engine is not None:
            # The ping may use a thread, which cannot be cancelled. So the next probe waits for a ping that hangs.
            self._pings["engine"] = CachedProbe(engine.ping, 0.0).get
        self._missing = CachedProbe(self._ask, times.readiness_cache)
        self._told: tuple[str, ...] = ()
        """The unreachable stores that the newest log line names."""

    async def missing(self) -> tuple[str, ...]:
        """Return the names of the unreachable stores. Takes at most a second."""
        return await self._missing.get()

    async def _ask(self) -> tuple[str, ...]:
        errors = await asyncio.gather(*map(self._error_of, self._pings.values()))
        answers = zip(self._pings, errors, strict=True)
        missing = {name: error for name, error in answers if error is not None}
        if (now := tuple(missing)) != self._told:
            self._told = now
            for name, error in missing.items():
                logger.error("This worker is not ready: the %s does not answer.", name)
                if isinstance(error, RunLogError):  # such an error text contains no data of users
                    logger.error("%s.", error)
                else:
                    log_error(logger, error)
            if not missing:
                logger.warning("This worker is ready again.")
        return now

    async def _error_of(self, ask: Callable[[], Awaitable[object]]) -> Exception | None:
        try:
            async with asyncio.timeout(self._times.readiness):
                await ask()
        except Exception as error:  # noqa: BLE001 - any error of a store
            return error
        return None


async def _ask_session_store(runner: Runner) -> None:
    """Read from the session store. Also make a write that changes nothing, because it fails if the database is a
    read-only standby.
    """
    await find_session(runner, NAME, NAME, config=WITHOUT_EVENTS)
    await check_writable(runner.session_service, runner.app_name)
