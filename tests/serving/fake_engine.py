"""Engine that stores nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from google.adk.runners import Runner

from stream_protocol.serving.engine import Deployment, LiveState, OrphanedRun, RunRecord, ToldEnd


@dataclass
class Execution:
    """Execution of an engine that stores nothing."""

    runner: Runner
    is_live = True

    async def repeats_model_call(self, _agent: str, _branch: str | None) -> bool:
        return False


class FakeEngine:
    """Engine whose store fails or hangs after some time. ``in_use``: it can store the work of agents."""

    def __init__(self, *, in_use: bool = True) -> None:
        self.answers = asyncio.Event()
        self.answers.set()
        self.error: Exception | None = None
        self.pings = 0
        self.looks = 0
        self._in_use = in_use

    is_shared = False

    def attach(self, _deployment: Deployment) -> None:
        """Do nothing."""

    async def start(self) -> None:
        """Do nothing."""

    async def aclose(self) -> None:
        """Do nothing."""

    async def ping(self) -> None:
        self.pings += 1
        await self._ask()

    def unsupported(self, _runner: Runner) -> list[str]:
        return [] if self._in_use else ["`root` (`Own`)"]

    async def execute(
        self, _record: RunRecord, runner: Runner, _log_id: str, work: Callable[[Any], Awaitable[None]]
    ) -> None:
        await self._ask()
        await work(Execution(runner))

    async def execute_again(
        self,
        record: RunRecord,
        runner: Runner,
        log_id: str,
        work: Callable[[Any], Awaitable[None]],
        *,
        alone: bool = False,
    ) -> None:
        await self.execute(record, runner, log_id, work)

    async def mark(self, _record: RunRecord, _log_id: str, _state: LiveState | ToldEnd) -> None:
        await self._ask()

    async def unfinished(self, _chat: tuple[str, str] | None = None) -> list[OrphanedRun]:
        self.looks += 1
        await self._ask()
        return []

    async def cancel(self, _record: RunRecord, *, has_ended: bool = False) -> None:
        await self._ask()

    async def _ask(self) -> None:
        await self.answers.wait()
        if self.error is not None:
            raise self.error
