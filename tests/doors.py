"""A door at which a tool waits until a client or a test has seen its progress."""

import asyncio
import threading

from starlette.requests import Request
from starlette.responses import Response

from tests.serving.support import HANG


class Door:
    """A door for one passage of a tool. Its two endpoints are for other processes."""

    def __init__(self) -> None:
        self._openings = threading.Semaphore(0)

    def wait(self) -> None:
        assert self._openings.acquire(timeout=HANG)

    def let_pass(self) -> None:
        self._openings.release()

    async def opened(self, _request: Request) -> Response:
        await asyncio.to_thread(self.wait)
        return Response(status_code=204)

    async def open(self, _request: Request) -> Response:
        self.let_pass()
        return Response(status_code=204)
