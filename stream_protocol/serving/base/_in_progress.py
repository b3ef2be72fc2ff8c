"""The calls of a service that are being answered: what they ask may be closed only after them."""

from __future__ import annotations

import asyncio
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class InProgress:
    """Counts calls. Each call is a ``with`` block."""

    def __init__(self) -> None:
        self._count = 0
        self._idle = asyncio.Event()
        self._idle.set()

    def __enter__(self) -> None:
        self._count += 1
        self._idle.clear()

    def __exit__(self, *_: object) -> None:
        self._count -= 1
        if not self._count:
            self._idle.set()

    async def wait(self, seconds: float) -> None:
        """Waits until no call is in progress, at most for so many seconds."""
        waiting = asyncio.create_task(self._idle.wait())
        await asyncio.wait({waiting}, timeout=seconds)
        waiting.cancel()


class _Answering(Protocol):
    in_progress: InProgress


Service = TypeVar("Service", bound=_Answering)


def in_progress(
    method: Callable[Concatenate[Service, Parameters], Coroutine[Any, Any, Result]],
) -> Callable[Concatenate[Service, Parameters], Coroutine[Any, Any, Result]]:
    """Counts each call of the method in ``in_progress`` of its object."""

    @wraps(method)
    async def counted(service: Service, /, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        with service.in_progress:
            return await method(service, *args, **kwargs)

    return counted
